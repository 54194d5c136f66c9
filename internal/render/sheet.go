package render

import (
	"slices"
	"strings"
	"unicode"
)

// kind is what a style does to the text below it.
type kind uint8

const (
	quote   kind = iota // of lines
	heading             // of lines, where the dialect has headings
	pre                 // a block of code
	marker              // a list's bullet or number
	code                // code within a line
	link                // text that leads to style.url
	bold
	italic
	underline
	strike
)

// style is one stretch of styled text. Its identity matters: two stretches
// side by side are two styles.
type style struct {
	kind  kind
	url   string // of a link
	lang  string // of a block of code, or ""
	level int    // of a heading, 1 to 3
	end   int    // offset of the end of what is seen of it
}

// ofLines tells the styles that are said at the start of each line.
func (s *style) ofLines() bool { return s.kind == quote || s.kind == heading }

// leaf tells the styles whose text has no further styles.
func (s *style) leaf() bool { return s.kind == pre || s.kind == marker || s.kind == code }

// run is a stretch of the text whose styles are the same, outermost first.
type run struct {
	start, end int
	path       []*style
}

// sheet is a text as it will be seen, with the styles on it. Text that no run
// covers has none.
type sheet struct {
	text string
	runs []run
	// whole are byte offsets of what shouldn't be cut.
	whole [][2]int
	// held are offsets of line ends that shouldn't be cut at: below a heading.
	held []int
	// addrs are the addresses in text, once they are asked for.
	addrs [][]int
}

// addresses are where the text has addresses.
func (s *sheet) addresses() [][]int {
	if s.addrs == nil {
		s.addrs = append([][]int{}, addresses(s.text)...)
	}
	return s.addrs
}

// builder writes a sheet.
type builder struct {
	text  strings.Builder
	sheet sheet
	path  []*style
	// indent stands before each further line.
	indent string
	fresh  bool // at the start of a line, before its indentation
}

// open puts st on what is written until the function returned is called. What
// can't be within the present styles changes nothing.
func (b *builder) open(st *style) (closeIt func()) {
	outer := b.path
	b.path = join(outer, st)
	start := b.text.Len()
	return func() {
		st.end = start + len(strings.TrimRightFunc(b.text.String()[start:], unicode.IsSpace))
		if !st.ofLines() && st.end > start {
			b.sheet.whole = append(b.sheet.whole, [2]int{start, st.end})
		}
		b.path = outer
	}
}

// join is path with st in it, as platforms allow it: no style within itself,
// code without further styles, a link without code.
func join(path []*style, st *style) []*style {
	switch st.kind {
	case pre:
		return []*style{st}
	case code, marker:
		kept := make([]*style, 0, len(path)+1)
		for _, s := range path {
			if s.leaf() || s.kind == link {
				return path
			}
			if s.ofLines() {
				kept = append(kept, s)
			}
		}
		return append(kept, st)
	default:
		for _, s := range path {
			if s.kind == st.kind || s.leaf() {
				return path
			}
		}
		return append(slices.Clip(path), st)
	}
}

// write appends text, with the indentation below line ends.
func (b *builder) write(text string) {
	for text != "" {
		line := text
		if i := strings.IndexByte(text, '\n'); i == 0 {
			b.put("\n")
			b.fresh, text = true, text[1:]
			continue
		} else if i > 0 {
			line = text[:i]
		}
		if b.fresh && b.indent != "" {
			path := b.path
			b.path = linesOnly(path)
			b.put(b.indent)
			b.path = path
		}
		b.fresh = false
		b.put(line)
		text = text[len(line):]
	}
}

// put appends text under the present styles.
func (b *builder) put(text string) {
	start := b.text.Len()
	b.text.WriteString(text)
	if len(b.path) == 0 || text == "" {
		return
	}
	if n := len(b.sheet.runs); n > 0 {
		if r := &b.sheet.runs[n-1]; r.end == start && samePath(r.path, b.path) {
			r.end = b.text.Len()
			return
		}
	}
	b.sheet.runs = append(b.sheet.runs, run{start, b.text.Len(), b.path})
}

func (b *builder) done() *sheet {
	b.sheet.text = b.text.String()
	return &b.sheet
}

func samePath(a, b []*style) bool { return len(a) == len(b) && common(a, b) == len(a) }

// common is how many styles a and b begin with alike.
func common(a, b []*style) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// linesOnly are the styles of lines in path.
func linesOnly(path []*style) []*style {
	n := 0
	for n < len(path) && path[n].ofLines() {
		n++
	}
	return path[:n:n]
}

// has is the style of that kind in path, or nil.
func has(path []*style, k kind) *style {
	for _, s := range path {
		if s.kind == k {
			return s
		}
	}
	return nil
}
