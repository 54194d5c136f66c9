package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parley-bot/parley/internal/llm"
)

// wireRequest is the body of a call. No temperature: some models refuse any.
type wireRequest struct {
	Model     string        `json:"model"`
	MaxTokens int           `json:"max_tokens"`
	System    []block       `json:"system,omitempty"`
	Messages  []wireMessage `json:"messages"`
	Tools     []wireTool    `json:"tools,omitempty"`
	Stream    bool          `json:"stream,omitempty"`
}

type wireMessage struct {
	Role string `json:"role"`
	// Content holds blocks; those that are opaque are as they came.
	Content []any `json:"content"`
}

type block struct {
	Type         string        `json:"type"`
	Text         string        `json:"text"`
	CacheControl *cacheControl `json:"cache_control,omitempty"`
}

type cacheControl struct {
	Type string `json:"type"`
}

type toolUse struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type toolResult struct {
	Type      string `json:"type"`
	ToolUseID string `json:"tool_use_id"`
	Content   string `json:"content"`
	IsError   bool   `json:"is_error,omitempty"`
}

type wireTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// encode translates a request. Blank texts are left out, since the API refuses
// them.
func (p *Provider) encode(req llm.Request, stream bool) ([]byte, error) {
	wire := wireRequest{Model: p.Model(), MaxTokens: req.MaxTokens, Tools: cards(req.Tools), Stream: stream}
	if wire.MaxTokens <= 0 {
		wire.MaxTokens = defaultMaxTokens
	}
	for _, part := range req.System {
		if strings.TrimSpace(part) != "" {
			wire.System = append(wire.System, block{Type: "text", Text: part})
		}
	}
	if len(wire.System) > 0 {
		// The tools and the first part change least. The next step of the
		// turn, at the latest, reads them from the API's cache.
		wire.System[0].CacheControl = &cacheControl{Type: "ephemeral"}
	}
	ids := 0
	messages := llm.JoinAdjacent(req.Messages)
	for i, m := range messages {
		switch m.Role {
		case llm.RoleUser:
			wire.add("user", text(m.Text)...)
		case llm.RoleAssistant:
			var results []llm.Result
			if i+1 < len(messages) && messages[i+1].Role == llm.RoleTool {
				results = messages[i+1].Results
			}
			wire.addAssistant(m, results, &ids)
		case llm.RoleTool: // went with the calls they answer
		}
	}
	body, err := json.Marshal(wire)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	return body, nil
}

// add appends blocks, to the last message where it is of the same role: results
// and the person's next words are one message, results first.
func (w *wireRequest) add(role string, blocks ...any) {
	if len(blocks) == 0 {
		return
	}
	if last := len(w.Messages) - 1; last >= 0 && w.Messages[last].Role == role {
		w.Messages[last].Content = append(w.Messages[last].Content, blocks...)
		return
	}
	w.Messages = append(w.Messages, wireMessage{Role: role, Content: blocks})
}

// addAssistant translates an assistant's message and the results of its calls.
// Calls are numbered anew in each request, so ids that repeat, are missing, or
// have letters that the API refuses don't matter.
func (w *wireRequest) addAssistant(m llm.Message, results []llm.Result, ids *int) {
	var said, answers []any
	if len(m.Calls) > 0 {
		// What doesn't decode was written by something else; without it the
		// request is still a good one.
		var thinking []json.RawMessage
		_ = json.Unmarshal(m.Opaque, &thinking)
		for _, raw := range thinking {
			said = append(said, raw)
		}
	}
	said = append(said, text(m.Text)...)
	for k, r := range llm.ResultsFor(m.Calls, results) {
		*ids++
		id := fmt.Sprintf("call%05d", *ids)
		said = append(said, toolUse{Type: "tool_use", ID: id, Name: m.Calls[k].Name, Input: llm.ArgsObject(m.Calls[k].Args)})
		answers = append(answers, toolResult{Type: "tool_result", ToolUseID: id, Content: r.Content, IsError: r.Failed})
	}
	w.add("assistant", said...)
	w.add("user", answers...)
}

func text(s string) []any {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return []any{block{Type: "text", Text: s}}
}

func cards(tools []llm.Card) []wireTool {
	out := make([]wireTool, 0, len(tools))
	for _, c := range tools {
		out = append(out, wireTool{Name: c.Name, Description: c.Description, InputSchema: llm.ObjectSchema(c.Schema)})
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
