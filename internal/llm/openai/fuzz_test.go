package openai

import (
	"bufio"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/llm"
)

// FuzzRead proves that no body, whole or streamed, makes reading panic, or
// gives an answer that breaks the contract.
func FuzzRead(f *testing.F) {
	for _, body := range []string{
		`{"choices":[{"message":{"content":"x","tool_calls":[{"id":"a","function":{"name":"t","arguments":{"a":1}}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`,
		"data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n",
		`{"error":{"message":["a"],"code":429}}`, "data: {\"error\":\"x\"}\n", "", "null", "[]", `{"choices":[{"delta":null}]}`,
	} {
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
		_ = p.refused(400, []byte(body))
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
		// What was read can be sent again.
		again := llm.Request{Messages: []llm.Message{{Role: llm.RoleAssistant, Text: got.Text, Calls: got.Calls, Opaque: got.Opaque}}}
		if _, err := p.encode(again, stream); err != nil {
			t.Fatalf("can't be sent again: %v", err)
		}
	})
}
