package sqltool

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse_E1_NamedParameters(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in, sqlite, postgres string // "" is an error
		names                []string
	}{
		"plain":                  {"select 1", "select 1", "select 1", nil},
		"one":                    {"select :a", "select ?1", "select $1", []string{"a"}},
		"twice":                  {"select :a, :b, :a", "select ?1, ?2, ?1", "select $1, $2, $1", []string{"a", "b"}},
		"beside punctuation":     {"x=:a and(:b)", "x=?1 and(?2)", "x=$1 and($2)", []string{"a", "b"}},
		"in a text":              {"select ':a', 'it''s :b'", "select ':a', 'it''s :b'", "select ':a', 'it''s :b'", nil},
		"in a name":              {`select ":a" from "x:b"`, `select ":a" from "x:b"`, `select ":a" from "x:b"`, nil},
		"in a line comment":      {"select 1 -- :a\n, :b", "select 1 -- :a\n, ?1", "select 1 -- :a\n, $1", []string{"b"}},
		"comment at the end":     {"select 1 -- :a", "select 1 -- :a", "select 1 -- :a", nil},
		"in a comment":           {"select /* :a ' */ :b", "select /* :a ' */ ?1", "select /* :a ' */ $1", []string{"b"}},
		"cast":                   {"select :a::int, 'x'::text", "select ?1::int, 'x'::text", "select $1::int, 'x'::text", []string{"a"}},
		"semicolon at the end":   {"select :a ; -- done\n", "select ?1  -- done\n", "select $1  -- done\n", []string{"a"}},
		"second statement":       {"select 1; drop table x", "", "", nil},
		"hidden second":          {"select 1 /* ; */; select 2", "", "", nil},
		"positional ?":           {"select ?", "", "select ?", nil},
		"positional $1":          {"select $1", "", "", nil},
		"@name":                  {"select @a", "", "select @a", nil},
		"empty":                  {" -- nothing\n", "", "", nil},
		"open text":              {"select 'a", "", "", nil},
		"open name":              {`select "a`, "", "", nil},
		"number then letters":    {"select 1e5, 0x1F, a1:b", "select 1e5, 0x1F, a1?1", "select 1e5, 0x1F, a1$1", []string{"b"}},
		"not ASCII":              {"select :año", "", "", nil},
		"a word that isn't":      {"select año, :a from é", "select año, ?1 from é", "select año, $1 from é", []string{"a"}},
		"json operators":         {"select a->>'x', b ? 'y' from t where :a", "", "select a->>'x', b ? 'y' from t where $1", []string{"a"}},
		"NUL":                    {"select 1\x00", "", "", nil},
		"of the transaction":     {"-- x\nCommit", "", "", nil},
		"of SQLite's connection": {"pragma query_only = 0", "", "pragma query_only = 0", nil},
		"of PostgreSQL's":        {"set role x", "set role x", "", nil},
		"brackets":               {"select [a:b], `c:d`", "select [a:b], `c:d`", "select [a$1], `c$2`", []string{"b", "d"}},
		"escapes":                {`select E'\':a' , :b`, "", `select E'\':a' , $1`, []string{"b"}},
		"no escapes without E":   {`select '\', :b`, `select '\', ?1`, `select '\', $1`, []string{"b"}},
		"dollar quotes":          {"select $$ :a ' $$, $x$ $$ :b $x$, :c", "", "select $$ :a ' $$, $x$ $$ :b $x$, $1", []string{"c"}},
		"open dollar quote":      {"select $x$ a", "", "", nil},
		"slice":                  {"select a[1:2], b[:3]", "select a[1:2], b[:3]", "select a[1:2], b[:3]", nil},
		"nested comment":         {"select /* /* :a */ :b */ :c", "select /* /* :a */ ?1 */ ?2", "select /* /* :a */ :b */ $1", nil},
		"assignment":             {"select f(x := :a)", "select f(x := ?1)", "select f(x := $1)", []string{"a"}},
		"begins with a digit":    {"select (:1a)", "", "select (:1a)", nil},
		"a digit right after it": {"select :a_2 from x", "select ?1 from x", "select $1 from x", []string{"a_2"}},
	} {
		for d, want := range map[Dialect]string{SQLite: tc.sqlite, Postgres: tc.postgres} {
			q, err := Parse(d, tc.in)
			if want == "" {
				if err == nil {
					t.Errorf("%s, %s: no error; %q", name, d, q.Text)
				}
				continue
			}
			if err != nil || q.Text != want {
				t.Errorf("%s, %s: %v, %q, want %q", name, d, err, q.Text, want)
			}
			if d == Postgres && tc.sqlite != "" && tc.names != nil || d == SQLite && tc.postgres == "" {
				if diff := cmp.Diff(tc.names, q.Names); diff != "" && name != "brackets" {
					t.Errorf("%s, %s: names %s", name, d, diff)
				}
			}
		}
	}
}

func TestParse_TellsWriting(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"select 1": false, "INSERT into x values (1)": true, "-- update\nselect 'delete'": false, "/* x */ Update x set a=1": true,
		"with a as (select 1) select * from a": false, "with a as (delete from x returning *) select * from a": true,
		"with a as (select 1) insert into x select * from a": true, "values (1)": false, "select replace(a, 'update', 'x') from t": false, "drop table x": true,
	} {
		q, err := Parse(Postgres, text)
		if err != nil || q.Writes != want {
			t.Errorf("%q: %v, writes %v", text, err, q.Writes)
		}
	}
}

// Positions go from 1 without gaps, and what isn't a parameter stays as it is.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"select :a", "':a'", `":a"`, "--:a\n:b", "/*:a*/:b", "$$:a$$ :b", "E'\\':a'", "a::b", ":a:b", "[:a]", "`:a`", ";", ":é", "/*/**/*/", "$x$", "e'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, d := range []Dialect{SQLite, Postgres} {
			q, err := Parse(d, s)
			if err != nil {
				continue
			}
			seen := map[string]bool{}
			for _, n := range q.Names {
				if seen[n] || !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(n) || !strings.Contains(s, ":"+n) {
					t.Errorf("%s: %q has the parameter %q", d, s, n)
				}
				seen[n] = true
			}
			if len(q.Names) == 0 && len(q.Text) > len(s) {
				t.Errorf("%s: %q became %q", d, s, q.Text)
			}
			if again, err := Parse(d, q.Text); len(q.Names) == 0 && (err != nil || again.Text != q.Text) {
				t.Errorf("%s: %q became %q, then %q: %v", d, s, q.Text, again.Text, err)
			}
		}
	})
}
