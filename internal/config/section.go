package config

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/internal/problem"
)

// Section is a part of the file that is kept as it was written until its
// owner decodes it. The zero value is an absent section.
type Section struct {
	Pos  Pos
	path string
	node *node
	d    *decoder
	// common are keys that the core has taken; an owner that has no field
	// for them need not know.
	common []string
	// seen, where not nil, takes a copy of what Decode is given, with its
	// defaults; a Decode that finds nothing wrong ends in errSeen then.
	seen *reflect.Value
}

// errSeen ends a Decode that is only meant to look.
var errSeen = errors.New("config: the section was only looked at")

// Given tells whether the file has the section, with something in it.
func (s Section) Given() bool { return !s.node.isNull() }

func (s *Section) fromNode(d *decoder, n *node, path string) {
	*s = Section{Pos: n.at, path: path, node: n, d: d}
}

// Decode fills the struct that v points to, which holds the defaults, from
// the section: unknown keys and wrong types are errors with their place,
// ${VAR} is expanded, and secret.String fields have their _file form. Fields
// are named by yaml tags; a tag config:"…" adds, separated by commas,
// required, text (never expanded), lines, and oneof=a|b; a string without
// text or lines is one line. Supported are strings,
// numbers, booleans, time.Duration, encoding.TextUnmarshaler, secret.String,
// json.RawMessage, and structs, pointers, lists and maps of these.
//
// A v with a method Validate() error is asked last, if nothing else was
// wrong; an error with a method Key() string is reported at that key. The
// error is an *Errors.
func (s Section) Decode(v any) error {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() || target.Elem().Kind() != reflect.Struct {
		return errors.New("config: Decode needs a pointer to a struct")
	}
	if s.seen != nil {
		*s.seen = reflect.New(target.Type().Elem()).Elem()
		s.seen.Set(target.Elem())
	}
	d := decoder{rep: &report{}}
	n := s.node
	if s.d != nil {
		d.src, d.env = s.d.src, s.d.env
	}
	if n.isNull() {
		n = &node{kind: yaml.MappingNode, at: s.Pos}
	}
	d.section(n, target.Elem(), s.path, s.common)
	if len(d.rep.list) == 0 {
		if val, ok := v.(interface{ Validate() error }); ok {
			s.invalid(d.rep, n, val.Validate())
		}
	}
	if err := d.rep.err(); err != nil || s.seen == nil {
		return err
	}
	return errSeen
}

// invalid reports what Validate found, joined errors one by one.
func (s Section) invalid(rep *report, n *node, err error) {
	if err == nil {
		return
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			s.invalid(rep, n, one)
		}
		return
	}
	at, path := s.Pos, s.path
	if k, ok := err.(interface{ Key() string }); ok {
		path = join(path, k.Key())
		if f := n.find(k.Key()); f != nil {
			at = f.at
		}
	}
	rep.addf(problem.Channel, at, "%s: %v", path, err)
}

// find follows a dotted path as far as it exists; nil if its first key
// doesn't.
func (n *node) find(path string) *field {
	var last *field
	for key := range strings.SplitSeq(path, ".") {
		f := n.get(key)
		if f == nil {
			return last
		}
		last, n = f, f.val
	}
	return last
}

// into decodes n into the struct that v points to.
func (d *decoder) into(n *node, v any, path string) {
	d.section(n, reflect.ValueOf(v).Elem(), path, nil)
}

// Channel is one account on a platform.
type Channel struct {
	// Name is the key in the file, Kind its adapter.
	Name, Kind string
	Pos        Pos
	// Allow lists who may write: nil is everybody, in private chats.
	Allow []string
	// Unknown is what others get: "" is answer without Allow, ignore with it.
	Unknown string
	Groups  Groups
	// Section has the adapter's own keys; Decode it into the adapter's
	// Config.
	Section
}

// Groups is how a channel behaves where more people than one can write.
type Groups struct {
	ReplyTo string `yaml:"reply_to" config:"oneof=mention|all"` // mention
	Session string `yaml:"session" config:"oneof=user|group"`   // user
}

// Channels are the channels in the order of the file.
type Channels []Channel

func (c *Channels) fromNode(d *decoder, n *node, path string) {
	if n.isNull() {
		return
	}
	if n.kind != yaml.MappingNode {
		d.rep.addf(problem.WrongType, n.at, "%s must map names to channels, not %s", path, what(n))
		return
	}
	for _, f := range n.fields {
		*c = append(*c, channel(d, f, join(path, f.key)))
	}
}

// channelCommon are the keys of a channel that the core takes.
type channelCommon struct {
	Kind   string   `yaml:"kind"`
	Allow  []string `yaml:"allow"`
	Groups Groups   `yaml:"groups"`

	Unknown string `yaml:"unknown" config:"oneof=answer|ignore|pair"`
}

func commonDefaults() channelCommon {
	return channelCommon{Groups: Groups{ReplyTo: "mention", Session: "user"}}
}

func channel(d *decoder, f field, path string) Channel {
	common := commonDefaults()
	common.Kind = f.key
	if !isName(f.key, 63) {
		d.rep.addf(problem.BadName, f.at, "channel name %q: use letters, digits, _ and -, 63 at the most, a letter or digit first", clip(f.key))
	}
	if !f.val.isNull() && f.val.kind != yaml.MappingNode {
		d.rep.addf(problem.WrongType, f.val.at, "%s must be a mapping of keys to values, not %s", path, what(f.val))
		f.val = &node{kind: yaml.ScalarNode, tag: "!!null", at: f.val.at}
	}
	// The core's keys are decoded here, the adapter's are left alone.
	own := node{kind: yaml.MappingNode, at: f.at}
	keys := keysOf(rulesOf(reflect.TypeOf(common)))
	for _, g := range f.val.fields {
		if slices.Contains(keys, g.key) {
			own.fields = append(own.fields, g)
		}
	}
	d.into(&own, &common, path)
	return Channel{
		Name: f.key, Kind: common.Kind, Pos: f.at, Allow: common.Allow, Unknown: common.Unknown, Groups: common.Groups,
		Section: Section{Pos: f.at, path: path, node: f.val, d: d, common: keys},
	}
}

// isName tells whether s is made of letters, digits, _ and -, begins with a
// letter or digit, and is not too long.
func isName(s string, longest int) bool {
	for i, r := range s {
		alnum := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !alnum && (i == 0 || r != '_' && r != '-') {
			return false
		}
	}
	return s != "" && len(s) <= longest
}

func (t *Tools) fromNode(d *decoder, n *node, path string) {
	if n.isNull() {
		return
	}
	if n.kind != yaml.MappingNode {
		d.rep.addf(problem.WrongType, n.at, "%s must be a mapping of tools, not %s", path, what(n))
		return
	}
	for _, f := range n.fields {
		p := join(path, f.key)
		// "scripts" is a key of its own; a mapping there is a tool so named.
		if f.key == "scripts" && f.val.kind != yaml.MappingNode {
			t.scripts(d, f, p)
			continue
		}
		if f.val.isNull() {
			f.val = &node{kind: yaml.MappingNode, at: f.at}
		}
		tool := Tool{Name: f.key, Pos: f.at, node: f.val}
		d.into(f.val, &tool, p)
		t.Named = append(t.Named, tool)
	}
}

// scripts resolves each path and checks that the file is there.
func (t *Tools) scripts(d *decoder, f field, path string) {
	if f.val.isNull() {
		return
	}
	if f.val.kind != yaml.SequenceNode {
		d.rep.addf(problem.WrongType, f.val.at, "%s must be a list of files such as [tools.ts]", path)
		return
	}
	for _, item := range f.val.items {
		file, ok := d.text(item, path)
		if !ok {
			continue
		}
		full := d.src.resolve(file, item.at)
		if err := d.src.isFile(full); err != nil {
			d.rep.addf(problem.FileMissing, item.at, "%s: can't read %s: %s", path, full, reason(err))
			continue
		}
		if slices.Contains(t.Scripts, full) {
			d.rep.addf(problem.Conflict, item.at, "%s: %s is listed twice", path, full)
			continue
		}
		t.Scripts = append(t.Scripts, full)
	}
}
