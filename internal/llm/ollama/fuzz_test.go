package ollama

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
		`{"message":{"content":"x","thinking":"y","tool_calls":[{"function":{"name":"t","arguments":{"a":1}}}]},"done":true,"done_reason":"stop","eval_count":1}`,
		"{\"message\":{\"content\":\"x\"},\"done\":false}\n{\"message\":{\"content\":\"y\"},\"done\":true}\n",
		`{"error":"x"}`, `{"error":{"message":"x"}}`, `{"done":true}`,
	}
}
