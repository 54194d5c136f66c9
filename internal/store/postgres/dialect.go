package postgres

import (
	"strings"
	"unicode/utf8"
)

// translate makes ?1 of the store's dialect $1, and the comments that ask for
// locks clauses; what only reads takes none.
func translate(query string, write bool) string {
	lock, skip := "", ""
	if write {
		lock, skip = "FOR UPDATE", "FOR UPDATE SKIP LOCKED"
	}
	query = strings.NewReplacer("/*lock*/", lock, "/*lock skip*/", skip).Replace(query)
	var out strings.Builder
	quoted := false
	for _, r := range query {
		switch {
		case r == '\'':
			quoted = !quoted
		case r == '?' && !quoted:
			r = '$'
		}
		out.WriteRune(r)
	}
	return out.String()
}

// PostgreSQL's texts can't have the byte 0. It is written as a character for
// private use and a digit.
const escape = "\uE000"

var (
	escaper   = strings.NewReplacer("\x00", escape+"0", escape, escape+"1") //nolint:gochecknoglobals // constant
	unescaper = strings.NewReplacer(escape+"0", "\x00", escape+"1", escape) //nolint:gochecknoglobals // constant
)

// toText makes a text such that PostgreSQL takes it: without the byte 0, and
// valid UTF-8.
func toText(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 && !strings.Contains(s, escape) {
		return s
	}
	return escaper.Replace(strings.ToValidUTF8(s, "\uFFFD"))
}

// fromText is the reverse of toText.
func fromText(s string) string {
	if !strings.Contains(s, escape) {
		return s
	}
	return unescaper.Replace(s)
}
