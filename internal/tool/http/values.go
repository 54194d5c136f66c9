package httptool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// values are the arguments and what is bound, in their order: JSON as it was
// written.
type values []member

type member struct {
	key string
	raw json.RawMessage
}

// param is one key=value of a query, unescaped.
type param struct{ key, value string }

// members reads an object without touching its values.
func members(object json.RawMessage) (values, error) {
	if len(bytes.TrimSpace(object)) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(object))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, errors.New("the arguments are no JSON object")
	}
	var out values
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, errors.New("the arguments are no JSON object")
		}
		var m member
		m.key, _ = tok.(string)
		if err := dec.Decode(&m.raw); err != nil {
			return nil, errors.New("the arguments are no JSON object")
		}
		if out.index(m.key) >= 0 {
			return nil, fmt.Errorf("the argument %q is given twice", m.key)
		}
		out = append(out, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, errors.New("the arguments are no JSON object")
	}
	return out, nil
}

func (vs values) index(key string) int {
	return slices.IndexFunc(vs, func(m member) bool { return m.key == key })
}

// without leaves out members whose key is that name in any case: there are
// servers that take one for the other.
func (vs values) without(name string) values {
	return slices.DeleteFunc(slices.Clone(vs), func(m member) bool { return strings.EqualFold(m.key, name) })
}

// absent tells whether a value wasn't given, or is null.
func (vs values) absent(key string) bool {
	i := vs.index(key)
	return i < 0 || string(vs[i].raw) == "null"
}

// scalar is the text of a string, number or boolean.
func (vs values) scalar(key string) (string, bool) {
	i := vs.index(key)
	if i < 0 {
		return "", false
	}
	return scalarText(vs[i].raw)
}

func scalarText(raw json.RawMessage) (string, bool) {
	switch {
	case len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || string(raw) == "null":
		return "", false
	case raw[0] == '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err == nil
	default:
		return string(raw), true // a number as it was written
	}
}

// params makes the query: null is left out, a list of plain values repeats its
// key, what is deeper is JSON.
func (vs values) params() []param {
	var out []param
	for _, m := range vs {
		if s, ok := scalarText(m.raw); ok {
			out = append(out, param{m.key, s})
			continue
		}
		if string(m.raw) == "null" {
			continue
		}
		var items []json.RawMessage
		if m.raw[0] == '[' && json.Unmarshal(m.raw, &items) == nil && allScalar(items) {
			for _, it := range items {
				s, _ := scalarText(it)
				out = append(out, param{m.key, s})
			}
			continue
		}
		out = append(out, param{m.key, compact(m.raw)})
	}
	return out
}

func allScalar(items []json.RawMessage) bool {
	return !slices.ContainsFunc(items, func(raw json.RawMessage) bool {
		_, ok := scalarText(raw)
		return !ok
	})
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// object writes the members as one JSON object.
func (vs values) object() []byte {
	b := []byte{'{'}
	for i, m := range vs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, quote(m.key)...), ':')
		b = append(b, m.raw...)
	}
	return append(b, '}')
}

func quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimSpace(b.Bytes())
}
