package telegramtest

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// htmlText is the text of Telegram's HTML
// (https://core.telegram.org/bots/api#html-style), or why it can't be parsed.
func htmlText(s string) (string, error) {
	tags := []string{
		"b", "strong", "i", "em", "u", "ins", "s", "strike", "del", "span", "tg-spoiler", "tg-emoji", "a", "code", "pre", "blockquote",
	}
	var out strings.Builder
	var open []string
	for i := 0; i < len(s); {
		switch s[i] {
		case '&':
			text, n := entityAt(s[i:])
			out.WriteString(text)
			i += n
		case '<':
			end := strings.IndexByte(s[i:], '>')
			if end < 0 {
				return "", fmt.Errorf("can't parse entities: Unclosed start tag at byte offset %d", i)
			}
			inner := s[i+1 : i+end]
			if name, closing := strings.CutPrefix(inner, "/"); closing {
				name = strings.ToLower(strings.TrimSpace(name))
				if len(open) == 0 {
					return "", fmt.Errorf("can't parse entities: Unexpected end tag at byte offset %d", i)
				}
				if last := open[len(open)-1]; last != name {
					return "", fmt.Errorf("can't parse entities: Unmatched end tag at byte offset %d, expected \"</%s>\", found \"</%s>\"", i, last, name)
				}
				open = open[:len(open)-1]
			} else {
				name, _, _ := strings.Cut(inner, " ")
				name = strings.ToLower(name)
				if !slices.Contains(tags, name) {
					return "", fmt.Errorf("can't parse entities: Unsupported start tag \"%s\" at byte offset %d", name, i)
				}
				open = append(open, name)
			}
			i += end + 1
		default:
			out.WriteByte(s[i])
			i++
		}
	}
	if len(open) > 0 {
		return "", fmt.Errorf("can't parse entities: Can't find end tag corresponding to start tag \"%s\"", open[len(open)-1])
	}
	return out.String(), nil
}

// entityAt reads an entity; what is none stays as it is. Named ones are only
// these four.
func entityAt(s string) (text string, length int) {
	end := strings.IndexByte(s, ';')
	if end < 0 || end > 10 {
		return "&", 1
	}
	name := s[1:end]
	if !slices.Contains([]string{"lt", "gt", "amp", "quot"}, name) && !strings.HasPrefix(name, "#") {
		return "&", 1
	}
	return html.UnescapeString(s[:end+1]), end + 1
}
