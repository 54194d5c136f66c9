package confirm

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// invisible tells the characters that are taken out of what a person is
// asked: control characters, those that change the direction of text, and
// others without a shape. The joiners stay, since emoji and several scripts
// need them, and so do the formats that are seen (U+0600 and its like).
func invisible(r rune) bool {
	switch {
	case r == '\u200c' || r == '\u200d':
		return false
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	default:
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
	}
}

// oneLine is text as literal text on one line: white space of any kind and
// length is one space.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case invisible(r):
			return -1
		default:
			return r
		}
	}, strings.ToValidUTF8(text, "\ufffd"))
	return strings.Join(strings.Fields(text), " ")
}

// manyLines is text as literal text that keeps its lines.
func manyLines(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\r' || r == '\u2028' || r == '\u2029':
			return '\n'
		case r == '\n' || r == '\t':
			return r
		case invisible(r):
			return -1
		default:
			return r
		}
	}, text)
	return strings.TrimSpace(text)
}

// HumanName makes a name of code readable: place_order, placeOrder and
// place-order are "Place order". A name without letters or digits stays.
func HumanName(name string) string {
	var words []string
	for _, run := range strings.FieldsFunc(oneLine(name), func(r rune) bool {
		return r == '_' || r == '-' || r == '.' || r == ' '
	}) {
		words = append(words, humps(run)...)
	}
	human := strings.Join(words, " ")
	if human == "" {
		return oneLine(name)
	}
	first, size := utf8.DecodeRuneInString(human)
	return string(unicode.ToTitle(first)) + human[size:]
}

// humps takes camelCase apart and writes its words small, but for those all
// in capitals.
func humps(run string) (words []string) {
	r := []rune(run)
	start := 0
	for i := 1; i <= len(r); i++ {
		if i < len(r) {
			rise := unicode.IsLower(r[i-1]) && unicode.IsUpper(r[i])
			// The last capital of HTTPServer begins the next word.
			fall := unicode.IsUpper(r[i-1]) && unicode.IsUpper(r[i]) && i+1 < len(r) && unicode.IsLower(r[i+1])
			if !rise && !fall {
				continue
			}
		}
		word := string(r[start:i])
		if i-start == 1 || strings.ToUpper(word) != word {
			word = strings.ToLower(word)
		}
		words = append(words, word)
		start = i
	}
	return words
}
