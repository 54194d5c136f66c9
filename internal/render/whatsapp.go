package render

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// whatsapp is WhatsApp's formatting: *bold* _italic_ ~strike~ `code`, three
// backticks round a block of code, "> " and "- " at the start of a line. There
// is no escape: a mark that stands for itself gets spaces without width beside
// it where it could be taken for one. Marks count at the edge of a word only,
// so a style that begins or ends within a word, or with such a character, is
// left out.
type whatsapp struct{}

func (whatsapp) traits() traits {
	return traits{bullet: "-", grids: true, dots: true, perLine: true}
}

func (whatsapp) begin(w *writer, path []*style) {
	if has(path, quote) != nil {
		w.raw("> ")
	}
}

func (whatsapp) open(w *writer, s *style) {
	m := whatsappMark(s.kind)
	first, last := w.ends(s)
	if m == "" || alnum(w.before()) || alnum(w.after(s)) || !markable(first) || !markable(last) {
		w.leaveOut(s)
		return
	}
	w.mark(m)
}

func (whatsapp) close(w *writer, s *style) { w.mark(whatsappMark(s.kind)) }

// markable tells whether a mark counts beside r within its style.
func markable(r rune) bool { return visible(r) && !strings.ContainsRune(whatsappMarks, r) }

const whatsappMarks = "*_~`"

func whatsappMark(k kind) string {
	switch k {
	case bold:
		return "*"
	case italic:
		return "_"
	case strike:
		return "~"
	default:
		return ""
	}
}

func (d whatsapp) leaf(w *writer, s *style, text string) {
	switch {
	case s.kind == marker:
		w.raw(text)
	case s.kind == pre:
		w.raw("```\n" + unfenced(text) + "\n```")
	case strings.Contains(text, "`") || strings.TrimFunc(text, unicode.IsSpace) != text || alnum(w.before()) || alnum(w.after(s)):
		d.text(w, text)
	default:
		w.mark("`")
		w.raw(text)
		w.mark("`")
	}
}

func (whatsapp) text(w *writer, text string) {
	from, start := 0, w.edge
	for _, a := range w.addresses() {
		shield(w, text, from, a[0], start)
		w.raw(text[a[0]:a[1]])
		from, start = a[1], false
	}
	shield(w, text, from, len(text), start)
}

// shield writes text[from:to] with what could be a mark between spaces without
// width.
func shield(w *writer, text string, from, to int, lineStart bool) {
	block := lineStart && from < to && beginsBlock(text[from:to])
	if block && text[from] != '*' {
		w.raw(thin)
	}
	last := from
	for i := from; i < to; i++ {
		if strings.IndexByte(whatsappMarks, text[i]) < 0 {
			continue
		}
		before, after := w.edges()
		if i > 0 {
			before, _ = utf8.DecodeLastRuneInString(text[:i])
		}
		if i+1 < len(text) {
			after, _ = utf8.DecodeRuneInString(text[i+1:])
		}
		opens := !alnum(before) && !unicode.IsSpace(after)
		closes := !unicode.IsSpace(before) && !alnum(after)
		if opens || closes || block && i == from {
			w.raw(text[last:i] + thin + text[i:i+1] + thin)
			last = i + 1
		}
	}
	w.raw(text[last:to])
}

// edges are the characters that text is written between, marks of styles
// included; a space at the ends of the line.
func (w *writer) edges() (before, after rune) {
	before, after = ' ', ' '
	switch r := w.before(); {
	case w.last != 0:
		before = rune(w.last)
	case r != 0:
		before = r
	}
	if w.i+1 == len(w.toks) || !samePath(w.toks[w.i].path, w.toks[w.i+1].path) && !w.toks[w.i+1].gap {
		if len(w.stack) > 0 || w.i+1 < len(w.toks) {
			after = '*'
		}
		return before, after
	}
	next := w.toks[w.i+1]
	if after, _ = utf8.DecodeRuneInString(next.text); len(w.stack) > common(w.stack, next.path) {
		after = '*'
	}
	return before, after
}

// beginsBlock tells a line that would be read as a quote or a list.
func beginsBlock(line string) bool {
	if strings.IndexByte(">-*", line[0]) >= 0 {
		return true
	}
	rest := strings.TrimLeft(line, "0123456789")
	return len(rest) < len(line) && strings.HasPrefix(rest, ".")
}
