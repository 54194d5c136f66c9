package tool

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPieces(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]struct {
		strict []Piece // nil is an error
		loose  []Piece
	}{
		"plain":     {[]Piece{{Text: "plain"}}, []Piece{{Text: "plain"}}},
		"{a}":       {[]Piece{{Name: "a"}}, []Piece{{Name: "a"}}},
		"x{a-b}{c}": {[]Piece{{Text: "x"}, {Name: "a-b"}, {Name: "c"}}, []Piece{{Text: "x"}, {Name: "a-b"}, {Name: "c"}}},
		`{"a":1}`:   {nil, []Piece{{Text: `{"a":1}`}}},
		"{}{a} }":   {nil, []Piece{{Text: "{}"}, {Name: "a"}, {Text: " }"}}},
		"a {b":      {nil, []Piece{{Text: "a {b"}}},
		"{{a}}":     {nil, []Piece{{Text: "{"}, {Name: "a"}, {Text: "}"}}},
		"${a}":      {[]Piece{{Text: "$"}, {Name: "a"}}, []Piece{{Text: "$"}, {Name: "a"}}},
	} {
		got, err := Pieces(s)
		if d := cmp.Diff(want.strict, got); d != "" || (err != nil) != (want.strict == nil) {
			t.Errorf("%q: %v (-want +got):\n%s", s, err, d)
		}
		if d := cmp.Diff(want.loose, LoosePieces(s)); d != "" {
			t.Errorf("%q, loosely (-want +got):\n%s", s, d)
		}
	}
}

// Whatever is cut up can be put together again, and no name has a brace.
func FuzzPieces(f *testing.F) {
	for _, s := range []string{"", "{a}", "a{b}c", "{{a}}", "}{", "{", `{"a": "{b}"}`, "{é}", "{a b}", "\x00{a}\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		join := func(ps []Piece) string {
			var b strings.Builder
			for _, p := range ps {
				if p.Name == "" {
					b.WriteString(p.Text)
					continue
				}
				if strings.ContainsAny(p.Name, "{} \"") || p.Text != "" {
					t.Errorf("%q has the placeholder %+v", s, p)
				}
				b.WriteString("{" + p.Name + "}")
			}
			return b.String()
		}
		if got := join(LoosePieces(s)); got != s {
			t.Errorf("%q became %q", s, got)
		}
		if ps, err := Pieces(s); err == nil {
			if got := join(ps); got != s {
				t.Errorf("%q became %q", s, got)
			}
			if d := cmp.Diff(ps, LoosePieces(s)); d != "" {
				t.Errorf("%q: strict and loose differ: %s", s, d)
			}
		}
	})
}
