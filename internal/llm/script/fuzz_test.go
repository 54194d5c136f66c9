package script

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parley-bot/parley/internal/llm"
)

// FuzzRender fills any template in with any result: it gives JSON arguments or
// a clean failure, and a text without placeholders stays as it is.
func FuzzRender(f *testing.F) {
	for _, text := range []string{"{result.id}", "{{x}} {user}", "{last.t.-1.a?}", "{items}", "a { b } {", "{lines?}", "{1}{who}", "}}{{", "{args.t.x}"} {
		f.Add(text, `{"id":[1,{"a":"b"}]}`, "I want 2 coffees")
		f.Add(text, `[[], "x", null]`, "\xff\u0301é")
	}
	f.Fuzz(func(t *testing.T, text, result, said string) {
		quoted, err := json.Marshal(text)
		if err != nil || len(text) > 500 || len(result) > 2000 {
			return
		}
		doc := `
extract: {items: {words: {coffee: [coffee, coffees]}, numbers: [en, es], key: product, quantity: n}}
lists: {lines: {each: result, line: "{id?}{it}", empty: none}}
rules: [{when: {last: tool, text: "(?P<who>.?)"}, say: ` + string(quoted) + `, call: {tool: t, args: {a: ` + string(quoted) + `, b: [` + string(quoted) + `]}}}]`
		p, err := New([]byte(doc), "m.yaml")
		if err != nil {
			return
		}
		got, err := p.Generate(t.Context(), llm.Request{Messages: []llm.Message{
			{Role: llm.RoleUser, Text: said},
			{Role: llm.RoleAssistant, Calls: []llm.Call{{Name: "t", Args: result}}},
			{Role: llm.RoleTool, Results: []llm.Result{{Name: "t", Content: result}}},
		}}, func(string) {})
		if err != nil {
			if !llm.HasClass(err, llm.BadRequest) {
				t.Fatalf("fails by %v", err)
			}
			return
		}
		if !json.Valid([]byte(got.Calls[0].Args)) {
			t.Fatalf("args of %q are %q", text, got.Calls[0].Args)
		}
		if !strings.ContainsAny(text, "{}") && utf8.ValidString(text) && got.Text != text {
			t.Fatalf("%q became %q", text, got.Text)
		}
	})
}

// FuzzFold proves that a folded text can be read back from the original, and
// that folding twice changes nothing.
func FuzzFold(f *testing.F) {
	for _, s := range []string{"", "Café", "cafe\u0301", "ǅ İ ß ﬁ", "\xff’", "한글", "a\u0300\u0301b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		folded := fold(s)
		if got := folded.span(0, len(folded.text)); utf8.ValidString(s) && !strings.HasSuffix(s, got) {
			t.Fatalf("%q reads back as %q", s, got)
		}
		for i := range folded.text {
			_ = folded.span(i, len(folded.text))
		}
		if utf8.ValidString(s) && fold(folded.text).text != folded.text {
			t.Fatalf("%q folds to %q, then to %q", s, folded.text, fold(folded.text).text)
		}
	})
}

// FuzzExtract proves that whatever is typed gives JSON or nothing.
func FuzzExtract(f *testing.F) {
	for _, s := range []string{"2 coffees", "a dozen rye breads, -1 coffee", "00,000.5 coffee", "half a half dozen", "treinta y y un coffee x", "1,000,000 coffee", "\xff2x"} {
		f.Add(s)
	}
	p, err := New([]byte(`
extract:
  items: {words: {coffee: [coffee, coffees, two coffee], bread: [rye bread]}, numbers: [en, es], key: p, quantity: q}
  amount: {numbers: [en, es]}
  first: {words: {coffee: coffee}}
  id: {pattern: "#(\\S+)", numeric: true}
rules: [{say: a}]`), "m.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, x := range p.rules.extractors {
			if got := x.read(fold(s)); got != nil && !json.Valid(got) {
				t.Fatalf("%s reads %q from %q", x.name, got, s)
			}
		}
	})
}

// FuzzPattern proves that looking for literals first never hides a match.
func FuzzPattern(f *testing.F) {
	f.Add("(cancel|cancela)r?", "CANCÉLAR")
	f.Add("a+b{2}|c?d", "xabb")
	f.Add("(?i)[^A]ñ|(?-i)B", "bN")
	f.Fuzz(func(t *testing.T, expr, text string) {
		if len(expr) > 100 {
			return
		}
		p, err := compile(expr)
		if err != nil {
			return
		}
		folded := fold(text)
		if p.re.MatchString(folded.text) != (p.match(folded) != nil) {
			t.Fatalf("%q on %q: needs %q", expr, text, p.needs)
		}
	})
}
