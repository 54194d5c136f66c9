package render

import (
	"html"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// inlines writes what stands within n.
func (l *layout) inlines(n ast.Node) { l.siblings(n.FirstChild(), nil) }

// siblings writes c and what follows it, up to end.
func (l *layout) siblings(c, end ast.Node) {
	for ; c != nil && c != end; c = c.NextSibling() {
		if raw, ok := c.(*ast.RawHTML); ok {
			c = l.html(raw, end)
			continue
		}
		l.inline(c)
	}
}

func (l *layout) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		l.write(unescape(string(n.Segment.Value(l.source))))
		if n.SoftLineBreak() || n.HardLineBreak() {
			l.write("\n")
		}
	case *ast.String:
		l.write(string(n.Value))
	case *ast.CodeSpan:
		l.codeSpan(span(n, l.source))
	case *ast.Emphasis:
		k := italic
		if n.Level > 1 {
			k = bold
		}
		l.styled(n, &style{kind: k})
	case *extast.Strikethrough:
		l.styled(n, &style{kind: strike})
	case *ast.Link:
		l.link(n, string(n.Destination))
	case *ast.Image:
		l.link(n, string(n.Destination))
	case *ast.AutoLink:
		l.write(string(n.Label(l.source)))
	default:
		l.inlines(n)
	}
}

func (l *layout) styled(n ast.Node, st *style) {
	closeIt := l.open(st)
	l.inlines(n)
	closeIt()
}

// codeSpan writes code within a line; white space round it isn't part of it.
func (l *layout) codeSpan(text string) {
	inner := strings.TrimSpace(text)
	before, after, _ := strings.Cut(text, inner)
	if inner == "" {
		before, after = text, ""
	}
	l.write(before)
	closeIt := l.open(&style{kind: code})
	l.write(inner)
	closeIt()
	l.write(after)
}

// span is the text of code within a line.
func span(n *ast.CodeSpan, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(source))
		}
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}

// html writes a tag: a line break, one of those for styles together with what
// is within it, or else as it was written. It returns the last node written.
func (l *layout) html(n *ast.RawHTML, end ast.Node) ast.Node {
	tag := string(n.Segments.Value(l.source))
	name := strings.ToLower(strings.Trim(tag, "<> /"))
	if name == "br" {
		l.write("\n")
		return n
	}
	k, known := tagKind(name)
	if !known || strings.HasPrefix(tag, "</") {
		l.write(tag)
		return n
	}
	far := 0
	for c := n.NextSibling(); c != nil && c != end && far < maxTagged; c = c.NextSibling() {
		far++
		raw, ok := c.(*ast.RawHTML)
		if !ok || !strings.EqualFold(string(raw.Segments.Value(l.source)), "</"+name+">") {
			continue
		}
		closeIt := l.open(&style{kind: k})
		l.siblings(n.NextSibling(), c)
		closeIt()
		return c
	}
	l.write(tag)
	return n
}

// maxTagged bounds how far the end of a tag is looked for.
const maxTagged = 100

func tagKind(name string) (kind, bool) {
	switch name {
	case "b", "strong":
		return bold, true
	case "i", "em":
		return italic, true
	case "u", "ins":
		return underline, true
	case "s", "del", "strike":
		return strike, true
	default:
		return 0, false
	}
}

// unescape resolves the backslashes and the character references of Markdown.
func unescape(text string) string {
	if !strings.ContainsAny(text, `\&`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && asciiPunct(text[i+1]):
			i++
			b.WriteByte(text[i])
		case c == '&':
			ref := reference(text[i:])
			if ref == "" {
				b.WriteByte(c)
				continue
			}
			b.WriteString(strings.Map(printable, html.UnescapeString(ref)))
			i += len(ref) - 1
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// reference is the character reference that text begins with, or "".
func reference(text string) string {
	end := strings.IndexByte(text[:min(len(text), 40)], ';')
	if end < 2 {
		return ""
	}
	for i, c := range text[1:end] {
		if !alnum(c) && (c != '#' || i > 0) {
			return ""
		}
	}
	return text[:end+1]
}

// printable turns a character that clean would take out into a space.
func printable(r rune) rune {
	if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
		return ' '
	}
	return r
}

func asciiPunct(c byte) bool {
	return c > ' ' && c < 127 && !alnum(rune(c))
}

func alnum(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
