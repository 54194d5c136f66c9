package openai

import (
	"testing"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/llm/llmtest"
)

// FuzzRead: see llmtest.FuzzAnswers.
func FuzzRead(f *testing.F) {
	p, err := New(Config{Endpoint: llm.Endpoint{Model: "m"}})
	if err != nil {
		f.Fatal(err)
	}
	llmtest.FuzzAnswers(f, llmtest.Wire{
		Read: p.read, Refused: p.refused,
		Encode: func(req llm.Request) error {
			_, err := p.encode(req, false)
			return err
		},
	}, []string{
		`{"choices":[{"message":{"content":"x","tool_calls":[{"id":"a","function":{"name":"t","arguments":{"a":1}}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`,
		"data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n",
		`{"error":{"message":["a"],"code":429}}`, "data: {\"error\":\"x\"}\n", `{"choices":[{"delta":null}]}`,
	})
}
