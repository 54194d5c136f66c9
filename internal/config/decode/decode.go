package decode

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/internal/config/tree"
	"github.com/parley-bot/parley/internal/problem"
	"github.com/parley-bot/parley/internal/secret"
)

// Decoder puts a tree into Go values and reports everything that doesn't fit.
//
// Structs are described by their yaml tags; `config:"…"` adds, separated by
// commas: required, text (never expanded), lines, oneof=a|b. A plain string is
// one line, as names, titles and labels have to be where they are logged or
// shown, unless it is a text or has lines.
type Decoder struct {
	// Rep takes the mistakes.
	Rep *tree.Report
	// Src is where files of secrets are read from.
	Src tree.Source
	// Env looks up ${VAR}.
	Env func(string) (string, bool)
}

// Unmarshaler is a value with a YAML form of its own.
type Unmarshaler interface {
	FromNode(d *Decoder, n *tree.Node, path string)
}

// Wanter is an encoding.TextUnmarshaler that says what it wants, such as "a
// size such as 16KiB", of which it is said that a value is not it.
type Wanter interface {
	Want() string
}

// Is tells whether t is T.
func Is[T any](t reflect.Type) bool { return t == reflect.TypeFor[T]() }

// IsText tells whether t reads itself from a text.
func IsText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// Rules is one struct field as its tags describe it.
type Rules struct {
	Name     string
	Index    []int
	Type     reflect.Type
	Required bool
	Text     bool // never expanded
	Lines    bool // may hold control characters; texts may
	OneOf    []string
}

// RulesOf lists the keys of a struct, those of inlined structs included.
func RulesOf(t reflect.Type) []Rules {
	var out []Rules
	for f := range t.Fields() {
		tag, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if !f.IsExported() || tag == "-" {
			continue
		}
		if opts == "inline" {
			for _, r := range RulesOf(f.Type) {
				r.Index = append(slices.Clone(f.Index), r.Index...)
				out = append(out, r)
			}
			continue
		}
		r := Rules{Name: tag, Index: f.Index, Type: f.Type}
		if r.Name == "" {
			r.Name = strings.ToLower(f.Name)
		}
		for o := range strings.SplitSeq(f.Tag.Get("config"), ",") {
			switch {
			case o == "required":
				r.Required = true
			case o == "text":
				r.Text, r.Lines = true, true
			case o == "lines":
				r.Lines = true
			case strings.HasPrefix(o, "oneof="):
				r.OneOf = strings.Split(strings.TrimPrefix(o, "oneof="), "|")
			}
		}
		out = append(out, r)
	}
	return out
}

// KeysOf lists what may stand in a section of these rules.
func KeysOf(rs []Rules) []string {
	var keys []string
	for _, r := range rs {
		keys = append(keys, r.Name)
		if Is[secret.String](r.Type) {
			keys = append(keys, r.Name+"_file")
		}
	}
	return keys
}

// Value decodes n into v. path names it in messages.
func (d *Decoder) Value(n *tree.Node, v reflect.Value, path string, r Rules) {
	if v.CanAddr() {
		if own, ok := reflect.TypeAssert[Unmarshaler](v.Addr()); ok {
			own.FromNode(d, n, path)
			return
		}
	}
	if n.IsNull() {
		return // "key:" alone leaves the default
	}
	switch {
	case v.Kind() == reflect.Pointer:
		fresh := reflect.New(v.Type().Elem())
		d.Value(n, fresh.Elem(), path, r)
		v.Set(fresh)
	case Is[json.RawMessage](v.Type()):
		var b bytes.Buffer
		if d.JSON(&b, n, path) {
			v.SetBytes(b.Bytes())
		}
	case IsScalar(v.Type()):
		d.scalar(n, v, path, r)
	case v.Kind() == reflect.Struct:
		d.Section(n, v, path, nil)
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		d.mapping(n, v, path, r)
	case v.Kind() == reflect.Slice:
		d.list(n, v, path, r)
	default:
		d.library(n, v, path)
	}
}

// Section decodes a mapping into a struct. Keys in ignore are let pass where
// the struct doesn't have them.
func (d *Decoder) Section(n *tree.Node, v reflect.Value, path string, ignore []string) {
	if n.Kind != yaml.MappingNode {
		d.Rep.Addf(problem.WrongType, n.At, "%s must be a mapping of keys to values, not %s", name(path), tree.What(n))
		return
	}
	rs := RulesOf(v.Type())
	for _, f := range n.Fields {
		// Top-level x-… keys are a place to keep anchors.
		if d.field(n, f, v, path, rs) || slices.Contains(ignore, f.Key) || path == "" && strings.HasPrefix(f.Key, "x-") {
			continue
		}
		in := ""
		if path != "" {
			in = " in " + path
		}
		d.Rep.Addf(problem.UnknownKey, f.At, "unknown key %q%s%s", tree.Clip(f.Key), in, tree.DidYouMean(f.Key, KeysOf(rs)))
	}
	for _, r := range rs {
		if r.Required && n.Get(r.Name) == nil && (!Is[secret.String](r.Type) || n.Get(r.Name+"_file") == nil) {
			also := ""
			if Is[secret.String](r.Type) {
				also = " (or " + r.Name + "_file)"
			}
			d.Rep.Addf(problem.Missing, n.At, "%s is missing%s", Join(path, r.Name), also)
		}
	}
}

// Into decodes n into the struct that v points to.
func (d *Decoder) Into(n *tree.Node, v any, path string) {
	d.Section(n, reflect.ValueOf(v).Elem(), path, nil)
}

// field decodes one key and tells whether the rules know it.
func (d *Decoder) field(n *tree.Node, f tree.Field, v reflect.Value, path string, rs []Rules) bool {
	for _, r := range rs {
		switch {
		case f.Key == r.Name:
			if r.Required && f.Val.IsNull() {
				d.Rep.Addf(problem.Missing, f.At, "%s has no value", Join(path, r.Name))
				return true
			}
			d.Value(f.Val, v.FieldByIndex(r.Index), Join(path, r.Name), r)
			return true
		case Is[secret.String](r.Type) && f.Key == r.Name+"_file":
			if other := n.Get(r.Name); other != nil {
				d.Rep.Addf(problem.Conflict, f.At, "both %s and %s_file are given; keep one", Join(path, r.Name), r.Name)
				return true
			}
			d.secretFile(f.Val, v.FieldByIndex(r.Index), Join(path, f.Key))
			return true
		}
	}
	return false
}

const maxSecretBytes = 64 << 10

// secretFile reads a secret from the file that n names.
func (d *Decoder) secretFile(n *tree.Node, v reflect.Value, path string) {
	file, ok := d.Text(n, path)
	if !ok {
		return
	}
	full := d.Src.Resolve(file, n.At)
	data, err := d.Src.Read(full, maxSecretBytes)
	if err != nil {
		d.Rep.Addf(problem.FileMissing, n.At, "%s: can't read %s: %s", path, full, tree.Reason(err))
		return
	}
	// Editors and `echo` end a file in a line break that is no part of it.
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if text == "" {
		d.Rep.Addf(problem.FileMissing, n.At, "%s: %s is empty", path, full)
		return
	}
	v.Set(reflect.ValueOf(secret.New(text)))
}

func (d *Decoder) mapping(n *tree.Node, v reflect.Value, path string, r Rules) {
	if n.Kind != yaml.MappingNode {
		d.Rep.Addf(problem.WrongType, n.At, "%s must be a mapping of keys to values, not %s", name(path), tree.What(n))
		return
	}
	elem := v.Type().Elem()
	out := reflect.MakeMapWithSize(v.Type(), len(n.Fields))
	for _, f := range n.Fields {
		val, key := reflect.New(elem).Elem(), f.Key
		if base, isFile := strings.CutSuffix(key, "_file"); isFile && Is[secret.String](elem) {
			if n.Get(base) != nil {
				d.Rep.Addf(problem.Conflict, f.At, "both %s and %s are given; keep one", Join(path, base), key)
				continue
			}
			key = base
			d.secretFile(f.Val, val, Join(path, f.Key))
		} else {
			d.Value(f.Val, val, Join(path, f.Key), r)
		}
		out.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), val)
	}
	v.Set(out)
}

func (d *Decoder) list(n *tree.Node, v reflect.Value, path string, r Rules) {
	if n.Kind != yaml.SequenceNode {
		d.Rep.Addf(problem.WrongType, n.At, "%s must be a list such as [a, b], not %s", name(path), tree.What(n))
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		d.Value(item, out.Index(i), path, r)
	}
	v.Set(out)
}

// library gives any other type to the YAML library, strictly.
func (d *Decoder) library(n *tree.Node, v reflect.Value, path string) {
	if err := d.yaml(n, path).Load(v.Addr().Interface(), yaml.WithKnownFields()); err != nil {
		d.Rep.Addf(problem.WrongType, n.At, "%s does not fit what is expected here", name(path))
	}
}

// yaml is the tree as the library's nodes, expanded.
func (d *Decoder) yaml(n *tree.Node, path string) *yaml.Node {
	out := &yaml.Node{Kind: n.Kind, Line: n.At.Line, Column: n.At.Col}
	switch n.Kind {
	case yaml.ScalarNode:
		out.Tag = n.Tag
		out.Value, _ = d.expanded(n, path)
	case yaml.MappingNode:
		for _, f := range n.Fields {
			out.Content = append(out.Content,
				&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: f.Key, Line: f.At.Line, Column: f.At.Col},
				d.yaml(f.Val, Join(path, f.Key)))
		}
	default:
		for _, i := range n.Items {
			out.Content = append(out.Content, d.yaml(i, path))
		}
	}
	return out
}

// Join is the dotted path of a key in the section at path, for messages: a long
// key is clipped.
func Join(path, key string) string {
	if utf8.RuneCountInString(key) > 60 {
		key = tree.Clip(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func name(path string) string {
	if path == "" {
		return "the configuration"
	}
	return path
}
