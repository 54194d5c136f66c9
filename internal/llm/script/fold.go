package script

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folded is a text as it is compared: lower case, no accents, plain quotes and
// dashes. Matches are found in it and read from the original.
type folded struct {
	orig string
	text string
	// at[i] is where byte i of text comes from in orig; nil where every byte
	// stands where it stood.
	at []int32
}

// fold prepares a text.
func fold(s string) folded {
	ascii := true
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return folded{orig: s, text: strings.ToLower(s)}
	}
	var b strings.Builder
	b.Grow(len(s))
	at := make([]int32, 0, len(s)+1)
	for i, r := range s {
		n := b.Len()
		foldRune(&b, r, true)
		for range b.Len() - n {
			at = append(at, int32(i))
		}
	}
	return folded{orig: s, text: b.String(), at: append(at, int32(len(s)))}
}

// span reads the original of a match.
func (f folded) span(from, to int) string {
	if f.at == nil {
		return f.orig[from:to]
	}
	return f.orig[f.at[from]:f.at[to]]
}

// foldRune writes what a rune is compared as: nothing for an accent that
// stands alone.
func foldRune(b *strings.Builder, r rune, lower bool) {
	switch r {
	case '‘', '’', 'ʼ', '´':
		r = '\''
	case '“', '”', '«', '»':
		r = '"'
	case '–', '—', '−', '‐', '‑':
		r = '-'
	case '\u00a0', '\u202f':
		r = ' '
	}
	if r < utf8.RuneSelf {
		if lower {
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
		return
	}
	var buf [utf8.UTFMax]byte
	parts := norm.NFD.Properties(buf[:utf8.EncodeRune(buf[:], r)]).Decomposition()
	if parts == nil {
		parts = buf[:utf8.RuneLen(r)]
	}
	for len(parts) > 0 {
		part, n := utf8.DecodeRune(parts)
		parts = parts[n:]
		if unicode.Is(unicode.Mn, part) {
			continue
		}
		if lower {
			part = unicode.ToLower(part)
		}
		b.WriteRune(part)
	}
}

// foldPattern takes the accents out of a regular expression, and leaves its
// case: \W is not \w.
func foldPattern(s string) string {
	var b strings.Builder
	for _, r := range s {
		foldRune(&b, r, false)
	}
	return b.String()
}
