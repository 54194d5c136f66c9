package render

import "strings"

// telegram is the subset of HTML that Telegram's Bot API takes ("HTML style").
// Code stands in no other style there, and blockquotes don't nest; it counts
// the text without tags. Without parse_mode nothing is markup, so text without
// styles is sent as plain text.
type telegram struct{}

func (telegram) traits() traits {
	return traits{bullet: "•", links: true, maxURL: maxURL, grids: true, anyMark: true}
}

func (telegram) begin(*writer, []*style) {}

func (telegram) open(w *writer, s *style) {
	if s.kind == link {
		w.raw(`<a href="` + escapeHTML(s.url) + `">`)
		return
	}
	w.raw("<" + tag(s.kind) + ">")
}

func (telegram) close(w *writer, s *style) { w.raw("</" + tag(s.kind) + ">") }

func (telegram) leaf(w *writer, s *style, text string) {
	text = escapeHTML(text)
	switch {
	case s.kind == marker:
		w.raw(text)
	case s.kind == code:
		w.raw("<code>" + text + "</code>")
	case s.lang != "":
		w.raw(`<pre><code class="language-` + s.lang + `">` + text + "</code></pre>")
	default:
		w.raw("<pre>" + text + "</pre>")
	}
}

func (telegram) text(w *writer, text string) { w.raw(escapeHTML(text)) }

func tag(k kind) string {
	switch k {
	case quote:
		return "blockquote"
	case link:
		return "a"
	case italic:
		return "i"
	case underline:
		return "u"
	case strike:
		return "s"
	default:
		return "b"
	}
}

func escapeHTML(text string) string {
	if !strings.ContainsAny(text, `&<>"`) {
		return text
	}
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(text)
}
