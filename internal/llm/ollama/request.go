package ollama

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-bot/parley/internal/llm"
)

// wireRequest is the body of a call.
type wireRequest struct {
	Model    string        `json:"model"`
	Messages []wireMessage `json:"messages"`
	Tools    []wireTool    `json:"tools,omitempty"`
	// Stream is always sent: without it the server streams.
	Stream  bool     `json:"stream"`
	Options *options `json:"options,omitempty"`
}

type options struct {
	NumPredict int `json:"num_predict"`
}

type wireMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	Thinking   string     `json:"thinking,omitempty"`
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolName   string     `json:"tool_name,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type wireCall struct {
	ID       string       `json:"id,omitempty"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type wireTool struct {
	Type     string       `json:"type"`
	Function wireToolCard `json:"function"`
}

type wireToolCard struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// opaque is what the chat templates of reasoning models want back with a
// message that has calls.
type opaque struct {
	Thinking string `json:"thinking"`
}

// encode translates a request. Adjacent messages of one role are joined, since
// the chat templates of many models demand alternation.
func (p *Provider) encode(req llm.Request, stream bool) ([]byte, error) {
	wire := wireRequest{Model: p.Model(), Tools: cards(req.Tools), Stream: stream, Messages: []wireMessage{}}
	if req.MaxTokens > 0 {
		wire.Options = &options{req.MaxTokens}
	}
	parts := slices.DeleteFunc(slices.Clone(req.System), func(s string) bool { return strings.TrimSpace(s) == "" })
	if system := strings.Join(parts, "\n\n"); system != "" {
		wire.Messages = append(wire.Messages, wireMessage{Role: "system", Content: system})
	}
	ids := 0
	messages := llm.JoinAdjacent(req.Messages)
	for i, m := range messages {
		switch m.Role {
		case llm.RoleUser:
			wire.Messages = append(wire.Messages, wireMessage{Role: "user", Content: m.Text})
		case llm.RoleAssistant:
			var results []llm.Result
			if i+1 < len(messages) && messages[i+1].Role == llm.RoleTool {
				results = messages[i+1].Results
			}
			wire.Messages = append(wire.Messages, assistant(m, results, &ids)...)
		case llm.RoleTool: // went with the calls they answer
		}
	}
	body, err := json.Marshal(wire)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	return body, nil
}

// assistant translates an assistant's message and the results of its calls,
// which are numbered anew in each request.
func assistant(m llm.Message, results []llm.Result, ids *int) []wireMessage {
	if len(m.Calls) == 0 && m.Text == "" {
		return nil
	}
	head := wireMessage{Role: "assistant", Content: m.Text}
	if len(m.Calls) > 0 {
		var kept opaque
		// What doesn't decode was written by something else; without it the
		// request is still a good one.
		_ = json.Unmarshal(m.Opaque, &kept)
		head.Thinking = kept.Thinking
	}
	out := []wireMessage{head}
	for k, r := range llm.ResultsFor(m.Calls, results) {
		c := m.Calls[k]
		*ids++
		id := fmt.Sprintf("call%05d", *ids)
		out[0].ToolCalls = append(out[0].ToolCalls, wireCall{ID: id, Function: wireFunction{c.Name, llm.ArgsObject(c.Args)}})
		out = append(out, wireMessage{Role: "tool", Content: r.Content, ToolName: c.Name, ToolCallID: id})
	}
	return out
}

func cards(tools []llm.Card) []wireTool {
	out := make([]wireTool, 0, len(tools))
	for _, c := range tools {
		out = append(out, wireTool{Type: "function", Function: wireToolCard{c.Name, c.Description, llm.ObjectSchema(c.Schema)}})
	}
	return out
}

// EncodeCards returns the cards as the API receives them.
func (p *Provider) EncodeCards(tools []llm.Card) (json.RawMessage, error) {
	body, err := json.Marshal(cards(tools))
	if err != nil {
		return nil, fmt.Errorf("encoding the cards of %s: %w", name, err)
	}
	return body, nil
}
