package confirm

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/locale"
)

// question is one case of testdata/questions.json. Args is JSON within a
// string, so that no editor changes its order or digits.
type question struct {
	Name     string
	Tool     string
	Title    string
	Lang     string
	Bot      string
	Buttons  bool
	Labels   Labels
	Lines    []string
	Message  string
	Previous *Previous
	Args     string
	Want     []string
}

func catalog(t testing.TB, bot string) *locale.Catalog {
	t.Helper()
	c, err := locale.New(bot, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func readQuestions(t testing.TB) (cases []question) {
	t.Helper()
	b, err := os.ReadFile("testdata/questions.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestPrompt_B9_Questions(t *testing.T) {
	t.Parallel()
	for _, tt := range readQuestions(t) {
		t.Run(tt.Name, func(t *testing.T) {
			t.Parallel()
			got, err := Prompt{
				Tool: tt.Tool, Title: tt.Title, Args: json.RawMessage(tt.Args), Labels: tt.Labels, Lines: tt.Lines,
				Message: tt.Message, Previous: tt.Previous, Buttons: tt.Buttons, Lang: tt.Lang, Catalog: catalog(t, tt.Bot),
			}.Text()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Join(tt.Want, "\n"), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPrompt_B9_TooLong(t *testing.T) {
	t.Parallel()
	c := catalog(t, "en")
	text := func(n int) string { return strings.Repeat("ñ", n) }
	list := func(n int) string { return `{"a":[` + strings.TrimSuffix(strings.Repeat(`"item",`, n), ",") + `]}` }
	tests := []struct {
		name   string
		prompt Prompt
		long   bool
	}{
		{"1,000 characters", Prompt{Args: json.RawMessage(`{"a":"` + text(1000) + `"}`)}, false},
		{"1,001 characters", Prompt{Args: json.RawMessage(`{"a":"` + text(1001) + `"}`)}, true},
		{"deep inside", Prompt{Args: json.RawMessage(`{"a":[{"b":{"c":"` + text(1001) + `"}}]}`)}, true},
		{"in a key", Prompt{Args: json.RawMessage(`{"` + text(1001) + `":1}`)}, true},
		{"a number", Prompt{Args: json.RawMessage(`{"a":1` + strings.Repeat("0", 1001) + `}`)}, true},
		{"invisible characters count", Prompt{Args: json.RawMessage(`{"a":"` + strings.Repeat("\u200b", 1001) + `"}`)}, true},
		{"many short values", Prompt{Args: json.RawMessage(list(1000))}, false},
		{"too many short values", Prompt{Args: json.RawMessage(list(10_000))}, true},
		{"nested", Prompt{Args: json.RawMessage(strings.Repeat(`{"a":`, 31) + "[]" + strings.Repeat("}", 31))}, false},
		{"nested too deep", Prompt{Args: json.RawMessage(strings.Repeat(`[`, 100_000))}, true},
		{"own message", Prompt{Message: text(16_385)}, true},
		{"own message that fits", Prompt{Message: text(16_384)}, false},
		{"own lines", Prompt{Lines: []string{text(16_384)}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := tt.prompt
			p.Tool, p.Catalog = "t", c
			if _, err := p.Text(); errors.Is(err, ErrTooLong) != tt.long {
				t.Errorf("error %v, too long must be %v", err, tt.long)
			}
		})
	}
}

func TestPrompt_B10_BrokenIsNeverAsked(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		prompt Prompt
		want   string
	}{
		{"blank message", Prompt{Message: " \n\u200b\u202e"}, ErrBlank.Error()},
		{"not JSON", Prompt{Args: json.RawMessage(`{"a":`)}, "read arguments"},
		{"two values", Prompt{Args: json.RawMessage(`{"a":1} {"a":2}`)}, "more than one"},
		{"a key twice", Prompt{Args: json.RawMessage(`{"amount":1,"amount":1000}`)}, `"amount" is there twice`},
		{"a key twice, deep", Prompt{Args: json.RawMessage(`{"a":[{"b":1,"\u0062":2}]}`)}, `"b" is there twice`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := tt.prompt
			p.Tool, p.Catalog = "pay", catalog(t, "en")
			text, err := p.Text()
			if err == nil || text != "" || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "pay") {
				t.Errorf("text %q, error %v; want an error with %q", text, err, tt.want)
			}
		})
	}
}

func TestPrompt_F2_OverrideServesBothModes(t *testing.T) {
	t.Parallel()
	c, err := locale.New("en", map[string]map[string]any{"en": {"ai.tools.confirm": "Run {tool}?{args}"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, buttons := range []bool{false, true} {
		got, err := Prompt{Tool: "pay", Args: json.RawMessage(`{"a":"{tool}"}`), Buttons: buttons, Lang: "en", Catalog: c}.Text()
		if want := "Run Pay?\n• A: {tool}"; err != nil || got != want {
			t.Errorf("buttons %v: %q, %v; want %q", buttons, got, err, want)
		}
	}
}

func TestDigest_B28(t *testing.T) {
	t.Parallel()
	base := Digest("d", json.RawMessage(`{"a":1}`), "q")
	if len(base) != 64 || base != Digest("d", json.RawMessage(` { "a" : 1 }`), "q") {
		t.Errorf("digest %q changes with white space in the arguments", base)
	}
	for name, other := range map[string]string{
		"tool":       Digest("D", json.RawMessage(`{"a":1}`), "q"),
		"arguments":  Digest("d", json.RawMessage(`{"a":2}`), "q"),
		"question":   Digest("d", json.RawMessage(`{"a":1}`), "Q"),
		"boundaries": Digest("d"+`{"a":1}`, nil, "q"),
	} {
		if other == base {
			t.Errorf("another %s has the same digest", name)
		}
	}
}

func TestNote_B7(t *testing.T) {
	t.Parallel()
	c := catalog(t, "en")
	if got := Note(nil, c, "en"); got != "" {
		t.Errorf("note without tools: %q", got)
	}
	tools := []NamedTool{{Name: "place_order"}, {Name: "cancel", Title: "Cancel\norder\u202e {tools}"}}
	for lang, wants := range map[string][]string{
		"en": {"place_order («Place order»), cancel («Cancel order {tools}»)", "as soon as the user expresses the intent", "don't mention the confirmation process", "Never say that you have done", "no tool"},
		"es": {"place_order («Place order»), cancel («Cancel order {tools}»)", "en cuanto el usuario exprese la intención", "ni menciones el proceso de confirmación", "Nunca digas que hiciste", "no hay una herramienta"},
	} {
		got := Note(tools, c, lang)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q isn't in %q", lang, want, got)
			}
		}
	}
}
