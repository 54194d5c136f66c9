package confirm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parley-bot/parley/internal/locale"
)

// Labels makes values readable: argument key → value → label (behaviour B10).
type Labels = map[string]map[string]string

// reader turns values into words.
type reader struct {
	labels  Labels
	catalog *locale.Catalog
	lang    string
}

// ArgLines reads arguments as lines for a person (behaviour B9), each begun
// by "• ": one an argument, in the order of the JSON, or one an item where the
// only argument is a list. null is left out and nothing else is. Empty
// arguments give no lines. It fails for what isn't one JSON value, for a key
// that is there twice, and with ErrTooLong for a value over 1,000 characters.
func ArgLines(args json.RawMessage, labels Labels, catalog *locale.Catalog, lang string) ([]string, error) {
	if len(bytes.TrimSpace(args)) == 0 {
		return nil, nil
	}
	v, err := parse(args, true)
	if err != nil {
		return nil, fmt.Errorf("read arguments: %w", err)
	}
	r := reader{labels, catalog, lang}
	switch v.kind {
	case kindNull:
		return nil, nil
	case kindObject:
		return r.lines(present(v.fields)), nil
	default:
		return []string{bullet(r.inline("", v))}, nil
	}
}

func (r reader) lines(args []field) []string {
	if len(args) == 1 && args[0].value.kind == kindList && len(args[0].value.items) > 0 {
		lines := make([]string, len(args[0].value.items))
		for i, item := range args[0].value.items {
			lines[i] = bullet(r.item(args[0].key, item))
		}
		return lines
	}
	lines := make([]string, len(args))
	for i, arg := range args {
		lines[i] = bullet(r.pair(arg))
	}
	return lines
}

func bullet(text string) string { return strings.TrimRight("• "+text, " ") }

// present leaves out what is null.
func present(fields []field) (kept []field) {
	for _, f := range fields {
		if f.value.kind != kindNull {
			kept = append(kept, f)
		}
	}
	return kept
}

// pair reads "Key: value".
func (r reader) pair(f field) string {
	name := HumanName(f.key)
	if name == "" {
		name = `""`
	}
	return strings.TrimRight(name+": "+r.inline(f.key, f.value), " ")
}

// inline reads the value of key.
func (r reader) inline(key string, v value) string {
	switch v.kind {
	case kindList:
		items := make([]string, len(v.items))
		for i, item := range v.items {
			items[i] = r.item(key, item)
			if item.kind == kindList {
				items[i] = "(" + items[i] + ")"
			}
		}
		return strings.Join(items, ", ")
	case kindObject:
		return r.brackets(v.fields)
	default:
		return r.scalar(key, v)
	}
}

// scalar reads a single value, by its label if it has one.
func (r reader) scalar(key string, v value) string {
	if label, ok := r.label(key, v); ok {
		return label
	}
	switch v.kind {
	case kindBool:
		if v.text == "true" {
			return r.catalog.Text(r.lang, locale.ValueYes)
		}
		return r.catalog.Text(r.lang, locale.ValueNo)
	case kindNumber:
		return plainNumber(v.text)
	case kindNull:
		return "null" // within a list, where leaving it out would tell less
	default:
		return oneLine(v.text)
	}
}

func (r reader) label(key string, v value) (string, bool) {
	if v.kind == kindNull || !v.scalar() {
		return "", false
	}
	label := oneLine(r.labels[key][v.text])
	return label, label != ""
}

// item reads one item of a list: "5 × NAME (Size: L)".
func (r reader) item(key string, v value) string {
	if v.kind != kindObject {
		return r.inline(key, v)
	}
	var parts []string
	rest := present(v.fields)
	if i := quantity(rest); i >= 0 {
		parts = append(parts, r.scalar(rest[i].key, rest[i].value)+" ×")
		rest = without(rest, i)
	}
	if i := r.name(rest); i >= 0 {
		parts = append(parts, r.scalar(rest[i].key, rest[i].value))
		rest = without(rest, i)
	}
	if len(rest) > 0 || len(parts) == 0 {
		parts = append(parts, r.brackets(rest))
	}
	return strings.Join(parts, " ")
}

// quantity finds the field that says how many.
func quantity(fields []field) int {
	for i, f := range fields {
		switch strings.ToLower(f.key) {
		case "quantity", "qty", "units", "cantidad", "unidades":
			if f.value.kind == kindNumber || f.value.kind == kindString && oneLine(f.value.text) != "" {
				return i
			}
		}
	}
	return -1
}

// name finds the field that an item is called by: the first text, which a
// label makes of any value.
func (r reader) name(fields []field) int {
	for i, f := range fields {
		if _, ok := r.label(f.key, f.value); ok || f.value.kind == kindString && oneLine(f.value.text) != "" {
			return i
		}
	}
	return -1
}

func without(fields []field, i int) []field {
	return append(append([]field(nil), fields[:i]...), fields[i+1:]...)
}

func (r reader) brackets(fields []field) string {
	var pairs []string
	for _, f := range present(fields) {
		pairs = append(pairs, r.pair(f))
	}
	return "(" + strings.Join(pairs, ", ") + ")"
}
