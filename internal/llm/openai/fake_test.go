package openai_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/llm/llmtest"
)

// dialect is a fake of the chat completions API.
type dialect struct{}

var _ llmtest.Backend = dialect{}

type object = map[string]any

func (dialect) Lacks(llmtest.Scenario) bool { return false }

func finishReason(a llmtest.Answer) any {
	if a.Unfinished {
		return nil
	}
	return cmp.Or(a.RawStop, map[llm.Stop]string{
		llm.StopEnd: "stop", llm.StopCalls: "tool_calls", llm.StopLength: "length", llm.StopFilter: "content_filter",
	}[a.Stop])
}

func usage(a llmtest.Answer) any {
	if a.Usage == (llm.Usage{}) {
		return nil
	}
	return object{"prompt_tokens": a.Usage.Input, "completion_tokens": a.Usage.Output, "total_tokens": a.Usage.Input + a.Usage.Output}
}

func toolCall(a llmtest.Answer, i int) object {
	c := a.Calls[i]
	function := object{"name": c.Name, "arguments": c.Args}
	if a.Object {
		function["arguments"] = json.RawMessage(c.Args)
	}
	out := object{"type": "function", "function": function}
	if c.ID != "" {
		out["id"] = c.ID
	}
	return out
}

func (dialect) Answer(w http.ResponseWriter, _ *http.Request, body []byte, a llmtest.Answer) {
	var req struct{ Stream bool }
	_ = json.Unmarshal(body, &req)
	if req.Stream {
		stream(w, a)
		return
	}
	message := object{"role": "assistant", "content": nil}
	if len(a.Pieces) > 0 {
		message["content"] = strings.Join(a.Pieces, "")
	}
	if a.Refusal != "" {
		message["refusal"] = a.Refusal
	}
	if a.Opaque != "" {
		message["reasoning_content"] = a.Opaque
	}
	var calls []object
	for i := range a.Calls {
		calls = append(calls, toolCall(a, i))
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1.5, "model": "model-1-2026",
		"choices": []object{{"index": 0, "message": message, "finish_reason": finishReason(a)}}, "usage": usage(a),
	})
}

// stream writes the answer in pieces, the arguments split within a rune.
func stream(w http.ResponseWriter, a llmtest.Answer) {
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(v any) {
		raw, _ := json.Marshal(v)
		_, _ = fmt.Fprintf(w, "data: %s\n\n", raw)
		_ = http.NewResponseController(w).Flush()
	}
	delta := func(d object, finish any) {
		event(object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "usage": nil,
			"choices": []object{{"index": 0, "delta": d, "finish_reason": finish}}})
	}
	_, _ = fmt.Fprint(w, ": PROCESSING\n\n")
	delta(object{"role": "assistant", "content": ""}, nil)
	if a.Opaque != "" {
		delta(object{"reasoning_content": a.Opaque[:3]}, nil)
		delta(object{"reasoning_content": a.Opaque[3:]}, nil)
	}
	for _, piece := range a.Pieces {
		delta(object{"content": piece}, nil)
	}
	if a.Refusal != "" {
		delta(object{"refusal": a.Refusal}, nil)
	}
	for i, c := range a.Calls {
		call := toolCall(a, i)
		call["index"] = i
		half := len(c.Args) / 2
		if !a.Object {
			call["function"] = object{"name": c.Name, "arguments": c.Args[:half]}
		}
		delta(object{"tool_calls": []object{call}}, nil)
		if !a.Object {
			delta(object{"tool_calls": []object{{"index": i, "function": object{"arguments": c.Args[half:]}}}}, nil)
		}
	}
	if a.ErrorEvent {
		event(object{"error": object{"message": "The server had an error", "type": "server_error"}})
	}
	if a.Unfinished {
		return
	}
	delta(object{}, finishReason(a))
	if u := usage(a); u != nil {
		event(object{"id": "chatcmpl-1", "choices": []object{}, "usage": u})
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}

func (dialect) Fail(w http.ResponseWriter, f llmtest.Failure) {
	status, code, message := 400, "", f.Message
	switch f.Class {
	case llm.RateLimited:
		status, code = 429, "rate_limit_exceeded"
	case llm.Overloaded:
		status = 503
	case llm.Temporary:
		status = 500
	case llm.Auth:
		status, code = 401, "invalid_api_key"
	case llm.ContextTooLong:
		code = "context_length_exceeded"
	case llm.Filtered:
		code = "content_filter"
	case llm.NoTools:
		message = "model-1 does not support tools: " + message
	default: // 400 is BadRequest
	}
	if f.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.After.Seconds())))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(object{"error": object{"message": message, "type": "some_error", "param": nil, "code": code}})
}

func (dialect) Read(r *http.Request, body []byte) (llmtest.Seen, error) {
	var req struct {
		Model    string
		Messages []struct {
			Role      string
			Content   *string
			ToolCalls []struct {
				ID, Type string
				Function *struct {
					Name      string
					Arguments *string
				}
			} `json:"tool_calls"`
			ToolCallID       string `json:"tool_call_id"`
			ReasoningContent string `json:"reasoning_content"`
		}
		Tools []struct {
			Type     string
			Function struct {
				Name, Description string
				Parameters        json.RawMessage
			}
		}
		MaxTokens int `json:"max_tokens"`
		Stream    bool
	}
	if r.URL.Path != "/v1/chat/completions" || r.Method != http.MethodPost {
		return llmtest.Seen{}, fmt.Errorf("%s %s", r.Method, r.URL.Path)
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return llmtest.Seen{}, err
	}
	if req.Model != "model-1" {
		return llmtest.Seen{}, fmt.Errorf("model %q", req.Model)
	}
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	seen := llmtest.Seen{MaxTokens: req.MaxTokens, Stream: req.Stream, Key: key}
	for _, m := range req.Messages {
		if m.Content == nil && len(m.ToolCalls) == 0 {
			return seen, errors.New("a message without content")
		}
		out := llm.Message{Role: llm.Role(m.Role)}
		if m.Content != nil {
			out.Text = *m.Content
		}
		seen.Opaque += m.ReasoningContent
		switch m.Role {
		case "system":
			seen.System += out.Text
			continue
		case "tool":
			result := llm.Result{CallID: m.ToolCallID, Content: out.Text}
			if last := len(seen.Messages) - 1; seen.Messages[last].Role == llm.RoleTool {
				seen.Messages[last].Results = append(seen.Messages[last].Results, result)
				continue
			}
			out = llm.Message{Role: llm.RoleTool, Results: []llm.Result{result}}
		}
		for _, c := range m.ToolCalls {
			if c.Type != "function" || c.Function == nil || c.Function.Arguments == nil || len(c.ID) > 40 {
				return seen, fmt.Errorf("a call that the API refuses: %+v", c)
			}
			out.Calls = append(out.Calls, llm.Call{ID: c.ID, Name: c.Function.Name, Args: *c.Function.Arguments})
		}
		seen.Messages = append(seen.Messages, out)
	}
	for _, tool := range req.Tools {
		seen.Tools = append(seen.Tools, llm.Card{Name: tool.Function.Name, Description: tool.Function.Description, Schema: tool.Function.Parameters})
	}
	return seen, nil
}
