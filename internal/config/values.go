package config

import (
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/internal/config/decode"
	"github.com/parley-bot/parley/internal/config/tree"
	"github.com/parley-bot/parley/internal/problem"
)

// Size is a number of bytes, written 16KiB, 1MiB or 4096.
type Size int64

// String is the size as a person writes it.
func (s Size) String() string {
	return strings.ReplaceAll(humanize.IBytes(uint64(max(0, s))), " ", "")
}

// UnmarshalText reads a size.
func (s *Size) UnmarshalText(b []byte) error {
	n, err := humanize.ParseBytes(string(b))
	if err != nil || n > 1<<40 {
		return errors.New("not a size")
	}
	*s = Size(n)
	return nil
}

// Want implements decode.Wanter.
func (s Size) Want() string { return "a size such as 16KiB or 1MiB" }

// Rate is at most N in each Per, written 20/1m. The zero value is no limit,
// written off.
type Rate struct {
	N   int
	Per time.Duration
}

// UnmarshalText reads a rate.
func (r *Rate) UnmarshalText(b []byte) error {
	if s := string(b); s == "off" || s == "0" {
		*r = Rate{}
		return nil
	}
	n, per, ok := strings.Cut(string(b), "/")
	count, err := strconv.Atoi(n)
	// 20/m means 20/1m.
	if per != "" && (per[0] < '0' || per[0] > '9') {
		per = "1" + per
	}
	window, err2 := time.ParseDuration(per)
	if !ok || err != nil || err2 != nil || count < 1 || window <= 0 {
		return errors.New("not a rate")
	}
	*r = Rate{N: count, Per: window}
	return nil
}

// Want implements decode.Wanter.
func (r Rate) Want() string { return "a rate such as 20/1m, or off" }

// Prefix is an address range; a single address is a range of one.
type Prefix struct{ netip.Prefix }

// UnmarshalText reads a range.
func (p *Prefix) UnmarshalText(b []byte) error {
	var err error
	if p.Prefix, err = netip.ParsePrefix(string(b)); err == nil {
		p.Prefix = p.Masked()
		return nil
	}
	addr, err := netip.ParseAddr(string(b))
	if err != nil || addr.Zone() != "" {
		return errors.New("not an address range")
	}
	p.Prefix = netip.PrefixFrom(addr, addr.BitLen())
	return nil
}

// Want implements decode.Wanter.
func (p Prefix) Want() string { return "an address range such as 10.0.0.0/8" }

// SystemNote is confirm.system_note: true, false, or a text of one's own that
// replaces the confirm note only.
type SystemNote struct {
	On   bool
	Text string
}

// FromNode implements decode.Unmarshaler.
func (s *SystemNote) FromNode(d *decode.Decoder, n *tree.Node, path string) {
	switch {
	case n.IsNull():
	case n.Kind != yaml.ScalarNode:
		d.Rep.Addf(problem.WrongType, n.At, "%s must be true, false or a text, not %s", path, tree.What(n))
	case !n.Quoted && (n.Value == "true" || n.Value == "false"):
		*s = SystemNote{On: n.Value == "true"}
	default:
		*s = SystemNote{On: true, Text: n.Value}
	}
}

// Who may answer a question.
type Who string

// The values of AnswerBy.Who.
const (
	Requester Who = "requester" // the person whose message led to it
	Anyone    Who = "anyone"    // everybody in the chat
	Listed    Who = "listed"    // AnswerBy.Users
)

// AnswerBy is confirm.answer_by.
type AnswerBy struct {
	Who   Who
	Users []string // platform user ids, where Who is Listed
}

// FromNode implements decode.Unmarshaler.
func (a *AnswerBy) FromNode(d *decode.Decoder, n *tree.Node, path string) {
	if n.IsNull() {
		return
	}
	if n.Kind == yaml.ScalarNode {
		s, ok := d.Text(n, path)
		if who := Who(s); who == Requester || who == Anyone {
			*a = AnswerBy{Who: who}
		} else if ok {
			d.Rep.Addf(problem.NotAllowed, n.At, "%s: %s is not allowed%s, or a list of user ids", path, decode.Shown(n), tree.DidYouMean(n.Value, []string{"requester", "anyone"}))
		}
		return
	}
	if n.Kind != yaml.SequenceNode || len(n.Items) == 0 {
		d.Rep.Addf(problem.WrongType, n.At, "%s must be requester, anyone or a list of user ids", path)
		return
	}
	*a = AnswerBy{Who: Listed}
	for _, item := range n.Items {
		if s, ok := d.Text(item, path); ok {
			a.Users = append(a.Users, s)
		}
	}
}

// Dedupe is how long the same call isn't run again; 0 is off.
type Dedupe time.Duration

// dedupeArgs is the window that "dedupe: args" stands for.
const dedupeArgs = 10 * time.Minute

// FromNode implements decode.Unmarshaler.
func (w *Dedupe) FromNode(d *decode.Decoder, n *tree.Node, path string) {
	if n.IsNull() {
		return
	}
	if n.Kind == yaml.ScalarNode {
		if s, ok := d.Text(n, path); ok && s == "args" {
			*w = Dedupe(dedupeArgs)
		} else if ok && s != "false" {
			d.Rep.Addf(problem.NotAllowed, n.At, "%s: %s is not args or {window: 1m}", path, decode.Shown(n))
		}
		return
	}
	var win struct {
		Window time.Duration `yaml:"window" config:"required"`
	}
	d.Into(n, &win, path)
	if f := n.Get("window"); f != nil && win.Window == 0 && f.Val.Value == "0" {
		d.Rep.Addf(problem.Range, f.Val.At, "%s.window must be longer than 0", path)
	}
	*w = Dedupe(win.Window)
}

// Texts are the overrides of each language: language → key → text, nested
// keys joined by dots (ai.tools.confirm). Texts are never expanded.
type Texts map[string]map[string]string

// FromNode implements decode.Unmarshaler.
func (t *Texts) FromNode(d *decode.Decoder, n *tree.Node, path string) {
	if n.IsNull() {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.Rep.Addf(problem.WrongType, n.At, "%s must map languages to texts, not %s", path, tree.What(n))
		return
	}
	*t = Texts{}
	for _, lang := range n.Fields {
		flat := map[string]string{}
		if !lang.Val.IsNull() {
			flatten(d, lang.Val, decode.Join(path, lang.Key), "", flat)
		}
		(*t)[lang.Key] = flat
	}
}

func flatten(d *decode.Decoder, n *tree.Node, path, prefix string, out map[string]string) {
	if n.Kind != yaml.MappingNode {
		d.Rep.Addf(problem.WrongType, n.At, "%s must map keys to texts, not %s", path, tree.What(n))
		return
	}
	for _, f := range n.Fields {
		key := strings.TrimPrefix(prefix+"."+f.Key, ".")
		switch f.Val.Kind {
		case yaml.MappingNode:
			flatten(d, f.Val, decode.Join(path, f.Key), key, out)
		case yaml.ScalarNode:
			if _, dup := out[key]; dup {
				d.Rep.Addf(problem.Conflict, f.At, "%s is given twice, nested and with dots", decode.Join(path, f.Key))
			}
			out[key] = f.Val.Value
		default:
			d.Rep.Addf(problem.WrongType, f.At, "%s must be a text, not %s", decode.Join(path, f.Key), tree.What(f.Val))
		}
	}
}

// sortedKeys is for messages that list a set.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
