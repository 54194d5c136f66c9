package ollama_test

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

// dialect is a fake of /api/chat.
type dialect struct{}

var _ llmtest.Backend = dialect{}

type object = map[string]any

// Local models have no filters, and refuse in words.
func (dialect) Lacks(s llmtest.Scenario) bool {
	return s == llmtest.Refusal || s == llmtest.Filtered
}

func calls(a llmtest.Answer) []object {
	var out []object
	for _, c := range a.Calls {
		function := object{"name": c.Name, "arguments": c.Args}
		if json.Valid([]byte(c.Args)) {
			function["arguments"] = json.RawMessage(c.Args)
		}
		call := object{"function": function}
		if c.ID != "" {
			call["id"] = c.ID
		}
		out = append(out, call)
	}
	return out
}

func (dialect) Answer(w http.ResponseWriter, _ *http.Request, body []byte, a llmtest.Answer) {
	var req struct{ Stream bool }
	_ = json.Unmarshal(body, &req)
	reason := cmp.Or(a.RawStop, map[llm.Stop]string{
		llm.StopEnd: "stop", llm.StopCalls: "stop", llm.StopLength: "length", llm.StopFilter: "content_filter",
	}[a.Stop])
	line := func(message object, done bool) {
		out := object{"model": "model-1", "created_at": "2026-11-30T00:00:00Z", "message": message, "done": done}
		if done {
			out["done_reason"], out["prompt_eval_count"], out["eval_count"] = reason, a.Usage.Input, a.Usage.Output
		}
		_ = json.NewEncoder(w).Encode(out)
		_ = http.NewResponseController(w).Flush()
	}
	if !req.Stream {
		line(object{"role": "assistant", "content": strings.Join(a.Pieces, ""), "thinking": a.Opaque, "tool_calls": calls(a)}, true)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	if a.Opaque != "" {
		line(object{"role": "assistant", "content": "", "thinking": a.Opaque[:3]}, false)
		line(object{"role": "assistant", "content": "", "thinking": a.Opaque[3:]}, false)
	}
	for _, piece := range a.Pieces {
		line(object{"role": "assistant", "content": piece}, false)
	}
	for _, c := range calls(a) {
		line(object{"role": "assistant", "content": "", "tool_calls": []object{c}}, false)
	}
	if a.ErrorEvent {
		_ = json.NewEncoder(w).Encode(object{"error": "an error was encountered while running the model"})
	}
	if !a.Unfinished {
		line(object{"role": "assistant", "content": ""}, true)
	}
}

func (dialect) Fail(w http.ResponseWriter, f llmtest.Failure) {
	status, message := 400, f.Message
	switch f.Class {
	case llm.RateLimited:
		status = 429
	case llm.Overloaded:
		status, message = 503, "server busy, please try again.  maximum pending requests exceeded; "+message
	case llm.Temporary:
		status = 500
	case llm.Auth:
		status = 401
	case llm.ContextTooLong:
		message = "the input length exceeds the context length; " + message
	case llm.NoTools:
		message = "registry.ollama.ai/library/model-1 does not support tools; " + message
	default: // 400 is BadRequest
	}
	if f.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.After.Seconds())))
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(object{"error": message})
}

func (dialect) Read(r *http.Request, body []byte) (llmtest.Seen, error) {
	var req struct {
		Model    string
		Messages []struct {
			Role, Content, Thinking string
			ToolCalls               []struct {
				ID       string
				Function struct {
					Name      string
					Arguments json.RawMessage
				}
			} `json:"tool_calls"`
			ToolName   string `json:"tool_name"`
			ToolCallID string `json:"tool_call_id"`
		}
		Tools []struct {
			Type     string
			Function struct {
				Name, Description string
				Parameters        json.RawMessage
			}
		}
		Stream  *bool
		Options struct {
			NumPredict int `json:"num_predict"`
		}
	}
	if r.URL.Path != "/api/chat" || r.Method != http.MethodPost {
		return llmtest.Seen{}, fmt.Errorf("%s %s", r.Method, r.URL.Path)
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return llmtest.Seen{}, err
	}
	if req.Model != "model-1" || req.Stream == nil {
		return llmtest.Seen{}, fmt.Errorf("model %q, stream %v", req.Model, req.Stream)
	}
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	seen := llmtest.Seen{MaxTokens: req.Options.NumPredict, Stream: *req.Stream, Key: key}
	for _, m := range req.Messages {
		out := llm.Message{Role: llm.Role(m.Role), Text: m.Content}
		seen.Opaque += m.Thinking
		switch m.Role {
		case "system":
			seen.System += m.Content
			continue
		case "tool":
			result := llm.Result{CallID: m.ToolCallID, Name: m.ToolName, Content: m.Content}
			if m.ToolName == "" {
				return seen, errors.New("a result without the tool's name")
			}
			if last := len(seen.Messages) - 1; seen.Messages[last].Role == llm.RoleTool {
				seen.Messages[last].Results = append(seen.Messages[last].Results, result)
				continue
			}
			out = llm.Message{Role: llm.RoleTool, Results: []llm.Result{result}}
		}
		for _, c := range m.ToolCalls {
			out.Calls = append(out.Calls, llm.Call{ID: c.ID, Name: c.Function.Name, Args: string(c.Function.Arguments)})
		}
		seen.Messages = append(seen.Messages, out)
	}
	for _, tool := range req.Tools {
		seen.Tools = append(seen.Tools, llm.Card{Name: tool.Function.Name, Description: tool.Function.Description, Schema: tool.Function.Parameters})
	}
	return seen, nil
}
