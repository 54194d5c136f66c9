package gemini

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
		`{"candidates":[{"content":{"parts":[{"text":"x","thoughtSignature":"s"},{"functionCall":{"name":"t","args":{"a":1}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1}}`,
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"x\"}]}}]}\n\ndata: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n",
		`{"promptFeedback":{"blockReason":"SAFETY"}}`, `[{"error":{"code":429,"details":[{"retryDelay":"3s"}]}}]`, "data: {\"error\":{}}\n", "", "null", "[]",
	}
}

// FuzzSubset proves that no schema makes the cleaning panic, hang or grow
// without bound.
func FuzzSubset(f *testing.F) {
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"type":["string","null"]}},"required":["a","zz"]}`,
		`{"$defs":{"x":{"anyOf":[{"$ref":"#/$defs/x"},{"$ref":"#/$defs/x"}]}},"properties":{"a":{"$ref":"#/$defs/x"}}}`,
		`{"allOf":[{"$ref":"#"},{"properties":{"a":{"enum":[1,null,"x"]}}}]}`, "true", "null", "[]", `{"properties":{"a":true}}`,
	} {
		f.Add(schema)
	}
	f.Fuzz(func(t *testing.T, schema string) {
		if got := subsetOf([]byte(schema)); len(got) > 1<<20+40*len(schema)*maxNodes {
			t.Fatalf("%d bytes made %d", len(schema), len(got))
		}
	})
}
