package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// mask stands in the place of a value that is kept out.
const mask = `"***"`

// Redactor keeps configured arguments out of events. The zero value keeps
// none out.
type Redactor struct {
	paths [][]string // below args
	drop  bool
}

// NewRedactor reads dotted paths into an event: args.card, args.items.*.note.
// A * is any key or item, a number an item of a list; a key applied to a list
// is looked for in each item. "args" alone is all of them. With drop the
// values are left out (null within a list), else they read "***".
func NewRedactor(paths []string, drop bool) (*Redactor, error) {
	r := &Redactor{drop: drop}
	for _, p := range paths {
		parts := strings.Split(p, ".")
		if parts[0] != "args" || slices.Contains(parts, "") {
			return nil, fmt.Errorf("audit: %q is no path into the arguments, such as args.card", p)
		}
		r.paths = append(r.paths, parts[1:])
	}
	return r, nil
}

// Apply returns the event without what is to be kept out. Arguments that
// can't be read are kept out whole as soon as there is any rule.
func (r *Redactor) Apply(e Event) Event {
	if r == nil || len(r.paths) == 0 || len(e.Args) == 0 {
		return e
	}
	out, err := r.args(e.Args)
	if err != nil {
		out = []byte(mask)
		if r.drop {
			out = nil
		}
	}
	e.Args = out
	return e
}

func (r *Redactor) args(raw json.RawMessage) (json.RawMessage, error) {
	if done(r.paths) {
		return nil, errors.New("all arguments are kept out")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var out bytes.Buffer
	if err := r.value(dec, &out, r.paths); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return out.Bytes(), nil
}

// done tells whether a path ends here.
func done(paths [][]string) bool {
	return slices.ContainsFunc(paths, func(p []string) bool { return len(p) == 0 })
}

// value copies one value, keeping the order of keys and every digit.
func (r *Redactor) value(dec *json.Decoder, out *bytes.Buffer, paths [][]string) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	switch t := tok.(type) {
	case json.Delim:
		if t == '{' {
			return r.object(dec, out, paths)
		}
		return r.array(dec, out, paths)
	case json.Number:
		out.WriteString(t.String())
		return nil
	default:
		return quote(out, t)
	}
}

func (r *Redactor) object(dec *json.Decoder, out *bytes.Buffer, paths [][]string) error {
	out.WriteByte('{')
	first := true
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		key, ok := tok.(string)
		if !ok {
			return errors.New("a key is no text")
		}
		rest := below(paths, key)
		hide := done(rest)
		if hide && r.drop {
			if err := r.value(dec, &bytes.Buffer{}, nil); err != nil {
				return err
			}
			continue
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		if err := quote(out, key); err != nil {
			return err
		}
		out.WriteByte(':')
		if err := r.child(dec, out, rest, hide); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	_, err := dec.Token()
	return err
}

func (r *Redactor) array(dec *json.Decoder, out *bytes.Buffer, paths [][]string) error {
	out.WriteByte('[')
	for i := 0; dec.More(); i++ {
		if i > 0 {
			out.WriteByte(',')
		}
		// "*" and the index go one step down, other names stay for the items.
		rest := below(paths, strconv.Itoa(i))
		for _, p := range paths {
			if len(p) > 0 && p[0] != "*" && !isIndex(p[0]) {
				rest = append(rest, p)
			}
		}
		if err := r.child(dec, out, rest, done(rest)); err != nil {
			return err
		}
	}
	out.WriteByte(']')
	_, err := dec.Token()
	return err
}

// child copies a value or what stands in its place.
func (r *Redactor) child(dec *json.Decoder, out *bytes.Buffer, paths [][]string, hide bool) error {
	if !hide {
		return r.value(dec, out, paths)
	}
	if r.drop {
		out.WriteString("null")
	} else {
		out.WriteString(mask)
	}
	return r.value(dec, &bytes.Buffer{}, nil)
}

// below are the rests of the paths that lead to key.
func below(paths [][]string, key string) [][]string {
	var out [][]string
	for _, p := range paths {
		if len(p) > 0 && (p[0] == "*" || p[0] == key) {
			out = append(out, p[1:])
		}
	}
	return out
}

func isIndex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// quote writes a string, boolean or null.
func quote(out *bytes.Buffer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1) // Encode ends in a line break
	return nil
}
