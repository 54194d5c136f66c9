package sqltool

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Dialect is whose SQL a statement is.
type Dialect string

// The dialects.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// Query is a parsed statement.
type Query struct {
	// Text has positional parameters: ?1 or $1.
	Text string
	// Names are the parameters, in the order of their positions.
	Names []string
	// Writes tells a statement that certainly wants to write: one that
	// begins with insert, update and the like, or with and has one within.
	Writes bool
}

// Parse reads one statement with :name parameters. Texts, quoted names,
// comments and casts (::) are left alone; parameters in another form, a second
// statement and what has no end are errors.
func Parse(d Dialect, text string) (Query, error) {
	p := parser{dialect: d, in: text}
	if strings.ContainsRune(text, 0) {
		return Query{}, errors.New("a statement can't hold the character 0")
	}
	for p.at < len(p.in) {
		if err := p.next(); err != nil {
			return Query{}, err
		}
	}
	if len(p.words) == 0 {
		return Query{}, errors.New("there is no statement")
	}
	if w := p.words[0]; slices.Contains(forbidden(d), w) {
		return Query{}, fmt.Errorf("%q: each statement has a connection and a transaction for itself alone", w)
	}
	return Query{Text: p.out.String(), Names: p.names, Writes: writes(p.words)}, nil
}

type parser struct {
	dialect Dialect
	in      string
	at      int
	out     strings.Builder
	names   []string
	words   []string // bare words, in lower case
	ended   bool     // there was a semicolon
}

// next takes one token.
func (p *parser) next() error {
	rest := p.in[p.at:]
	c := rest[0]
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
		p.take(1)
		return nil
	case strings.HasPrefix(rest, "--"):
		n := strings.IndexByte(rest, '\n')
		if n < 0 {
			n = len(rest) - 1
		}
		p.take(n + 1)
		return nil
	case strings.HasPrefix(rest, "/*"):
		return p.comment(rest)
	case p.ended:
		return errors.New("there is a second statement after the semicolon; a tool runs one")
	}
	switch {
	case c == ';':
		p.ended = true
		p.at++ // not sent
		return nil
	case c == '\'':
		return p.quoted(rest, '\'', "text", false)
	case c == '"':
		return p.quoted(rest, '"', "name", false)
	case p.dialect == SQLite && c == '`':
		return p.quoted(rest, '`', "name", false)
	case p.dialect == SQLite && c == '[':
		return p.quoted(rest, ']', "name", false)
	case c == ':':
		return p.colon(rest)
	case c == '$' || p.dialect == SQLite && (c == '?' || c == '@' || c == '#'):
		return p.dollar(rest)
	case isWordStart(c):
		return p.word(rest)
	case c >= '0' && c <= '9':
		n := 1
		for n < len(rest) && (isWord(rest[n]) || rest[n] == '.') {
			n++
		}
		p.take(n)
		return nil
	default:
		p.take(1)
		return nil
	}
}

func (p *parser) take(n int) {
	p.out.WriteString(p.in[p.at : p.at+n])
	p.at += n
}

// comment skips /* … */, which PostgreSQL nests and SQLite doesn't.
func (p *parser) comment(rest string) error {
	depth, i := 1, 2
	for depth > 0 {
		end := strings.Index(rest[i:], "*/")
		if end < 0 {
			if p.dialect == SQLite { // whose comments end with the text at last
				p.take(len(rest))
				return nil
			}
			return errors.New("a comment (/*) has no end")
		}
		open := strings.Index(rest[i:i+end], "/*")
		if p.dialect == Postgres && open >= 0 {
			depth++
			i += open + 2
			continue
		}
		depth--
		i += end + 2
	}
	p.take(i)
	return nil
}

// quoted takes what begins with a quote. A doubled one is two quoted pieces
// side by side, which comes to the same here.
func (p *parser) quoted(rest string, end byte, what string, escapes bool) error {
	for i := 1; i < len(rest); i++ {
		switch {
		case escapes && rest[i] == '\\':
			i++
		case rest[i] == end:
			p.take(i + 1)
			return nil
		}
	}
	return fmt.Errorf("a %s has no closing %c", what, end)
}

// colon takes ::, := or a parameter.
func (p *parser) colon(rest string) error {
	if len(rest) > 1 && (rest[1] == ':' || rest[1] == '=') {
		p.take(2)
		return nil
	}
	n := 1
	for n < len(rest) && isParameter(rest[n]) {
		n++
	}
	switch {
	case n == 1 || rest[1] >= '0' && rest[1] <= '9':
		if p.dialect == Postgres { // the slice of an array: [1:2]
			p.take(n)
			return nil
		}
		return errors.New("a parameter is :name, beginning with a letter or _")
	case n < len(rest) && rest[n] >= 0x80:
		return fmt.Errorf("the parameter %s… has a letter that isn't plain ASCII", rest[:n])
	}
	name := rest[1:n]
	i := slices.Index(p.names, name)
	if i < 0 {
		i = len(p.names)
		p.names = append(p.names, name)
	}
	mark := "?"
	if p.dialect == Postgres {
		mark = "$"
	}
	// A blank keeps what follows apart: ?1 and a digit behind it.
	p.out.WriteString(mark + strconv.Itoa(i+1))
	if n < len(rest) && isWord(rest[n]) {
		p.out.WriteByte(' ')
	}
	p.at += n
	return nil
}

// dollar takes a dollar-quoted text of PostgreSQL, and refuses parameters that
// aren't named by a colon.
func (p *parser) dollar(rest string) error {
	if p.dialect == Postgres {
		n := 1
		for n < len(rest) && isWord(rest[n]) && rest[n] != '$' {
			n++
		}
		if n < len(rest) && rest[n] == '$' && (n == 1 || isWordStart(rest[1])) {
			tag := rest[:n+1]
			end := strings.Index(rest[len(tag):], tag)
			if end < 0 {
				return fmt.Errorf("a text has no closing %s", tag)
			}
			p.take(end + 2*len(tag))
			return nil
		}
	}
	return fmt.Errorf("%q: parameters are written :name", rest[:min(len(rest), 6)])
}

func (p *parser) word(rest string) error {
	n := 1
	for n < len(rest) && (isWord(rest[n]) || rest[n] == '$') {
		n++
	}
	word := strings.ToLower(rest[:n])
	if p.dialect == Postgres && word == "e" && n < len(rest) && rest[n] == '\'' {
		p.take(1)
		return p.quoted(rest[1:], '\'', "text", true)
	}
	p.words = append(p.words, word)
	p.take(n)
	return nil
}

func isWordStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func isWord(c byte) bool { return isWordStart(c) || c >= '0' && c <= '9' }

func isParameter(c byte) bool { return isWord(c) && c < 0x80 }

// forbidden are statements about the transaction or the connection: the next
// one who gets the connection would find it changed.
func forbidden(d Dialect) []string {
	both := []string{"begin", "commit", "rollback", "savepoint", "release", "end"}
	if d == SQLite {
		return append(both, "pragma", "attach", "detach", "vacuum")
	}
	return append(both, "start", "abort", "prepare", "execute", "deallocate", "set", "reset", "discard", "listen", "unlisten", "lock")
}

func writes(words []string) bool {
	verbs := []string{
		"insert", "update", "delete", "replace", "merge", "truncate", "create", "drop", "alter", "grant", "revoke", "reindex", "vacuum", "copy", "call",
	}
	if words[0] == "with" {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains([]string{"insert", "update", "delete", "merge"}, w) })
	}
	return slices.Contains(verbs, words[0])
}
