package config

import (
	"errors"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/internal/config/decode"
	"github.com/parley-bot/parley/internal/config/tree"
	"github.com/parley-bot/parley/internal/problem"
)

// Section is a part of the file that is kept as it was written until its
// owner decodes it. The zero value is an absent section.
type Section struct {
	Pos  Pos
	path string
	node *tree.Node
	d    *decode.Decoder
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
func (s Section) Given() bool { return !s.node.IsNull() }

// FromNode implements decode.Unmarshaler.
func (s *Section) FromNode(d *decode.Decoder, n *tree.Node, path string) {
	*s = Section{Pos: n.At, path: path, node: n, d: d}
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
	d := decode.Decoder{Rep: &tree.Report{}}
	n := s.node
	if s.d != nil {
		d.Src, d.Env = s.d.Src, s.d.Env
	}
	if n.IsNull() {
		n = &tree.Node{Kind: yaml.MappingNode, At: s.Pos}
	}
	d.Section(n, target.Elem(), s.path, s.common)
	if len(d.Rep.List) == 0 {
		if val, ok := v.(interface{ Validate() error }); ok {
			s.invalid(d.Rep, n, val.Validate())
		}
	}
	if err := d.Rep.Err(); err != nil || s.seen == nil {
		return err
	}
	return errSeen
}

// invalid reports what Validate found, joined errors one by one.
func (s Section) invalid(rep *tree.Report, n *tree.Node, err error) {
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
		path = decode.Join(path, k.Key())
		if f := n.Find(k.Key()); f != nil {
			at = f.At
		}
	}
	rep.Addf(problem.Channel, at, "%s: %v", path, err)
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

// FromNode implements decode.Unmarshaler.
func (c *Channels) FromNode(d *decode.Decoder, n *tree.Node, path string) {
	if n.IsNull() {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.Rep.Addf(problem.WrongType, n.At, "%s must map names to channels, not %s", path, tree.What(n))
		return
	}
	for _, f := range n.Fields {
		*c = append(*c, channel(d, f, decode.Join(path, f.Key)))
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

func channel(d *decode.Decoder, f tree.Field, path string) Channel {
	common := commonDefaults()
	common.Kind = f.Key
	if !isName(f.Key, 63) {
		d.Rep.Addf(problem.BadName, f.At, "channel name %q: use letters, digits, _ and -, 63 at the most, a letter or digit first", tree.Clip(f.Key))
	}
	if !f.Val.IsNull() && f.Val.Kind != yaml.MappingNode {
		d.Rep.Addf(problem.WrongType, f.Val.At, "%s must be a mapping of keys to values, not %s", path, tree.What(f.Val))
		f.Val = &tree.Node{Kind: yaml.ScalarNode, Tag: "!!null", At: f.Val.At}
	}
	// The core's keys are decoded here, the adapter's are left alone.
	own := tree.Node{Kind: yaml.MappingNode, At: f.At}
	keys := decode.KeysOf(decode.RulesOf(reflect.TypeOf(common)))
	for _, g := range f.Val.Fields {
		if slices.Contains(keys, g.Key) {
			own.Fields = append(own.Fields, g)
		}
	}
	d.Into(&own, &common, path)
	return Channel{
		Name: f.Key, Kind: common.Kind, Pos: f.At, Allow: common.Allow, Unknown: common.Unknown, Groups: common.Groups,
		Section: Section{Pos: f.At, path: path, node: f.Val, d: d, common: keys},
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

// FromNode implements decode.Unmarshaler.
func (t *Tools) FromNode(d *decode.Decoder, n *tree.Node, path string) {
	if n.IsNull() {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.Rep.Addf(problem.WrongType, n.At, "%s must be a mapping of tools, not %s", path, tree.What(n))
		return
	}
	for _, f := range n.Fields {
		p := decode.Join(path, f.Key)
		// "scripts" is a key of its own; a mapping there is a tool so named.
		if f.Key == "scripts" && f.Val.Kind != yaml.MappingNode {
			t.scripts(d, f, p)
			continue
		}
		if f.Val.IsNull() {
			f.Val = &tree.Node{Kind: yaml.MappingNode, At: f.At}
		}
		tool := Tool{Name: f.Key, Pos: f.At, node: f.Val}
		d.Into(f.Val, &tool, p)
		t.Named = append(t.Named, tool)
	}
}

// scripts resolves each path and checks that the file is there.
func (t *Tools) scripts(d *decode.Decoder, f tree.Field, path string) {
	if f.Val.IsNull() {
		return
	}
	if f.Val.Kind != yaml.SequenceNode {
		d.Rep.Addf(problem.WrongType, f.Val.At, "%s must be a list of files such as [tools.ts]", path)
		return
	}
	for _, item := range f.Val.Items {
		file, ok := d.Text(item, path)
		if !ok {
			continue
		}
		full := d.Src.Resolve(file, item.At)
		if err := d.Src.IsFile(full); err != nil {
			d.Rep.Addf(problem.FileMissing, item.At, "%s: can't read %s: %s", path, full, tree.Reason(err))
			continue
		}
		if slices.Contains(t.Scripts, full) {
			d.Rep.Addf(problem.Conflict, item.At, "%s: %s is listed twice", path, full)
			continue
		}
		t.Scripts = append(t.Scripts, full)
	}
}
