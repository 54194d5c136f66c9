package gemini

import (
	"testing"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/llm/llmtest"
)

// FuzzRead: see llmtest.FuzzAnswers.
func FuzzRead(f *testing.F) {
	p, err := New(llm.Endpoint{Model: "m"})
	if err != nil {
		f.Fatal(err)
	}
	llmtest.FuzzAnswers(f, llmtest.Wire{
		Read: p.read, Refused: p.refused,
		Encode: func(req llm.Request) error {
			_, err := p.encode(req, false)
			return err
		},
	}, seeds())
}

func seeds() []string {
	return []string{
		`{"candidates":[{"content":{"parts":[{"text":"x","thoughtSignature":"s"},{"functionCall":{"name":"t","args":{"a":1}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1}}`,
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"x\"}]}}]}\n\ndata: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n",
		`{"promptFeedback":{"blockReason":"SAFETY"}}`, `[{"error":{"code":429,"details":[{"retryDelay":"3s"}]}}]`, "data: {\"error\":{}}\n",
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
