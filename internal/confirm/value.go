package confirm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of what is put before a person.
const (
	maxValue  = 1000  // runes of one value or key
	maxDepth  = 32    // nesting of arguments
	maxPrompt = 16384 // runes of a whole question
)

// ErrTooLong says that a question would be too long for a person to check:
// the call fails as too_long_to_confirm and nobody is asked (behaviour B9).
var ErrTooLong = errors.New("too long to confirm")

// kind is what a JSON value is.
type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindList
	kindObject
)

// value is a JSON value with the order of its keys and the digits of its
// numbers kept.
type value struct {
	kind   kind
	text   string // of a string, the literal of a number, true or false
	items  []value
	fields []field
}

type field struct {
	key   string
	value value
}

func (v value) scalar() bool { return v.kind < kindList }

// parser reads JSON. strict refuses what a person couldn't check: values that
// are too long, and a key that is there twice, since what is shown of it
// needn't be what runs.
type parser struct {
	d      *json.Decoder
	strict bool
}

// parse reads exactly one JSON value.
func parse(raw json.RawMessage, strict bool) (value, error) {
	p := parser{json.NewDecoder(bytes.NewReader(raw)), strict}
	p.d.UseNumber()
	v, err := p.value(0)
	if err != nil {
		return value{}, err
	}
	if _, err := p.d.Token(); !errors.Is(err, io.EOF) {
		return value{}, errors.New("more than one JSON value")
	}
	return v, nil
}

func (p parser) value(depth int) (value, error) {
	t, err := p.d.Token()
	if err != nil {
		return value{}, err
	}
	switch t := t.(type) {
	case bool:
		return value{kind: kindBool, text: strconv.FormatBool(t)}, nil
	case json.Number:
		return value{kind: kindNumber, text: t.String()}, p.length(t.String())
	case string:
		return value{kind: kindString, text: t}, p.length(t)
	case json.Delim:
		if depth == maxDepth {
			return value{}, fmt.Errorf("nested deeper than %d levels: %w", maxDepth, ErrTooLong)
		}
		if t == '[' {
			return p.list(depth + 1)
		}
		return p.object(depth + 1)
	default:
		return value{}, nil
	}
}

func (p parser) list(depth int) (value, error) {
	v := value{kind: kindList}
	for p.d.More() {
		item, err := p.value(depth)
		if err != nil {
			return value{}, err
		}
		v.items = append(v.items, item)
	}
	_, err := p.d.Token()
	return v, err
}

func (p parser) object(depth int) (value, error) {
	v := value{kind: kindObject}
	seen := make(map[string]bool)
	for p.d.More() {
		t, err := p.d.Token()
		if err != nil {
			return value{}, err
		}
		key, _ := t.(string)
		if err := p.length(key); err != nil {
			return value{}, err
		}
		if seen[key] && p.strict {
			return value{}, fmt.Errorf("key %q is there twice", key)
		}
		seen[key] = true
		f, err := p.value(depth)
		if err != nil {
			return value{}, err
		}
		v.fields = append(v.fields, field{key, f})
	}
	_, err := p.d.Token()
	return v, err
}

func (p parser) length(s string) error {
	if n := utf8.RuneCountInString(s); p.strict && n > maxValue {
		return fmt.Errorf("value of %d characters: %w", n, ErrTooLong)
	}
	return nil
}

// plainNumber writes a JSON number without an exponent, exactly, where that
// is short: "1e3" is easily read as 1.
func plainNumber(lit string) string {
	mantissa, exponent, ok := strings.Cut(strings.ToLower(lit), "e")
	if !ok {
		return lit
	}
	e, err := strconv.Atoi(exponent)
	if err != nil || e > 30 || e < -30 {
		return lit
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits, point := whole+fraction, len(whole)+e
	if point <= 0 {
		digits, point = strings.Repeat("0", 1-point)+digits, 1
	}
	if point > len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	}
	whole, fraction = strings.TrimLeft(digits[:point], "0"), digits[point:]
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if negative {
		whole = "-" + whole
	}
	return whole
}
