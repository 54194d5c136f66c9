package anthropic

import (
	"bufio"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/llm"
)

// FuzzRead proves that no body, whole or streamed, makes reading panic, or
// gives an answer that breaks the contract or can't be sent again.
func FuzzRead(f *testing.F) {
	for _, body := range seeds() {
		f.Add(body, true)
		f.Add(body, false)
	}
	p, err := New(Config{Model: "m"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string, stream bool) {
		var onText func(string)
		last := ""
		if stream {
			onText = func(text string) {
				if !strings.HasPrefix(text, last) {
					t.Fatalf("%q, then %q", last, text)
				}
				last = text
			}
		}
		got, err := p.read(bufio.NewReader(strings.NewReader(body)), onText)
		if e := p.refused(400, []byte(body)); e.Class == "" || len(e.Error()) > 3000 {
			t.Fatalf("error %q", e)
		}
		if err != nil {
			return
		}
		if got.Stop == "" {
			t.Fatal("no stop reason")
		}
		ids := map[string]bool{}
		for _, c := range got.Calls {
			if c.ID == "" || ids[c.ID] {
				t.Fatalf("id %q is empty or there twice", c.ID)
			}
			ids[c.ID] = true
		}
		again := llm.Request{Messages: []llm.Message{{Role: llm.RoleAssistant, Text: got.Text, Calls: got.Calls, Opaque: got.Opaque}}}
		if _, err := p.encode(again, false); err != nil {
			t.Fatalf("can't be sent again: %v", err)
		}
	})
}

func seeds() []string {
	return []string{
		`{"type":"message","content":[{"type":"thinking","thinking":"a","signature":"s"},{"type":"text","text":"x"},{"type":"tool_use","id":"a","name":"t","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1}}`,
		"data: {\"type\":\"message_start\"}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n",
		`{"type":"error","error":{"type":"overloaded_error","message":"x"}}`, "data: {\"type\":\"error\"}\n", "", "null", "[]",
	}
}
