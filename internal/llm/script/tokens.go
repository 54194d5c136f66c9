package script

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word, a number in digits, or a mark that parts one thing from the
// next. Other marks are left out.
type token struct {
	text   string // of a number its JSON
	number bool
	parts  bool
}

// tokenize cuts a folded text.
func tokenize(s string) []token {
	var out []token
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case isDigit(s, i):
			text, n := digits(s[i:])
			if i > 0 && s[i-1] == '-' && (i == 1 || s[i-2] == ' ') {
				text = "-" + text
			}
			out = append(out, token{text: text, number: true})
			i += n
		case unicode.IsLetter(r):
			end := i + size
			for end < len(s) {
				next, n := utf8.DecodeRuneInString(s[end:])
				if !unicode.IsLetter(next) && next != '_' {
					break
				}
				end += n
			}
			word := s[i:end]
			out = append(out, token{text: word, parts: word == "and" || word == "y" || word == "e"})
			i = end
		default:
			if strings.ContainsRune(",;.!?\n+&", r) {
				out = append(out, token{parts: true})
			}
			i += size
		}
	}
	return out
}

func isDigit(s string, i int) bool { return i < len(s) && s[i] >= '0' && s[i] <= '9' }

// digits reads a number as JSON: a point and digits are a fraction, so are a
// comma and one or two digits; a comma and three are thousands.
func digits(s string) (text string, n int) {
	run := func(from int) int {
		for isDigit(s, from) {
			from++
		}
		return from
	}
	n = run(0)
	text = strings.TrimLeft(s[:n-1], "0") + s[n-1:n]
	for n < len(s) && isDigit(s, n+1) {
		end := run(n + 1)
		switch width := end - n - 1; {
		case s[n] == ',' && width == 3:
			text = strings.TrimLeft(text, "0") + s[n+1:end]
			if n = end; strings.HasPrefix(text, "0") {
				text = "0"
			}
			continue
		case s[n] == '.' || s[n] == ',' && width < 3:
			return text + "." + s[n+1:end], end
		}
		break
	}
	return text, n
}
