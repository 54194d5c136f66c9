package decode

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

	"github.com/parley-bot/parley/internal/config/tree"
	"github.com/parley-bot/parley/internal/problem"
	"github.com/parley-bot/parley/internal/secret"
)

// IsScalar tells whether one plain value fills t.
func IsScalar(t reflect.Type) bool {
	if Is[secret.String](t) || Is[time.Duration](t) || IsText(t) {
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
func (d *Decoder) expanded(n *tree.Node, path string) (string, bool) {
	if n.Literal {
		return n.Value, true
	}
	out, bad := tree.Expand(n.Value, d.Env)
	if bad != "" {
		d.Rep.Addf(problem.Variable, n.At, "%s: %s", name(path), bad)
		return "", false
	}
	return out, true
}

// ExpandAll copies a tree with the variables in its texts replaced.
func (d *Decoder) ExpandAll(n *tree.Node, path string) *tree.Node {
	out := *n
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "${") {
		out.Value, _ = d.expanded(n, path)
		out.Tag = "!!str"
	}
	out.Fields, out.Items = nil, nil
	for _, f := range n.Fields {
		f.Val = d.ExpandAll(f.Val, Join(path, f.Key))
		out.Fields = append(out.Fields, f)
	}
	for _, i := range n.Items {
		out.Items = append(out.Items, d.ExpandAll(i, path))
	}
	return &out
}

// Text is the text of a node that must be a scalar.
func (d *Decoder) Text(n *tree.Node, path string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.IsNull() {
		d.Rep.Addf(problem.WrongType, n.At, "%s must be a single value, not %s", name(path), tree.What(n))
		return "", false
	}
	return d.expanded(n, path)
}

// Shown is a value as a message may quote it: as it was written, so that what
// came from a variable stays out.
func Shown(n *tree.Node) string {
	if n.Literal {
		return "the value"
	}
	return strconv.Quote(tree.Clip(n.Value))
}

func (d *Decoder) scalar(n *tree.Node, v reflect.Value, path string, r Rules) {
	raw := r.Text && n.Kind == yaml.ScalarNode
	s := n.Value
	if !raw {
		var ok bool
		if s, ok = d.Text(n, path); !ok {
			return
		}
	}
	if r.OneOf != nil && !slices.Contains(r.OneOf, s) {
		d.Rep.Addf(problem.NotAllowed, n.At, "%s: %s is not allowed%s", path, Shown(n), tree.DidYouMean(n.Value, r.OneOf))
		return
	}
	if v.Kind() == reflect.String && !IsText(v.Type()) && !r.Lines && strings.ContainsFunc(s, breaksLine) {
		d.Rep.Addf(problem.WrongType, n.At, "%s must be one line: it holds a line break or another control character", path)
		return
	}
	if Is[secret.String](v.Type()) {
		v.Set(reflect.ValueOf(secret.New(s)))
		return
	}
	if want := d.set(n, v, s); want != "" {
		d.Rep.Addf(problem.WrongType, n.At, "%s: %s is not %s", path, Shown(n), want)
	}
}

// breaksLine tells whether a text with r in it isn't one line, or not only
// text.
func breaksLine(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// set puts s into v, or says what was wanted.
func (d *Decoder) set(n *tree.Node, v reflect.Value, s string) (want string) {
	// A number in quotes is a mistake, unless a variable had to be quoted.
	worded := n.Quoted && s == n.Value && !n.Literal
	switch {
	case Is[time.Duration](v.Type()):
		dur, err := time.ParseDuration(s)
		if err != nil || dur < 0 {
			return "a duration such as 30s, 2m or 24h"
		}
		v.SetInt(int64(dur))
	case IsText(v.Type()):
		if t, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); !ok || t.UnmarshalText([]byte(s)) != nil {
			if w, ok := reflect.TypeAssert[Wanter](v.Addr()); ok {
				return w.Want()
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

// JSON writes a tree as JSON in the order of the file, numbers digit by
// digit. Nothing is expanded: what is kept as JSON is read by a model.
func (d *Decoder) JSON(b *bytes.Buffer, n *tree.Node, path string) bool {
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i, f := range n.Fields {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(Quote(f.Key))
			b.WriteByte(':')
			if !d.JSON(b, f.Val, Join(path, f.Key)) {
				return false
			}
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			if !d.JSON(b, item, path) {
				return false
			}
		}
		b.WriteByte(']')
	default:
		return d.jsonScalar(b, n, path)
	}
	return true
}

func (d *Decoder) jsonScalar(b *bytes.Buffer, n *tree.Node, path string) bool {
	switch n.Tag {
	case "!!null":
		b.WriteString("null")
		return true
	case "!!bool":
		b.WriteString(strings.ToLower(n.Value))
		return true
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			b.WriteString(n.Value)
			return true
		}
		// YAML's other spellings: 0x1f, .5, 1_000.
		var v any
		if err := (&yaml.Node{Kind: yaml.ScalarNode, Tag: n.Tag, Value: n.Value}).Load(&v); err == nil {
			if out, err := json.Marshal(v); err == nil {
				b.Write(out)
				return true
			}
		}
		d.Rep.Addf(problem.WrongType, n.At, "%s: %s is a number that JSON doesn't have", name(path), Shown(n))
		return false
	default:
		b.Write(Quote(n.Value))
		return true
	}
}

// Quote is s as a JSON string.
func Quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		// A string always has a JSON form.
		return fmt.Appendf(nil, "%q", s)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
