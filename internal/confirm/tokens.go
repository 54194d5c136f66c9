package confirm

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// token is a folded word, or one symbol.
type token struct {
	text   string
	symbol bool
}

func joinTokens(tokens []token) string {
	if len(tokens) == 1 {
		return tokens[0].text
	}
	var b strings.Builder
	for i, t := range tokens {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}

// tokenize folds text and takes it apart. question is true where it has a
// question mark.
func tokenize(text string) (tokens []token, question bool) {
	text = fold(text)
	if strings.ContainsFunc(text, asking) {
		return nil, true
	}
	for field := range strings.FieldsSeq(text) {
		tokens = append(tokens, words(field)...)
	}
	return tokens, false
}

// fold takes case, accents, and what isn't seen out of text.
func fold(text string) string {
	text = norm.NFKD.String(cases.Fold().String(norm.NFKD.String(text)))
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.M, unicode.Cf, unicode.Variation_Selector) || '🏻' <= r && r <= '🏿' {
			return -1
		}
		return r
	}, text)
}

// words takes a run without white space apart at its punctuation. Digits are
// read strictly, since "1." is an answer where "1.1", "-1", "$1" and "1%" are
// numbers: a run with a digit and anything but punctuation around it is one
// word, as are a handle and a command.
func words(field string) (tokens []token) {
	trimmed := strings.TrimFunc(field, loose)
	if strings.ContainsFunc(trimmed, unicode.IsNumber) || strings.HasPrefix(trimmed, "@") ||
		strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, "/") {
		before, after, _ := strings.Cut(field, trimmed)
		return slices.Concat(symbols(before), []token{{text: trimmed}}, symbols(after))
	}
	start := -1
	for i, r := range field {
		if unicode.IsLetter(r) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			tokens = append(tokens, token{text: field[start:i]})
			start = -1
		}
		if unicode.Is(unicode.So, r) {
			tokens = append(tokens, token{text: string(r), symbol: true})
		}
	}
	if start >= 0 {
		tokens = append(tokens, token{text: field[start:]})
	}
	return tokens
}

// symbols lists the symbols of a run without words.
func symbols(run string) (tokens []token) {
	for _, r := range run {
		if unicode.Is(unicode.So, r) {
			tokens = append(tokens, token{text: string(r), symbol: true})
		}
	}
	return tokens
}

// loose is what may stick to a number without changing it.
func loose(r rune) bool {
	if unicode.Is(unicode.So, r) {
		return true
	}
	return strings.ContainsRune(".,;:!¡()[]{}\"'«»“”‘’„…*_~`|。、！，", r)
}
