package config

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/internal/problem"
	"github.com/parley-bot/parley/internal/secret"
)

// isScalar tells whether one plain value fills t.
func isScalar(t reflect.Type) bool {
	if is[secret.String](t) || is[time.Duration](t) || isText(t) {
		return true
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	default:
		return false
	}
}

// expanded is a scalar's text with its variables replaced.
func (d *decoder) expanded(n *node, path string) (string, bool) {
	if n.literal {
		return n.value, true
	}
	out, bad := expand(n.value, d.env)
	if bad != "" {
		d.rep.addf(problem.Variable, n.at, "%s: %s", name(path), bad)
		return "", false
	}
	return out, true
}

// text is the text of a node that must be a scalar.
func (d *decoder) text(n *node, path string) (string, bool) {
	if n.kind != yaml.ScalarNode || n.isNull() {
		d.rep.addf(problem.WrongType, n.at, "%s must be a single value, not %s", name(path), what(n))
		return "", false
	}
	return d.expanded(n, path)
}

// shown is a value as a message may quote it: as it was written, so that what
// came from a variable stays out.
func shown(n *node) string {
	if n.literal {
		return "the value"
	}
	return strconv.Quote(clip(n.value))
}

func (d *decoder) scalar(n *node, v reflect.Value, path string, r rules) {
	raw := r.text && n.kind == yaml.ScalarNode
	s := n.value
	if !raw {
		var ok bool
		if s, ok = d.text(n, path); !ok {
			return
		}
	}
	if r.oneof != nil && !slices.Contains(r.oneof, s) {
		d.rep.addf(problem.NotAllowed, n.at, "%s: %s is not allowed%s", path, shown(n), didYouMean(n.value, r.oneof))
		return
	}
	if v.Kind() == reflect.String && !isText(v.Type()) && !r.lines && strings.ContainsFunc(s, breaksLine) {
		d.rep.addf(problem.WrongType, n.at, "%s must be one line: it holds a line break or another control character", path)
		return
	}
	if is[secret.String](v.Type()) {
		v.Set(reflect.ValueOf(secret.New(s)))
		return
	}
	if want := d.set(n, v, s); want != "" {
		d.rep.addf(problem.WrongType, n.at, "%s: %s is not %s", path, shown(n), want)
	}
}

// breaksLine tells whether a text with r in it isn't one line, or not only
// text.
func breaksLine(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// set puts s into v, or says what was wanted.
func (d *decoder) set(n *node, v reflect.Value, s string) (want string) {
	// A number in quotes is a mistake, unless a variable had to be quoted.
	worded := n.quoted && s == n.value && !n.literal
	switch {
	case is[time.Duration](v.Type()):
		dur, err := time.ParseDuration(s)
		if err != nil || dur < 0 {
			return "a duration such as 30s, 2m or 24h"
		}
		v.SetInt(int64(dur))
	case isText(v.Type()):
		if t, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); !ok || t.UnmarshalText([]byte(s)) != nil {
			if w, ok := reflect.TypeAssert[interface{ want() string }](v.Addr()); ok {
				return w.want()
			}
			return "valid here"
		}
	case v.Kind() == reflect.String:
		v.SetString(s)
	case v.Kind() == reflect.Bool:
		b, ok := map[string]bool{"true": true, "false": false}[strings.ToLower(s)]
		if !ok || worded {
			return "true or false"
		}
		v.SetBool(b)
	case v.CanInt():
		i, err := strconv.ParseInt(s, 10, v.Type().Bits())
		if err != nil || worded {
			return "a whole number"
		}
		v.SetInt(i)
	case v.CanUint():
		i, err := strconv.ParseUint(s, 10, v.Type().Bits())
		if err != nil || worded {
			return "a whole number from 0"
		}
		v.SetUint(i)
	case v.CanFloat():
		f, err := strconv.ParseFloat(s, v.Type().Bits())
		if err != nil || worded || math.IsNaN(f) || math.IsInf(f, 0) {
			return "a number"
		}
		v.SetFloat(f)
	}
	return ""
}

// json writes a tree as JSON in the order of the file, numbers digit by
// digit. Nothing is expanded: what is kept as JSON is read by a model.
func (d *decoder) json(b *bytes.Buffer, n *node, path string) bool {
	switch n.kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i, f := range n.fields {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(quote(f.key))
			b.WriteByte(':')
			if !d.json(b, f.val, join(path, f.key)) {
				return false
			}
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			if !d.json(b, item, path) {
				return false
			}
		}
		b.WriteByte(']')
	default:
		return d.jsonScalar(b, n, path)
	}
	return true
}

func (d *decoder) jsonScalar(b *bytes.Buffer, n *node, path string) bool {
	switch n.tag {
	case "!!null":
		b.WriteString("null")
		return true
	case "!!bool":
		b.WriteString(strings.ToLower(n.value))
		return true
	case "!!int", "!!float":
		if json.Valid([]byte(n.value)) {
			b.WriteString(n.value)
			return true
		}
		// YAML's other spellings: 0x1f, .5, 1_000.
		var v any
		if err := (&yaml.Node{Kind: yaml.ScalarNode, Tag: n.tag, Value: n.value}).Load(&v); err == nil {
			if out, err := json.Marshal(v); err == nil {
				b.Write(out)
				return true
			}
		}
		d.rep.addf(problem.WrongType, n.at, "%s: %s is a number that JSON doesn't have", name(path), shown(n))
		return false
	default:
		b.Write(quote(n.value))
		return true
	}
}

func quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		// A string always has a JSON form.
		return fmt.Appendf(nil, "%q", s)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
