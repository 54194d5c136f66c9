package llmtest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/llm"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldens compares what is sent, byte for byte but for blanks, with
// testdata/requests/NAME.golden of the package under test: the target, the
// headers that the provider sets, and the body. A change of what a model gets
// to see shows there.
func (s suite) goldens(t *testing.T) {
	t.Parallel()
	for name, req := range goldenRequests() {
		for _, stream := range []bool{false, true} {
			if stream && name != "text" {
				continue // it changes the same fields each time
			}
			file := name
			if stream {
				file += "-stream"
			}
			t.Run(file, func(t *testing.T) {
				t.Parallel()
				srv, p := s.answering(t, Answer{Pieces: []string{"ok"}, Stop: llm.StopEnd})
				if _, err := p.Generate(t.Context(), req, new(collector).onText(stream)); err != nil {
					t.Fatal(err)
				}
				checkGolden(t, file, srv.first())
			})
		}
	}
	t.Run("opaque", func(t *testing.T) {
		t.Parallel()
		if s.b.Lacks(Opaque) {
			return
		}
		// What the API wants back is only to be had from the API.
		srv, p := s.answering(t, Answer{Pieces: []string{"One moment."}, Stop: llm.StopCalls, Opaque: "thought-1", Calls: []llm.Call{
			{ID: "c1", Name: "list_orders", Args: "{}"}, {ID: "c2", Name: "list_orders", Args: "{}"},
		}})
		req := ask()
		for step := range 2 {
			resp, err := p.Generate(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			done := llm.Message{Role: llm.RoleTool}
			for i := range resp.Calls {
				resp.Calls[i].ID = fmt.Sprintf("turn.%d.%d", step, i)
				done.Results = append(done.Results, llm.Result{CallID: resp.Calls[i].ID, Name: "list_orders", Content: "[]"})
			}
			req.Messages = append(req.Messages,
				llm.Message{Role: llm.RoleAssistant, Text: resp.Text, Calls: resp.Calls, Opaque: resp.Opaque, From: resp.From}, done)
		}
		srv.forget()
		if _, err := p.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		checkGolden(t, "opaque", srv.first())
	})
}

// goldenRequests are the requests that the files are of. Images there are none
// of: the contract has only text.
func goldenRequests() map[string]llm.Request {
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":1},"note":{"type":["string","null"]}},"required":["n"],"additionalProperties":false}`)
	cards := []llm.Card{{Name: "order", Description: "Orders <bread> & more.", Schema: schema}, {Name: "list_orders", Description: "Lists."}}
	user := func(text string) llm.Message { return llm.Message{Role: llm.RoleUser, Text: text} }
	bot := func(text string, calls ...llm.Call) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Text: text, Calls: calls, From: "other/m"}
	}
	one := llm.Call{ID: "t.1.1", Name: "order", Args: `{"n":2}`}
	return map[string]llm.Request{
		"text": {
			System: []string{"Be brief."}, MaxTokens: 9,
			Messages: []llm.Message{user("hi"), bot("Hello."), user("two"), user("lines")},
		},
		"tools": {Messages: []llm.Message{user("hi")}, Tools: cards},
		"result": {Tools: cards, Messages: []llm.Message{
			user("two, please"), bot("", one),
			{Role: llm.RoleTool, Results: []llm.Result{{CallID: "t.1.1", Name: "order", Content: `{"id":"P-1"}`}}},
		}},
		"parallel": {Tools: cards, Messages: []llm.Message{
			user("two and what I had"),
			bot("Well:", one, llm.Call{ID: "t.1.2", Name: "list_orders"}, llm.Call{ID: "t.1.3", Name: "order", Args: `{"n": 2`}, llm.Call{ID: "t.1.4", Name: "order", Args: `[1]`}),
			{Role: llm.RoleTool, Results: []llm.Result{
				{CallID: "t.1.1", Name: "order", Content: "P-1"}, {CallID: "t.1.2", Name: "list_orders", Content: `[{"id":7}]`},
				{CallID: "t.1.3", Name: "order", Content: `{"error":"invalid_arguments"}`, Failed: true},
			}},
			user("quick"),
		}},
		// Another model's opaque fields were taken away by the chain; what
		// isn't of this API's form must do no harm.
		"steps": {Tools: cards, Messages: []llm.Message{
			user("a"), bot("", one), {Role: llm.RoleTool, Results: []llm.Result{{CallID: "t.1.1", Name: "order", Content: "P-1"}}},
			{Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "t.2.1", Name: "list_orders", Args: "{}"}}, Opaque: json.RawMessage(`7`), From: "other/m"},
			{Role: llm.RoleTool, Results: []llm.Result{{CallID: "t.2.1", Name: "list_orders", Content: "none", Failed: true}}},
		}},
		"system": {System: []string{"Persona.", " ", "Today is Monday.", "Already done: nothing."}, Messages: []llm.Message{user("hi")}},
		"unicode": {System: []string{"Sé breve: ñandú."}, Messages: []llm.Message{
			user("¿Café? ☕ <b>&amp;</b> \"q\" \\ \t 👩‍👩‍👧 مرحبا 你好 \u2028 \x00"), bot("Ça va 🥐"), user("e\u0301"),
		}},
	}
}

func checkGolden(t *testing.T, name string, got raw) {
	t.Helper()
	file := filepath.Join("testdata", "requests", name+".golden")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got.text(t), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; write it with -update", err)
	}
	if diff := cmp.Diff(string(want), string(got.text(t))); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// raw is a request as it came.
type raw struct {
	target string
	header http.Header
	body   []byte
}

func (r raw) text(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	fmt.Fprintln(&out, r.target)
	for _, key := range slices.Sorted(maps.Keys(r.header)) {
		switch key {
		case "Accept-Encoding", "Content-Length", "User-Agent": // the HTTP client's
		default:
			fmt.Fprintf(&out, "%s: %s\n", key, strings.ReplaceAll(r.header.Get(key), canary, "KEY"))
		}
	}
	out.WriteByte('\n')
	if err := json.Indent(&out, bytes.TrimSpace(r.body), "", "  "); err != nil {
		t.Fatal(err)
	}
	out.WriteByte('\n')
	return out.Bytes()
}
