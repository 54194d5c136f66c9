package script

import (
	"encoding/json"
	"strings"
)

// argument is a value in args, ready to be filled in.
type argument struct {
	literal  json.RawMessage // a value without placeholders
	text     *template
	object   []member // with isObject
	array    []argument
	isObject bool
	isArray  bool
}

type member struct {
	name  string
	key   json.RawMessage // name as JSON
	value argument
}

// write appends the JSON of a; ok is false where a is an optional value that
// isn't there. at is where in the arguments a stands, as steps in their schema.
func (a argument) write(out []byte, s scope, at []string) (_ []byte, ok bool, err error) {
	switch {
	case a.isObject:
		out = append(out, '{')
		first := true
		for _, m := range a.object {
			before := len(out)
			if !first {
				out = append(out, ',')
			}
			out = append(append(out, m.key...), ':')
			if out, ok, err = m.value.write(out, s, append(at, "properties", m.name)); err != nil {
				return nil, false, err
			}
			if !ok {
				out = out[:before]
				continue
			}
			first = false
		}
		return append(out, '}'), true, nil
	case a.isArray:
		out = append(out, '[')
		first := true
		for _, element := range a.array {
			before := len(out)
			if !first {
				out = append(out, ',')
			}
			if out, ok, err = element.write(out, s, append(at, "items")); err != nil {
				return nil, false, err
			}
			if !ok {
				out = out[:before]
				continue
			}
			first = false
		}
		return append(out, ']'), true, nil
	case a.text != nil:
		if r, single := a.text.single(); single {
			raw, ok, err := s.value(r)
			switch {
			case err != nil:
				return nil, false, err
			case !ok && !r.optional:
				return nil, false, &missingError{r.text}
			}
			if r.root == rootGroup {
				raw = s.numeric(raw, at)
			}
			return append(out, raw...), ok, nil
		}
		text, err := s.text(*a.text)
		return append(out, quote(text)...), true, err
	default:
		return append(out, a.literal...), true, nil
	}
}

// numeric makes a number of what a regular expression found, where it is one
// and the tool's schema wants one: a group has no type of its own.
func (s scope) numeric(raw json.RawMessage, at []string) json.RawMessage {
	text := plain(raw)
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') || !json.Valid([]byte(text)) {
		return raw
	}
	kind, _ := dig(s.schema, append(at, "type"))
	if wanted := string(kind); strings.Contains(wanted, `"string"`) ||
		!strings.Contains(wanted, `"integer"`) && !strings.Contains(wanted, `"number"`) {
		return raw
	}
	return json.RawMessage(text)
}
