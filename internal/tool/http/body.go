package httptool

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/parley-bot/parley/internal/tool"
)

// bodyTemplate is a JSON value whose texts may hold placeholders. One that is
// a whole text stands for the argument's own value, of whatever type; within
// a text it stands for the argument's text.
type bodyTemplate struct {
	kind   byte // { [ " or 0: anything else, as it is
	raw    json.RawMessage
	pieces []tool.Piece
	keys   []string
	items  []bodyTemplate
}

func parseBody(raw json.RawMessage) (bodyTemplate, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	t, err := readBody(dec)
	if err != nil {
		return t, errors.New("it can't be read as JSON")
	}
	return t, nil
}

func readBody(dec *json.Decoder) (t bodyTemplate, err error) {
	tok, err := dec.Token()
	if err != nil {
		return t, err
	}
	switch v := tok.(type) {
	case json.Delim:
		t.kind = byte(v)
		for dec.More() {
			if t.kind == '{' {
				key, err := dec.Token()
				if err != nil {
					return t, err
				}
				name, _ := key.(string) // an object's keys are
				t.keys = append(t.keys, name)
			}
			item, err := readBody(dec)
			if err != nil {
				return t, err
			}
			t.items = append(t.items, item)
		}
		_, err = dec.Token()
		return t, err
	case string:
		if ps := tool.LoosePieces(v); slices.ContainsFunc(ps, func(p tool.Piece) bool { return p.Name != "" }) {
			return bodyTemplate{kind: '"', pieces: ps}, nil
		}
		return bodyTemplate{raw: quote(v)}, nil
	case json.Number:
		return bodyTemplate{raw: json.RawMessage(v)}, nil
	default:
		raw, err := json.Marshal(tok) // true, false, null
		return bodyTemplate{raw: raw}, err
	}
}

// names are the placeholders in it.
func (t bodyTemplate) names() (out []string) {
	for _, p := range t.pieces {
		if p.Name != "" {
			out = append(out, p.Name)
		}
	}
	for _, item := range t.items {
		out = append(out, item.names()...)
	}
	return out
}

// fill writes the body of a call. What stands for an argument that wasn't
// given is left out of its object or list; given is false where that is all.
func (t bodyTemplate) fill(vs values) (out json.RawMessage, given bool) {
	switch t.kind {
	case '{':
		var members values
		for i, item := range t.items {
			if raw, ok := item.fill(vs); ok {
				members = append(members, member{t.keys[i], raw})
			}
		}
		return members.object(), true
	case '[':
		items := [][]byte{}
		for _, item := range t.items {
			if raw, ok := item.fill(vs); ok {
				items = append(items, raw)
			}
		}
		return slices.Concat([]byte("["), bytes.Join(items, []byte(",")), []byte("]")), true
	case '"':
		return fillText(t.pieces, vs)
	}
	return t.raw, true
}

func fillText(ps []tool.Piece, vs values) (json.RawMessage, bool) {
	if len(ps) == 1 {
		i := vs.index(ps[0].Name)
		if i < 0 {
			return nil, false
		}
		return vs[i].raw, true
	}
	return quote(textOf(ps, vs)), true
}

// textOf joins pieces: an argument that wasn't given is nothing, one that is
// no plain value is its JSON.
func textOf(ps []tool.Piece, vs values) string {
	var b strings.Builder
	for _, p := range ps {
		switch text, ok := vs.scalar(p.Name); {
		case p.Name == "":
			b.WriteString(p.Text)
		case ok:
			b.WriteString(text)
		case !vs.absent(p.Name):
			b.WriteString(compact(vs[vs.index(p.Name)].raw))
		}
	}
	return b.String()
}
