package anthropic

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
		`{"type":"message","content":[{"type":"thinking","thinking":"a","signature":"s"},{"type":"text","text":"x"},{"type":"tool_use","id":"a","name":"t","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1}}`,
		"data: {\"type\":\"message_start\"}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n",
		`{"type":"error","error":{"type":"overloaded_error","message":"x"}}`, "data: {\"type\":\"error\"}\n",
	}
}
