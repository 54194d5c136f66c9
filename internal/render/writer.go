package render

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// traits are what the layout must know of a dialect.
type traits struct {
	bullet   string
	headings bool // it has headings; elsewhere they are bold
	links    bool // it hides addresses behind texts
	maxURL   int
	grids    bool // it has blocks of code, in which tables are aligned
	dots     bool // it knows numbers with a dot only
	perLine  bool // styles end with the line
	// anyMark: text without styles is sent as plain text, in which a list may
	// be marked as it was written.
	anyMark bool
}

// dialect writes sheets in one platform's markup.
type dialect interface {
	traits() traits
	// begin writes what stands at the start of a line.
	begin(w *writer, path []*style)
	open(w *writer, s *style)
	close(w *writer, s *style)
	// leaf writes a block of code, a list's mark or code within a line.
	leaf(w *writer, s *style, text string)
	// text writes text so that nothing in it is taken for markup.
	text(w *writer, text string)
}

// writer writes one piece of a sheet.
type writer struct {
	d     dialect
	s     *sheet
	toks  []token
	i     int // the token at hand
	done  int // offset in the sheet up to which it was written
	out   strings.Builder
	stack []*style
	// start is true at the start of a line; edge also behind its indentation
	// and a list's mark, where a mark of lines counts as well.
	start, edge bool
	// last is the byte that the last mark of a style ended in, where nothing
	// was written since; else 0.
	last  byte
	opens int
	shut  []*style // styles that are left out for now
}

// write is the piece from start to end in the dialect, and how many marks it
// opened.
func write(d dialect, s *sheet, start, end int) (text string, opens int) {
	w := &writer{d: d, s: s, toks: s.tokens(start, end, d.traits().perLine), start: true, edge: true}
	w.out.Grow(end - start + (end-start)/8)
	for w.i = range w.toks {
		w.token(&w.toks[w.i])
	}
	w.unwind(0)
	return w.out.String(), w.opens
}

func (w *writer) token(t *token) {
	path := t.path
	perLine := w.d.traits().perLine
	if perLine {
		path = path[len(linesOnly(path)):]
	}
	var leaf *style
	if n := len(path); n > 0 && path[n-1].leaf() {
		leaf, path = path[n-1], path[:n-1]
	}
	w.unwind(common(w.stack, path))
	if perLine && w.start {
		w.d.begin(w, t.path)
	}
	for _, s := range path[len(w.stack):] {
		w.stack = append(w.stack, s)
		w.opens++
		w.d.open(w, s)
	}
	switch {
	case t.line:
		w.raw("\n")
	case leaf != nil:
		w.opens++
		w.d.leaf(w, leaf, t.text)
	default:
		w.d.text(w, t.text)
	}
	w.start, w.done = t.line, t.end
	w.edge = t.line || w.edge && (t.gap || leaf != nil && leaf.kind == marker)
}

// unwind closes all but the first n styles.
func (w *writer) unwind(n int) {
	for len(w.stack) > n {
		s := w.stack[len(w.stack)-1]
		w.stack = w.stack[:len(w.stack)-1]
		if i := slices.Index(w.shut, s); i >= 0 {
			w.shut = slices.Delete(w.shut, i, i+1)
			continue
		}
		w.d.close(w, s)
	}
}

// leaveOut is for open: the style gets no marks this time.
func (w *writer) leaveOut(s *style) { w.shut = append(w.shut, s) }

// raw writes text as it is.
func (w *writer) raw(text string) {
	if text != "" {
		w.out.WriteString(text)
		w.last = 0
	}
}

// mark writes what opens or closes a style. Two that would run into each other
// are kept apart by a space without width.
func (w *writer) mark(m string) {
	if w.last == m[0] {
		w.out.WriteString(thin)
	}
	w.out.WriteString(m)
	w.last = m[len(m)-1]
}

// ends are the first and the last character of the stretch of s that begins
// here.
func (w *writer) ends(s *style) (first, last rune) {
	first, _ = utf8.DecodeRuneInString(w.toks[w.i].text)
	for i := w.i; i < len(w.toks) && slices.Contains(w.toks[i].path, s); i++ {
		last, _ = utf8.DecodeLastRuneInString(w.toks[i].text)
	}
	return first, last
}

// addresses are those that lie within the token at hand, by offsets in it.
func (w *writer) addresses() (found [][2]int) {
	t := &w.toks[w.i]
	start := t.end - len(t.text)
	for _, a := range w.s.addresses() {
		if a[0] >= start && a[1] <= t.end {
			found = append(found, [2]int{a[0] - start, a[1] - start})
		}
	}
	return found
}

// thin is a space that isn't seen.
const thin = "\u200b"

// before is the last character that was seen before this token in its line,
// 0 at its start.
func (w *writer) before() rune {
	if w.i == 0 || w.toks[w.i-1].line {
		return 0
	}
	r, _ := utf8.DecodeLastRuneInString(w.toks[w.i-1].text)
	return r
}

// after is the first character behind the stretch of s that begins here, 0 at
// the end of the line.
func (w *writer) after(s *style) rune {
	for i := w.i; i < len(w.toks); i++ {
		if slices.Contains(w.toks[i].path, s) {
			continue
		}
		if w.toks[i].line {
			return 0
		}
		r, _ := utf8.DecodeRuneInString(w.toks[i].text)
		return r
	}
	return 0
}
