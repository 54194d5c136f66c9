package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/parley-bot/parley/internal/llm"
)

// wireRequest is the body of a call. No temperature: reasoning models refuse
// any but their own.
type wireRequest struct {
	Model               string             `json:"model"`
	Messages            []wireMessage      `json:"messages"`
	Tools               []sdk.Tool         `json:"tools,omitempty"`
	MaxTokens           int                `json:"max_tokens,omitempty"`
	MaxCompletionTokens int                `json:"max_completion_tokens,omitempty"`
	Stream              bool               `json:"stream,omitempty"`
	StreamOptions       *sdk.StreamOptions `json:"stream_options,omitempty"`
}

type wireMessage struct {
	Role string `json:"role"`
	// Content is null beside calls only: some servers refuse null elsewhere,
	// others an empty text there.
	Content    *string    `json:"content"`
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	opaque
}

type wireCall struct {
	ID           string          `json:"id"`
	Type         string          `json:"type"`
	Function     wireFunction    `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content,omitempty"`
}

type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// opaque is what some servers want back with a message that has calls:
// reasoning_content (DeepSeek, Moonshot) and reasoning_details (OpenRouter).
type opaque struct {
	ReasoningContent string            `json:"reasoning_content,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
}

func (o opaque) empty() bool { return o.ReasoningContent == "" && len(o.ReasoningDetails) == 0 }

// encode translates a request. Adjacent messages of one role are joined, since
// the chat templates of many open models demand alternation.
func (p *Provider) encode(req llm.Request, stream bool) ([]byte, error) {
	wire := wireRequest{Model: p.Model(), Tools: cards(req.Tools), Stream: stream}
	if p.completionTokens {
		wire.MaxCompletionTokens = req.MaxTokens
	} else {
		wire.MaxTokens = req.MaxTokens
	}
	if stream && !p.cfg.NoStreamOptions {
		wire.StreamOptions = &sdk.StreamOptions{IncludeUsage: true}
	}
	if system := strings.Join(req.System, "\n\n"); system != "" {
		wire.Messages = append(wire.Messages, wireMessage{Role: sdk.ChatMessageRoleSystem, Content: &system})
	}
	ids := 0
	messages := llm.JoinAdjacent(req.Messages)
	for i, m := range messages {
		switch m.Role {
		case llm.RoleUser:
			wire.Messages = append(wire.Messages, wireMessage{Role: sdk.ChatMessageRoleUser, Content: &m.Text})
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

// assistant translates an assistant's message and the results of its calls.
//
// Calls are numbered anew in each request, in nine letters and digits: OpenAI
// takes ids of 40 bytes at the most, Mistral exactly this form. So ids that
// repeat or are missing don't matter either.
func assistant(m llm.Message, results []llm.Result, ids *int) []wireMessage {
	if len(m.Calls) == 0 {
		if m.Text == "" {
			return nil
		}
		return []wireMessage{{Role: sdk.ChatMessageRoleAssistant, Content: &m.Text}}
	}
	head := wireMessage{Role: sdk.ChatMessageRoleAssistant}
	if m.Text != "" {
		head.Content = &m.Text
	}
	if len(m.Opaque) > 0 {
		// What doesn't decode was written by something else; without it
		// the request is still a good one.
		_ = json.Unmarshal(m.Opaque, &head.opaque)
	}
	out := []wireMessage{head}
	for k, r := range llm.ResultsFor(m.Calls, results) {
		c := m.Calls[k]
		*ids++
		id := fmt.Sprintf("call%05d", *ids)
		out[0].ToolCalls = append(out[0].ToolCalls, wireCall{
			ID: id, Type: string(sdk.ToolTypeFunction),
			Function:     wireFunction{Name: c.Name, Arguments: string(llm.ArgsObject(c.Args))},
			ExtraContent: c.Opaque,
		})
		out = append(out, wireMessage{Role: sdk.ChatMessageRoleTool, ToolCallID: id, Content: &r.Content})
	}
	return out
}

func cards(tools []llm.Card) []sdk.Tool {
	out := make([]sdk.Tool, 0, len(tools))
	for _, c := range tools {
		out = append(out, sdk.Tool{Type: sdk.ToolTypeFunction, Function: &sdk.FunctionDefinition{
			Name: c.Name, Description: c.Description, Parameters: llm.ObjectSchema(c.Schema),
		}})
	}
	return out
}

// EncodeCards returns the cards as the API receives them.
func (p *Provider) EncodeCards(tools []llm.Card) (json.RawMessage, error) {
	body, err := json.Marshal(cards(tools))
	if err != nil {
		return nil, fmt.Errorf("encoding the cards of %s: %w", p.Name(), err)
	}
	return body, nil
}
