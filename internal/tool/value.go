package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxDepth bounds the nesting of arguments: recursion over them is
	// everywhere, from hashing to the question.
	maxDepth = 64
	// maxArgsBytes bounds what a model may write as arguments of one call.
	maxArgsBytes = 1 << 20
	// maxNumberBytes bounds how a number is written, maxNumberDigits how long
	// it is when written out, so that exact arithmetic can't be made expensive.
	maxNumberBytes  = 1000
	maxNumberDigits = 400
)

// value is a JSON value that keeps what encoding/json loses: the order of
// keys, and numbers as they were written.
type value struct {
	kind   byte // one of { [ " 0 t f n
	text   string
	keys   []string
	values []value // of an object or array
}

// problem is why a text is no value, and where (a JSON pointer).
type problem struct {
	path string
	msg  string
}

func (p *problem) Error() string {
	if p.path == "" {
		return p.msg
	}
	return p.path + ": " + p.msg
}

// parseValue reads exactly one JSON value. It refuses what two readers could
// understand differently: invalid UTF-8, duplicate keys, trailing data.
func parseValue(raw []byte) (value, error) {
	if !utf8.Valid(raw) {
		return value{}, &problem{msg: "not valid UTF-8"}
	}
	var whole json.RawMessage
	if err := json.Unmarshal(raw, &whole); err != nil {
		if se, ok := errors.AsType[*json.SyntaxError](err); ok {
			return value{}, &problem{msg: fmt.Sprintf("not valid JSON: %s (at byte %d)", se.Error(), se.Offset)}
		}
		return value{}, &problem{msg: "not valid JSON: " + err.Error()}
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return readValue(dec, nil)
}

func readValue(dec *json.Decoder, path []string) (value, error) {
	if len(path) > maxDepth {
		return value{}, &problem{msg: fmt.Sprintf("nested deeper than %d levels", maxDepth)}
	}
	tok, err := dec.Token()
	if err != nil {
		return value{}, &problem{msg: "not valid JSON: " + err.Error()}
	}
	switch t := tok.(type) {
	case nil:
		return value{kind: 'n', text: "null"}, nil
	case bool:
		if t {
			return value{kind: 't', text: "true"}, nil
		}
		return value{kind: 'f', text: "false"}, nil
	case string:
		return value{kind: '"', text: t}, nil
	case json.Number:
		if _, _, _, err := decimal(string(t)); err != nil {
			return value{}, &problem{path: pointer(path), msg: err.Error()}
		}
		return value{kind: '0', text: string(t)}, nil
	case json.Delim:
		if t == '[' {
			return readArray(dec, path)
		}
		return readObject(dec, path)
	}
	return value{}, &problem{msg: "not valid JSON"}
}

func readArray(dec *json.Decoder, path []string) (value, error) {
	v := value{kind: '['}
	for dec.More() {
		item, err := readValue(dec, append(path, strconv.Itoa(len(v.values))))
		if err != nil {
			return value{}, err
		}
		v.values = append(v.values, item)
	}
	_, err := dec.Token()
	return v, err
}

func readObject(dec *json.Decoder, path []string) (value, error) {
	v := value{kind: '{'}
	seen := map[string]struct{}{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return value{}, &problem{msg: "not valid JSON: " + err.Error()}
		}
		key, _ := tok.(string)
		if _, dup := seen[key]; dup {
			return value{}, &problem{path: pointer(append(path, key)), msg: "the key is given twice"}
		}
		seen[key] = struct{}{}
		item, err := readValue(dec, append(path, key))
		if err != nil {
			return value{}, err
		}
		v.keys = append(v.keys, key)
		v.values = append(v.values, item)
	}
	_, err := dec.Token()
	return v, err
}

// write appends v as compact JSON: in the order it was written with numbers
// as they were written, or canonically.
func (v value) write(b []byte, canonical bool) []byte {
	switch v.kind {
	case '{':
		order := make([]int, len(v.keys))
		for i := range order {
			order[i] = i
		}
		if canonical {
			sort.Slice(order, func(i, j int) bool { return v.keys[order[i]] < v.keys[order[j]] })
		}
		b = append(b, '{')
		for n, i := range order {
			if n > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, v.keys[i]), ':')
			b = v.values[i].write(b, canonical)
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for i, item := range v.values {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.write(b, canonical)
		}
		return append(b, ']')
	case '"':
		return appendString(b, v.text)
	case '0':
		if canonical {
			return append(b, canonicalNumber(v.text)...)
		}
	}
	return append(b, v.text...)
}

// plain is v as the JSON Schema validator wants it.
func (v value) plain() any {
	switch v.kind {
	case '{':
		m := make(map[string]any, len(v.keys))
		for i, k := range v.keys {
			m[k] = v.values[i].plain()
		}
		return m
	case '[':
		s := make([]any, len(v.values))
		for i, item := range v.values {
			s[i] = item.plain()
		}
		return s
	case '"':
		return v.text
	case '0':
		return json.Number(v.text)
	case 't':
		return true
	case 'f':
		return false
	}
	return nil
}

// appendString appends s as a JSON string without escaping <, > and &: the
// model and people read it.
func appendString(b []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

// pointer is the JSON pointer (RFC 6901) of a path.
func pointer(path []string) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(p))
	}
	return b.String()
}

// Pointer is the JSON pointer (RFC 6901) of a path of keys and indexes.
func Pointer(path ...string) string { return pointer(path) }
