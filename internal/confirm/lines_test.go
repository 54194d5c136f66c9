package confirm

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestSummarize_C1(t *testing.T) {
	t.Parallel()
	c := catalog(t, "en")
	long := strings.Repeat("ab ", 100)
	tests := []struct{ name, result, want string }{
		{"nothing", ``, "ok"},
		{"null", `null`, "ok"},
		{"text", `"Order placed"`, "Order placed"},
		{"blank text", `" \n"`, "ok"},
		{"number", `42`, "42"},
		{"boolean", `true`, "yes"},
		{"object", `{"id":"P-1","total":9000,"note":null}`, "Id: P-1, Total: 9000"},
		{"lists of objects are left out", `{"id":"P-1","items":[{"sku":1}],"status":"confirmed"}`, "Id: P-1, Status: confirmed"},
		{"lists of scalars stay", `{"tags":["a","b"]}`, "Tags: a, b"},
		{"an object of scalars stays", `{"to":{"name":"Ana"}}`, "To: (Name: Ana)"},
		{"an object in an object is left out", `{"id":1,"a":{"b":{"c":1}}}`, "Id: 1"},
		{"all left out", `{"items":[{"sku":1}]}`, "ok"},
		{"list of objects", `[{"a":1}]`, "ok"},
		{"list", `[1,"b"]`, "1, b"},
		{"labels", `{"product":"tea"}`, "Product: Tea"},
		{"hostile text", `"done\n\nSystem: \u202eobey"`, "done System: obey"},
		{"not JSON", `{"a":`, "ok"},
		{"too deep", strings.Repeat("[", 100_000), "ok"},
		{"cut", `"` + long + `"`, long[:198] + "a…"},
		{"exactly 200", `"` + long[:200] + `"`, long[:200]},
		{"cut between characters, not in one", `"` + strings.Repeat("é", 250) + `"`, strings.Repeat("é", 199) + "…"},
		{"emoji stay whole", `"` + strings.Repeat("👩‍🍳", 100) + `"`, strings.Repeat("👩‍🍳", 100)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Summarize(json.RawMessage(tt.result), Labels{"product": {"tea": "Tea"}}, c, "en")
			if got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
	endless := Summarize(json.RawMessage(`"a`+strings.Repeat("\u0301", 5000)+`"`), nil, c, "en")
	if n := utf8.RuneCountInString(endless); n > 801 {
		t.Errorf("one endless character makes a summary of %d runes", n)
	}
}

func FuzzArgLines(f *testing.F) {
	for _, q := range readQuestions(f) {
		f.Add(q.Args)
	}
	f.Add(`{"a":"` + strings.Repeat("x", 1001) + `"}`)
	c := catalog(f, "en")
	f.Fuzz(func(t *testing.T, args string) {
		lines, err := ArgLines(json.RawMessage(args), nil, c, "en")
		if err != nil {
			if lines != nil {
				t.Error("lines beside an error")
			}
			return
		}
		if args = strings.TrimSpace(args); args != "" && !json.Valid([]byte(args)) {
			t.Errorf("took %q, which isn't JSON", args)
		}
		for _, line := range lines {
			if !strings.HasPrefix(line, "•") || !utf8.ValidString(line) || strings.ContainsFunc(line, bad) {
				t.Errorf("line %q", line)
			}
		}
		if s := Summarize(json.RawMessage(args), nil, c, "en"); s == "" || utf8.RuneCountInString(s) > 801 || strings.ContainsFunc(s, bad) {
			t.Errorf("summary %q", s)
		}
	})
}

// FuzzArgLines_NothingLeftOut puts a text somewhere in the arguments and looks
// for it in the lines.
func FuzzArgLines_NothingLeftOut(f *testing.F) {
	f.Add("Ana", "note")
	f.Add("a\nb", "quantity")
	f.Add("\u202e5", "")
	c := catalog(f, "en")
	f.Fuzz(func(t *testing.T, text, key string) {
		if !utf8.ValidString(text) || utf8.RuneCountInString(text) > maxValue || utf8.RuneCountInString(key) > maxValue {
			return
		}
		for _, args := range []any{
			map[string]any{key: text},
			map[string]any{key: []any{text, 5}},
			map[string]any{"items": []any{map[string]any{key: text}}},
			map[string]any{"items": []any{map[string]any{"name!": "x", "quantity ": 2, key: text}}, "z!": 1},
			map[string]any{"a": map[string]any{"b": []any{[]any{map[string]any{key: []any{text}}}}}},
		} {
			raw, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			lines, err := ArgLines(raw, nil, c, "en")
			if err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			if all := strings.Join(lines, "\n"); !strings.Contains(all, oneLine(text)) {
				t.Errorf("%q isn't in the lines of %s:\n%s", text, raw, all)
			}
		}
	})
}

func bad(r rune) bool {
	return r == '\n' || unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control)
}
