package render

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a stretch of a piece that is written under one set of styles: a
// line's end, white space, or the rest.
type token struct {
	text string
	path []*style
	end  int  // offset in the sheet of its last byte and one
	line bool // a line's end
	gap  bool // white space
}

// tokens takes the sheet apart from start to end. Styles begin and end at what
// is seen, not at white space; where perLine is true they also end with the
// line.
func (s *sheet) tokens(start, end int, perLine bool) []token {
	var toks []token
	at := start
	add := func(to int, path []*style) {
		if to > at {
			toks = split(toks, s.text[at:to], at, path)
			at = to
		}
	}
	for _, r := range s.runs {
		if r.end <= at {
			continue
		}
		if r.start >= end {
			break
		}
		add(min(r.start, end), nil)
		add(min(r.end, end), r.path)
	}
	add(end, nil)
	return settle(toks, perLine)
}

// split appends text as tokens.
func split(toks []token, text string, at int, path []*style) []token {
	if n := len(path); n > 0 && path[n-1].leaf() {
		return append(toks, token{text: text, path: path, end: at + len(text)})
	}
	for text != "" {
		var size int
		t := token{path: path}
		switch r, n := utf8.DecodeRuneInString(text); {
		case r == '\n':
			size, t.line, t.gap = 1, true, true
		case unicode.IsSpace(r):
			size, t.gap = spaces(text), true
		default:
			size = n + words(text[n:])
		}
		t.text = text[:size]
		at += size
		t.end = at
		toks = append(toks, t)
		text = text[size:]
	}
	return toks
}

// spaces is how many bytes of white space text begins with, up to the line's
// end.
func spaces(text string) int {
	for i, r := range text {
		if r == '\n' || !unicode.IsSpace(r) {
			return i
		}
	}
	return len(text)
}

// words is where the white space at the end of text's first line begins.
func words(text string) int {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return len(strings.TrimRightFunc(text, unicode.IsSpace))
}

// settle gives white space the styles that go on over it.
func settle(toks []token, perLine bool) []token {
	next := make([]int, len(toks)) // the next that isn't white space, or -1
	after := -1
	for i := len(toks) - 1; i >= 0; i-- {
		next[i] = after
		switch {
		case toks[i].line && perLine:
			after = -1
		case !toks[i].gap:
			after = i
		}
	}
	before := -1
	for i := range toks {
		t := &toks[i]
		switch {
		case t.line && perLine:
			t.path = linesOnly(t.path)
			before = -1
		case t.gap && (before < 0 || next[i] < 0):
			t.path = linesOnly(t.path)
		case t.gap:
			a, b := toks[before].path, toks[next[i]].path
			t.path = a[:common(a, b)]
			if n := len(t.path); n > 0 && t.path[n-1].leaf() {
				t.path = t.path[:n-1]
			}
		default:
			before = i
		}
	}
	return toks
}
