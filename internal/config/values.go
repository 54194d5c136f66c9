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

func (s *Size) want() string { return "a size such as 16KiB or 1MiB" }

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

func (r *Rate) want() string { return "a rate such as 20/1m, or off" }

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

func (p *Prefix) want() string { return "an address range such as 10.0.0.0/8" }

// SystemNote is confirm.system_note: true, false, or a text of one's own that
// replaces the confirm note only.
type SystemNote struct {
	On   bool
	Text string
}

func (s *SystemNote) fromNode(d *decoder, n *node, path string) {
	switch {
	case n.isNull():
	case n.kind != yaml.ScalarNode:
		d.rep.addf(problem.WrongType, n.at, "%s must be true, false or a text, not %s", path, what(n))
	case !n.quoted && (n.value == "true" || n.value == "false"):
		*s = SystemNote{On: n.value == "true"}
	default:
		*s = SystemNote{On: true, Text: n.value}
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

func (a *AnswerBy) fromNode(d *decoder, n *node, path string) {
	if n.isNull() {
		return
	}
	if n.kind == yaml.ScalarNode {
		s, ok := d.text(n, path)
		if who := Who(s); who == Requester || who == Anyone {
			*a = AnswerBy{Who: who}
		} else if ok {
			d.rep.addf(problem.NotAllowed, n.at, "%s: %s is not allowed%s, or a list of user ids", path, shown(n), didYouMean(n.value, []string{"requester", "anyone"}))
		}
		return
	}
	if n.kind != yaml.SequenceNode || len(n.items) == 0 {
		d.rep.addf(problem.WrongType, n.at, "%s must be requester, anyone or a list of user ids", path)
		return
	}
	*a = AnswerBy{Who: Listed}
	for _, item := range n.items {
		if s, ok := d.text(item, path); ok {
			a.Users = append(a.Users, s)
		}
	}
}

// Dedupe is how long the same call isn't run again; 0 is off.
type Dedupe time.Duration

// dedupeArgs is the window that "dedupe: args" stands for.
const dedupeArgs = 10 * time.Minute

func (w *Dedupe) fromNode(d *decoder, n *node, path string) {
	if n.isNull() {
		return
	}
	if n.kind == yaml.ScalarNode {
		if s, ok := d.text(n, path); ok && s == "args" {
			*w = Dedupe(dedupeArgs)
		} else if ok && s != "false" {
			d.rep.addf(problem.NotAllowed, n.at, "%s: %s is not args or {window: 1m}", path, shown(n))
		}
		return
	}
	var win struct {
		Window time.Duration `yaml:"window" config:"required"`
	}
	d.into(n, &win, path)
	if f := n.get("window"); f != nil && win.Window == 0 && f.val.value == "0" {
		d.rep.addf(problem.Range, f.val.at, "%s.window must be longer than 0", path)
	}
	*w = Dedupe(win.Window)
}

// Texts are the overrides of each language: language → key → text, nested
// keys joined by dots (ai.tools.confirm). Texts are never expanded.
type Texts map[string]map[string]string

func (t *Texts) fromNode(d *decoder, n *node, path string) {
	if n.isNull() {
		return
	}
	if n.kind != yaml.MappingNode {
		d.rep.addf(problem.WrongType, n.at, "%s must map languages to texts, not %s", path, what(n))
		return
	}
	*t = Texts{}
	for _, lang := range n.fields {
		flat := map[string]string{}
		if !lang.val.isNull() {
			flatten(d, lang.val, join(path, lang.key), "", flat)
		}
		(*t)[lang.key] = flat
	}
}

func flatten(d *decoder, n *node, path, prefix string, out map[string]string) {
	if n.kind != yaml.MappingNode {
		d.rep.addf(problem.WrongType, n.at, "%s must map keys to texts, not %s", path, what(n))
		return
	}
	for _, f := range n.fields {
		key := strings.TrimPrefix(prefix+"."+f.key, ".")
		switch f.val.kind {
		case yaml.MappingNode:
			flatten(d, f.val, join(path, f.key), key, out)
		case yaml.ScalarNode:
			if _, dup := out[key]; dup {
				d.rep.addf(problem.Conflict, f.at, "%s is given twice, nested and with dots", join(path, f.key))
			}
			out[key] = f.val.value
		default:
			d.rep.addf(problem.WrongType, f.at, "%s must be a text, not %s", join(path, f.key), what(f.val))
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
