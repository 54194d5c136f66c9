package render

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// rule is a line across.
const rule = "———"

// layout lays a parsed text out for a dialect.
type layout struct {
	builder
	source []byte
	traits traits
	lists  int // how many lists this is within
}

// lay reads text as Markdown. Where it turns out to have none it stays as it
// was written.
func lay(text string, t traits) *sheet {
	l := &layout{source: []byte(text), traits: t}
	l.blocks(parse(l.source))
	s := l.done()
	if !s.styled(0, len(s.text), t.anyMark) && sameWords(s.text, text) {
		return &sheet{text: text}
	}
	return s
}

// sameWords tells that a and b differ in nothing but white space.
func sameWords(a, b string) bool {
	next := func(s string) (word, rest string) {
		s = strings.TrimLeft(s, " \t\n")
		if i := strings.IndexAny(s, " \t\n"); i >= 0 {
			return s[:i], s[i:]
		}
		return s, ""
	}
	for a != "" || b != "" {
		var x, y string
		x, a = next(a)
		y, b = next(b)
		if x != y {
			return false
		}
	}
	return true
}

// blocks writes the children of n, apart as they were written.
func (l *layout) blocks(n ast.Node) {
	written := false
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if written {
			if l.apart(c) || isTable(c) || isTable(c.PreviousSibling()) {
				l.write("\n")
			}
			l.write("\n")
		}
		before := l.text.Len()
		l.block(c)
		written = written || l.text.Len() > before
	}
}

// apart tells whether there was an empty line before n. What follows a block of
// code is always said to be, so there the source is looked at.
func (l *layout) apart(n ast.Node) bool {
	if _, ok := n.PreviousSibling().(*ast.FencedCodeBlock); ok && n.Lines().Len() > 0 {
		before := string(l.source[:n.Lines().At(0).Start])
		before = before[:strings.LastIndexByte(before, '\n')+1]
		before = strings.TrimSuffix(before, "\n")
		return strings.Trim(before[strings.LastIndexByte(before, '\n')+1:], " \t>") == ""
	}
	return n.HasBlankPreviousLines()
}

func isTable(n ast.Node) bool {
	_, ok := n.(*extast.Table)
	return ok
}

func (l *layout) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		l.heading(n)
	case *ast.Blockquote:
		closeIt := l.open(&style{kind: quote})
		l.blocks(n)
		closeIt()
	case *ast.List:
		l.list(n)
	case *ast.CodeBlock:
		l.code("", lines(n, l.source))
	case *ast.FencedCodeBlock:
		l.code(string(n.Language(l.source)), lines(n, l.source))
	case *ast.ThematicBreak:
		l.write(rule)
	case *extast.Table:
		l.table(n)
	default: // paragraphs, the text of tight list items
		l.inlines(n)
	}
}

func (l *layout) heading(n *ast.Heading) {
	st := &style{kind: bold}
	if l.traits.headings && n.Level <= 3 && l.lists == 0 {
		st = &style{kind: heading, level: n.Level}
	}
	start := l.text.Len()
	closeIt := l.open(st)
	l.inlines(n)
	closeIt()
	if l.text.Len() > start {
		l.sheet.held = append(l.sheet.held, l.text.Len())
	}
}

func (l *layout) list(n *ast.List) {
	l.lists++
	defer func() { l.lists-- }()
	number := n.Start
	written := false
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		if written {
			if l.apart(item) {
				l.write("\n")
			}
			l.write("\n")
		}
		written = true
		mark := l.traits.bullet
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + l.delimiter(n.Marker)
			number++
		}
		start := l.text.Len()
		closeIt := l.open(&style{kind: marker})
		l.write(mark + " ")
		closeIt()
		// The mark stays with what it marks.
		l.sheet.whole = append(l.sheet.whole, [2]int{start, l.text.Len() + 1})
		outer := l.indent
		l.indent += strings.Repeat(" ", len([]rune(mark))+1)
		l.blocks(item)
		l.indent = outer
	}
}

func (l *layout) delimiter(marker byte) string {
	if l.traits.dots {
		return "."
	}
	return string(marker)
}

// code writes a block of code, in lines of its own and not indented.
func (l *layout) code(lang, content string) {
	content = strings.TrimRight(content, " \t\n")
	for {
		line, rest, ok := strings.Cut(content, "\n")
		if !ok || strings.TrimSpace(line) != "" {
			break
		}
		content = rest
	}
	if blank(content) {
		return
	}
	if l.text.Len() > 0 && !l.fresh {
		l.write("\n")
	}
	outer := l.indent
	l.indent = ""
	closeIt := l.open(&style{kind: pre, lang: language(lang)})
	l.write(content)
	closeIt()
	l.indent = outer
}

// language is lang if it can be said in every dialect.
func language(lang string) string {
	if len(lang) > 20 {
		return ""
	}
	for _, r := range lang {
		if !alnum(r) && !strings.ContainsRune("+-#._", r) || r > 127 {
			return ""
		}
	}
	return lang
}

// lines is the text of a block of code.
func lines(n ast.Node, source []byte) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(source))
	}
	return b.String()
}
