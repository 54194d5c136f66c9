package render

import (
	"strings"
	"unicode"
)

// clean makes text fit to be sent: UTF-8, "\n" between lines, no control
// characters but tabs, no white space around it but for the indentation of
// the first line.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.IsControl(r) && r != '\n' && r != '\t':
			return -1
		default:
			return r
		}
	}, text)
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	start := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsSpace(r) })
	if start < 0 || blank(text) {
		return ""
	}
	return text[strings.LastIndexByte(text[:start], '\n')+1:]
}

// blank tells whether nothing of text would be seen: platforms refuse such a
// message.
func blank(text string) bool {
	return strings.IndexFunc(text, visible) < 0
}

func visible(r rune) bool {
	switch {
	case unicode.IsSpace(r) || unicode.IsControl(r):
		return false
	case unicode.Is(unicode.Cf, r):
		return unicode.Is(unicode.Prepended_Concatenation_Mark, r)
	case unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return false
	case r == '\u2800': // a braille cell without dots
		return false
	default:
		return true
	}
}
