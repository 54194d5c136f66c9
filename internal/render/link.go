package render

import (
	"regexp"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
)

// maxURL bounds an address that is hidden behind a text.
const maxURL = 1000

// link writes a link or an image. Where the dialect can't hide an address
// behind a text, or shouldn't, both are shown: "text (address)".
func (l *layout) link(n ast.Node, destination string) {
	url := address(unescape(destination))
	start := l.text.Len()
	inner := &layout{source: l.source, traits: l.traits}
	inner.inlines(n)
	label := strings.TrimSpace(inner.text.String())
	switch {
	case blank(label):
		l.write(url)
	case url == "":
		l.inlines(n)
	case bareURL(label) == bareURL(url) && webURL(url):
		l.write(url)
	case label == url:
		l.inlines(n)
	case !l.traits.links || !webURL(url) || len(url) > l.traits.maxURL || looksLikeURL(label) || has(l.path, link) != nil:
		l.inlines(n)
		l.write(" (" + url + ")")
	default:
		l.styled(n, &style{kind: link, url: url})
		return
	}
	l.sheet.whole = append(l.sheet.whole, [2]int{start, l.text.Len()})
}

// address is a link's destination as it may be shown; "" where it leads
// nowhere outside of the text.
func address(destination string) string {
	destination = strings.TrimSpace(destination)
	if destination == "" || destination[0] == '#' {
		return ""
	}
	var b strings.Builder
	for _, r := range destination {
		switch {
		case r == ' ':
			b.WriteString("%20")
		case r == '"':
			b.WriteString("%22")
		case r == '<':
			b.WriteString("%3C")
		case r == '>':
			b.WriteString("%3E")
		case r == '`':
			b.WriteString("%60")
		case r == '\\':
			b.WriteString("%5C")
		case visible(r):
			b.WriteRune(r)
		}
	}
	url := b.String()
	if rest, ok := strings.CutPrefix(url, "mailto:"); ok {
		return rest
	}
	return strings.TrimPrefix(url, "tel:")
}

func webURL(url string) bool {
	scheme, rest, ok := strings.Cut(url, "://")
	return ok && rest != "" && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// bareURL is url without what people leave out.
func bareURL(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(url), "www."), "/")
}

// looksLikeURL tells a text that a reader takes for the address itself: behind
// it no other must be hidden.
func looksLikeURL(label string) bool {
	label = strings.ToLower(label)
	if strings.Contains(label, "://") || strings.HasPrefix(label, "www.") || strings.Contains(label, "@") {
		return true
	}
	host, _, _ := strings.Cut(label, "/")
	_, top, ok := cutLast(host, ".")
	return ok && !strings.ContainsAny(host, " \n") && len(top) >= 2 && strings.IndexFunc(top, func(r rune) bool { return r < 'a' || r > 'z' }) < 0
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// addresses finds the addresses in text: byte offsets, in order.
func addresses(text string) [][]int {
	if !strings.Contains(text, "://") && !strings.Contains(text, "www.") && !strings.Contains(text, "mailto:") {
		return nil
	}
	return addressPattern().FindAllStringIndex(text, -1)
}

//nolint:gochecknoglobals // compiled once, never changed
var addressPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:[a-z][a-z0-9+.-]{1,15}://|www\.|mailto:)[^\s<>"` + "`" + `\p{Han}\p{Hiragana}\p{Katakana}、。，！？）」】]+`)
})
