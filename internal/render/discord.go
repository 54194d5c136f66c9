package render

import (
	"slices"
	"strings"
)

// discord is Discord's Markdown: a backslash escapes, a block of code ends at
// the next three backticks whatever it was opened with, tables are unknown.
type discord struct{}

func (discord) traits() traits {
	return traits{bullet: "-", headings: true, links: true, maxURL: 400, grids: true, dots: true, perLine: true}
}

func (discord) begin(w *writer, path []*style) {
	if has(path, quote) != nil {
		w.raw("> ")
	}
	if s := has(path, heading); s != nil && !w.toks[w.i].gap {
		w.raw(strings.Repeat("#", s.level) + " ")
	}
}

func (discord) open(w *writer, s *style) {
	switch s.kind {
	case link:
		w.mark("[")
	case italic:
		// Underscores aren't marks within a word; stars run into those of
		// bold text.
		s.level = 0
		if alnum(w.before()) || w.before() == '_' || alnum(w.after(s)) || w.after(s) == '_' {
			s.level = 1
		}
		w.mark(discordMark(s))
	default:
		w.mark(discordMark(s))
	}
}

func (discord) close(w *writer, s *style) {
	if s.kind == link {
		w.raw("](" + strings.NewReplacer("(", "%28", ")", "%29").Replace(s.url) + ")")
		return
	}
	w.mark(discordMark(s))
}

func discordMark(s *style) string {
	switch {
	case s.kind == italic && s.level == 0:
		return "_"
	case s.kind == italic:
		return "*"
	case s.kind == underline:
		return "__"
	case s.kind == strike:
		return "~~"
	default:
		return "**"
	}
}

func (discord) leaf(w *writer, s *style, text string) {
	switch s.kind {
	case marker:
		w.raw(text)
	case pre:
		w.raw("```" + s.lang + "\n" + unfenced(text) + "\n```")
	default:
		// Three of them would begin a block.
		for strings.Contains(text, "``") {
			text = strings.ReplaceAll(text, "``", "`"+thin+"`")
		}
		fence := "`"
		if strings.Contains(text, "`") {
			fence = "``"
		}
		if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
			text = " " + text + " "
		}
		w.mark(fence)
		w.raw(text)
		w.mark(fence)
	}
}

// unfenced breaks what would end a block of code.
func unfenced(text string) string {
	for strings.Contains(text, "```") {
		text = strings.ReplaceAll(text, "```", "``"+thin+"`")
	}
	if strings.HasSuffix(text, "`") {
		text += thin
	}
	return text
}

func (discord) text(w *writer, text string) {
	from := 0
	for _, a := range w.addresses() {
		escapeDiscord(w, text[from:a[0]], from == 0 && w.edge)
		w.raw(text[a[0]:a[1]])
		from = a[1]
	}
	escapeDiscord(w, text[from:], from == 0 && w.edge)
}

// escapeDiscord puts a backslash before what would be markup; edge where text
// begins a line.
func escapeDiscord(w *writer, text string, edge bool) {
	special := "\\*_~`|<["
	if slices.ContainsFunc(w.stack, func(s *style) bool { return s.kind == link }) {
		special += "]"
	}
	from, digits := 0, edge
	for i := range len(text) {
		c := text[i]
		isMark := strings.IndexByte(special, c) >= 0
		if edge {
			isMark = isMark || i == 0 && strings.IndexByte("#>-+", c) >= 0 || i > 0 && digits && c == '.'
			digits = digits && c >= '0' && c <= '9'
		}
		if isMark {
			w.raw(text[from:i])
			w.raw("\\")
			from = i
		}
	}
	w.raw(text[from:])
}
