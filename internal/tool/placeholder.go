package tool

import (
	"fmt"
	"strings"
)

// Piece is literal text, or the name of a {name} placeholder.
type Piece struct{ Text, Name string }

// Pieces cuts text at its {name} placeholders (interface: settled detail 11).
// A brace that belongs to none is an error, which quotes 20 bytes of the text
// at the most.
func Pieces(s string) ([]Piece, error) {
	var out []Piece
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			return append(out, Piece{Text: s}), nil
		}
		if i > 0 {
			out = append(out, Piece{Text: s[:i]})
		}
		name, rest, ok := strings.Cut(s[i+1:], "}")
		if s[i] == '}' || !ok || !validPlaceholder(name) {
			return nil, fmt.Errorf("a placeholder reads {name}, of letters, digits, _ and -; %q doesn't", s[i:min(len(s), i+20)])
		}
		out, s = append(out, Piece{Name: name}), rest
	}
	return out, nil
}

// LoosePieces is Pieces for texts in which braces are usual, such as JSON or
// prose: what isn't exactly {name} is text.
func LoosePieces(s string) []Piece {
	var out []Piece
	text := func(t string) {
		if t == "" {
			return
		}
		if n := len(out) - 1; n >= 0 && out[n].Name == "" {
			out[n].Text += t
			return
		}
		out = append(out, Piece{Text: t})
	}
	for {
		i := strings.IndexByte(s, '{')
		if i < 0 {
			text(s)
			return out
		}
		text(s[:i])
		name, rest, ok := strings.Cut(s[i+1:], "}")
		if !ok || !validPlaceholder(name) {
			text("{")
			s = s[i+1:]
			continue
		}
		out, s = append(out, Piece{Name: name}), rest
	}
}

func validPlaceholder(s string) bool {
	return s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}
