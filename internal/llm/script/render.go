package script

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Bounds of what a script may write: lists within lists can grow fast.
const (
	maxText  = 256 << 10
	maxDepth = 8
)

// scope is where placeholders find their values.
type scope struct {
	view   *view
	match  match
	lang   string
	labels map[string]string
	elem   json.RawMessage            // in a line
	fields map[string]json.RawMessage // of elem, where it is an object
	n      int
	depth  int
	schema json.RawMessage // of the arguments that are being written
}

// missingError is a value that isn't there.
type missingError struct{ name string }

func (e *missingError) Error() string { return fmt.Sprintf("{%s} has no value", e.name) }

// value finds what r names. ok is false where it isn't there.
func (s scope) value(r ref) (raw json.RawMessage, ok bool, err error) {
	if r.field != nil && s.fields != nil {
		if raw, ok := s.fields[r.field[0]]; ok {
			if raw, ok = dig(raw, r.field[1:]); ok {
				return raw, true, nil
			}
		}
	}
	switch r.root {
	case rootGroup:
		if r.index < len(s.match.groups) {
			raw, ok = quote(s.match.groups[r.index]), true
		}
	case rootUser:
		raw, ok = quote(s.view.said().orig), true
	case rootResult:
		if s.match.result != nil {
			raw, ok = asJSON(s.match.result.Content), true
		}
	case rootLast:
		raw, ok = s.view.lastResult(r.tool)
	case rootArgs:
		raw, ok = s.view.lastArgs(r.tool)
	case rootExtractor:
		raw = s.view.extracted(r.index)
		ok = raw != nil
	case rootList:
		text, found, err := s.list(s.view.rules.lists[r.index])
		if err != nil {
			return nil, false, err
		}
		raw, ok = quote(text), found
	case rootCount:
		raw, ok = json.RawMessage(strconv.Itoa(s.n)), s.n > 0
	case rootNone:
	case rootElement:
		raw, ok = s.elem, s.elem != nil
	}
	if ok && len(r.path) > 0 {
		raw, ok = dig(raw, r.path)
	}
	return raw, ok, nil
}

// text fills a template in.
func (s scope) text(t template) (string, error) {
	if len(t.refs) == 0 {
		return t.literals[0], nil
	}
	var b strings.Builder
	for i, r := range t.refs {
		b.WriteString(t.literals[i])
		raw, ok, err := s.value(r)
		switch {
		case err != nil:
			return "", err
		case !ok && !r.optional:
			return "", &missingError{r.text}
		case !ok:
			continue
		}
		shown := plain(raw)
		if label, ok := s.labels[shown]; ok {
			shown = label
		}
		b.WriteString(shown)
		if b.Len() > maxText {
			return "", fmt.Errorf("a text of over %d bytes", maxText)
		}
	}
	b.WriteString(t.literals[len(t.refs)])
	return b.String(), nil
}

// list writes the elements of a list. found is false where there is no list
// and nothing to say instead.
func (s scope) list(l *list) (text string, found bool, err error) {
	if s.depth >= maxDepth {
		return "", false, fmt.Errorf("lists: %s: over %d lists within each other", l.name, maxDepth)
	}
	raw, ok, err := s.value(l.each)
	if err != nil {
		return "", false, err
	}
	all, isList := elements(raw)
	if ok && !isList {
		return "", false, fmt.Errorf("lists: %s: {%s} is not a list", l.name, l.each.text)
	}
	inner := s
	inner.depth++
	inner.labels = l.labels
	if len(all) == 0 {
		if l.empty == nil {
			return "", ok, nil
		}
		text, err := inner.text(l.empty.in(s.lang))
		return text, true, err
	}
	var b strings.Builder
	for i, elem := range all {
		if i > 0 {
			b.WriteString(l.join)
		}
		inner.elem, inner.fields, inner.n = elem, nil, i+1
		_ = json.Unmarshal(elem, &inner.fields) // other elements have none
		line, err := inner.text(l.line.in(s.lang))
		if err != nil {
			return "", false, fmt.Errorf("lists: %s: %w", l.name, err)
		}
		b.WriteString(line)
		if b.Len() > maxText {
			return "", false, fmt.Errorf("lists: %s: over %d bytes", l.name, maxText)
		}
	}
	return b.String(), true, nil
}

// list is a way to write a list.
type list struct {
	name   string
	each   ref
	line   texts
	join   string
	empty  texts // nil: nothing
	labels map[string]string
}
