package config

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/internal/problem"
	"github.com/parley-bot/parley/internal/secret"
)

// decoder puts a tree into Go values and reports everything that doesn't fit.
//
// Structs are described by their yaml tags; `config:"…"` adds, separated by
// commas: required, text (never expanded), lines, oneof=a|b. A plain string is
// one line, as names, titles and labels have to be where they are logged or
// shown, unless it is a text or has lines.
type decoder struct {
	rep *report
	src source
	env func(string) (string, bool)
}

// unmarshaler is a value with a YAML form of its own.
type unmarshaler interface {
	fromNode(d *decoder, n *node, path string)
}

// is tells whether t is T.
func is[T any](t reflect.Type) bool { return t == reflect.TypeFor[T]() }

// isText tells whether t reads itself from a text.
func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// rules is one struct field as its tags describe it.
type rules struct {
	name     string
	index    []int
	typ      reflect.Type
	required bool
	text     bool
	lines    bool // texts too
	oneof    []string
}

// rulesOf lists the keys of a struct, those of inlined structs included.
func rulesOf(t reflect.Type) []rules {
	var out []rules
	for f := range t.Fields() {
		tag, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if !f.IsExported() || tag == "-" {
			continue
		}
		if opts == "inline" {
			for _, r := range rulesOf(f.Type) {
				r.index = append(slices.Clone(f.Index), r.index...)
				out = append(out, r)
			}
			continue
		}
		r := rules{name: tag, index: f.Index, typ: f.Type}
		if r.name == "" {
			r.name = strings.ToLower(f.Name)
		}
		for o := range strings.SplitSeq(f.Tag.Get("config"), ",") {
			switch {
			case o == "required":
				r.required = true
			case o == "text":
				r.text, r.lines = true, true
			case o == "lines":
				r.lines = true
			case strings.HasPrefix(o, "oneof="):
				r.oneof = strings.Split(strings.TrimPrefix(o, "oneof="), "|")
			}
		}
		out = append(out, r)
	}
	return out
}

// keysOf lists what may stand in a section of these rules.
func keysOf(rs []rules) []string {
	var keys []string
	for _, r := range rs {
		keys = append(keys, r.name)
		if is[secret.String](r.typ) {
			keys = append(keys, r.name+"_file")
		}
	}
	return keys
}

// value decodes n into v. path names it in messages.
func (d *decoder) value(n *node, v reflect.Value, path string, r rules) {
	if v.CanAddr() {
		if own, ok := reflect.TypeAssert[unmarshaler](v.Addr()); ok {
			own.fromNode(d, n, path)
			return
		}
	}
	if n.isNull() {
		return // "key:" alone leaves the default
	}
	switch {
	case v.Kind() == reflect.Pointer:
		fresh := reflect.New(v.Type().Elem())
		d.value(n, fresh.Elem(), path, r)
		v.Set(fresh)
	case is[json.RawMessage](v.Type()):
		var b bytes.Buffer
		if d.json(&b, n, path) {
			v.SetBytes(b.Bytes())
		}
	case isScalar(v.Type()):
		d.scalar(n, v, path, r)
	case v.Kind() == reflect.Struct:
		d.section(n, v, path, nil)
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		d.mapping(n, v, path, r)
	case v.Kind() == reflect.Slice:
		d.list(n, v, path, r)
	default:
		d.library(n, v, path)
	}
}

// section decodes a mapping into a struct. Keys in ignore are let pass where
// the struct doesn't have them.
func (d *decoder) section(n *node, v reflect.Value, path string, ignore []string) {
	if n.kind != yaml.MappingNode {
		d.rep.addf(problem.WrongType, n.at, "%s must be a mapping of keys to values, not %s", name(path), what(n))
		return
	}
	rs := rulesOf(v.Type())
	for _, f := range n.fields {
		// Top-level x-… keys are a place to keep anchors.
		if d.field(n, f, v, path, rs) || slices.Contains(ignore, f.key) || path == "" && strings.HasPrefix(f.key, "x-") {
			continue
		}
		in := ""
		if path != "" {
			in = " in " + path
		}
		d.rep.addf(problem.UnknownKey, f.at, "unknown key %q%s%s", clip(f.key), in, didYouMean(f.key, keysOf(rs)))
	}
	for _, r := range rs {
		if r.required && n.get(r.name) == nil && (!is[secret.String](r.typ) || n.get(r.name+"_file") == nil) {
			also := ""
			if is[secret.String](r.typ) {
				also = " (or " + r.name + "_file)"
			}
			d.rep.addf(problem.Missing, n.at, "%s is missing%s", join(path, r.name), also)
		}
	}
}

// field decodes one key and tells whether the rules know it.
func (d *decoder) field(n *node, f field, v reflect.Value, path string, rs []rules) bool {
	for _, r := range rs {
		switch {
		case f.key == r.name:
			if r.required && f.val.isNull() {
				d.rep.addf(problem.Missing, f.at, "%s has no value", join(path, r.name))
				return true
			}
			d.value(f.val, v.FieldByIndex(r.index), join(path, r.name), r)
			return true
		case is[secret.String](r.typ) && f.key == r.name+"_file":
			if other := n.get(r.name); other != nil {
				d.rep.addf(problem.Conflict, f.at, "both %s and %s_file are given; keep one", join(path, r.name), r.name)
				return true
			}
			d.secretFile(f.val, v.FieldByIndex(r.index), join(path, f.key))
			return true
		}
	}
	return false
}

const maxSecretBytes = 64 << 10

// secretFile reads a secret from the file that n names.
func (d *decoder) secretFile(n *node, v reflect.Value, path string) {
	file, ok := d.text(n, path)
	if !ok {
		return
	}
	full := d.src.resolve(file, n.at)
	data, err := d.src.read(full, maxSecretBytes)
	if err != nil {
		d.rep.addf(problem.FileMissing, n.at, "%s: can't read %s: %s", path, full, reason(err))
		return
	}
	// Editors and `echo` end a file in a line break that is no part of it.
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if text == "" {
		d.rep.addf(problem.FileMissing, n.at, "%s: %s is empty", path, full)
		return
	}
	v.Set(reflect.ValueOf(secret.New(text)))
}

func (d *decoder) mapping(n *node, v reflect.Value, path string, r rules) {
	if n.kind != yaml.MappingNode {
		d.rep.addf(problem.WrongType, n.at, "%s must be a mapping of keys to values, not %s", name(path), what(n))
		return
	}
	elem := v.Type().Elem()
	out := reflect.MakeMapWithSize(v.Type(), len(n.fields))
	for _, f := range n.fields {
		val, key := reflect.New(elem).Elem(), f.key
		if base, isFile := strings.CutSuffix(key, "_file"); isFile && is[secret.String](elem) {
			if n.get(base) != nil {
				d.rep.addf(problem.Conflict, f.at, "both %s and %s are given; keep one", join(path, base), key)
				continue
			}
			key = base
			d.secretFile(f.val, val, join(path, f.key))
		} else {
			d.value(f.val, val, join(path, f.key), r)
		}
		out.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), val)
	}
	v.Set(out)
}

func (d *decoder) list(n *node, v reflect.Value, path string, r rules) {
	if n.kind != yaml.SequenceNode {
		d.rep.addf(problem.WrongType, n.at, "%s must be a list such as [a, b], not %s", name(path), what(n))
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
	for i, item := range n.items {
		d.value(item, out.Index(i), path, r)
	}
	v.Set(out)
}

// library gives any other type to the YAML library, strictly.
func (d *decoder) library(n *node, v reflect.Value, path string) {
	if err := d.yaml(n, path).Load(v.Addr().Interface(), yaml.WithKnownFields()); err != nil {
		d.rep.addf(problem.WrongType, n.at, "%s does not fit what is expected here", name(path))
	}
}

// yaml is the tree as the library's nodes, expanded.
func (d *decoder) yaml(n *node, path string) *yaml.Node {
	out := &yaml.Node{Kind: n.kind, Line: n.at.Line, Column: n.at.Col}
	switch n.kind {
	case yaml.ScalarNode:
		out.Tag = n.tag
		out.Value, _ = d.expanded(n, path)
	case yaml.MappingNode:
		for _, f := range n.fields {
			out.Content = append(out.Content,
				&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: f.key, Line: f.at.Line, Column: f.at.Col},
				d.yaml(f.val, join(path, f.key)))
		}
	default:
		for _, i := range n.items {
			out.Content = append(out.Content, d.yaml(i, path))
		}
	}
	return out
}

func join(path, key string) string {
	if utf8.RuneCountInString(key) > 60 {
		key = clip(key)
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

// what names a node's shape in a message.
func what(n *node) string {
	switch {
	case n.kind == yaml.MappingNode:
		return "a mapping"
	case n.kind == yaml.SequenceNode:
		return "a list"
	case n.isNull():
		return "nothing"
	default:
		return "a single value"
	}
}
