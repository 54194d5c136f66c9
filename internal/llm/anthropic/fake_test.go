package anthropic_test

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

// dialect is a fake of the Messages API.
type dialect struct{}

var _ llmtest.Backend = dialect{}

type object = map[string]any

// Every model of the API takes tools.
func (dialect) Lacks(s llmtest.Scenario) bool { return s == llmtest.NoTools }

func stopReason(a llmtest.Answer) any {
	switch {
	case a.Unfinished:
		return nil
	case a.Refusal != "":
		return "refusal"
	}
	return cmp.Or(a.RawStop, map[llm.Stop]string{
		llm.StopEnd: "end_turn", llm.StopCalls: "tool_use", llm.StopLength: "max_tokens", llm.StopFilter: "refusal",
	}[a.Stop])
}

// usage splits what was read between the cache and the rest.
func usage(a llmtest.Answer) object {
	cached := a.Usage.Input / 2
	return object{"input_tokens": a.Usage.Input - cached, "cache_read_input_tokens": cached, "output_tokens": a.Usage.Output}
}

func input(args string) any {
	switch {
	case args == "":
		return object{}
	case json.Valid([]byte(args)):
		return json.RawMessage(args)
	default:
		return args
	}
}

func (dialect) Answer(w http.ResponseWriter, _ *http.Request, body []byte, a llmtest.Answer) {
	var req struct{ Stream bool }
	_ = json.Unmarshal(body, &req)
	if req.Stream {
		stream(w, a)
		return
	}
	content := []object{}
	if a.Opaque != "" {
		content = append(content, object{"type": "thinking", "thinking": "hm", "signature": a.Opaque})
	}
	if text := strings.Join(a.Pieces, "") + a.Refusal; text != "" {
		content = append(content, object{"type": "text", "text": text})
	}
	for _, c := range a.Calls {
		content = append(content, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": input(c.Args)})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object{
		"id": "msg_1", "type": "message", "role": "assistant", "content": content, "stop_reason": stopReason(a), "usage": usage(a),
	})
}

func stream(w http.ResponseWriter, a llmtest.Answer) {
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(kind string, v object) {
		v["type"] = kind
		raw, _ := json.Marshal(v)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, raw)
		_ = http.NewResponseController(w).Flush()
	}
	index := 0
	blocks := func(start object, deltas ...object) {
		event("content_block_start", object{"index": index, "content_block": start})
		for _, d := range deltas {
			event("content_block_delta", object{"index": index, "delta": d})
		}
		event("content_block_stop", object{"index": index})
		index++
	}
	event("message_start", object{"message": object{"type": "message", "content": []object{}, "stop_reason": nil,
		"usage": object{"input_tokens": a.Usage.Input, "output_tokens": min(a.Usage.Output, 1)}}})
	event("ping", object{})
	if a.Opaque != "" {
		blocks(object{"type": "thinking", "thinking": "", "signature": ""}, object{"type": "thinking_delta", "thinking": "hm"},
			object{"type": "signature_delta", "signature": a.Opaque})
	}
	pieces := a.Pieces
	if a.Refusal != "" {
		pieces = append(pieces, a.Refusal)
	}
	if len(pieces) > 0 {
		var deltas []object
		for _, piece := range pieces {
			deltas = append(deltas, object{"type": "text_delta", "text": piece})
		}
		blocks(object{"type": "text", "text": ""}, deltas...)
	}
	for _, c := range a.Calls {
		start := object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}
		if a.Object {
			start["input"] = input(c.Args)
			blocks(start)
			continue
		}
		half := len(c.Args) / 2
		blocks(start, object{"type": "input_json_delta", "partial_json": ""}, object{"type": "input_json_delta", "partial_json": c.Args[:half]},
			object{"type": "input_json_delta", "partial_json": c.Args[half:]})
	}
	if a.ErrorEvent {
		event("error", object{"error": object{"type": "api_error", "message": "Internal server error"}})
	}
	if a.Unfinished {
		return
	}
	event("message_delta", object{"delta": object{"stop_reason": stopReason(a)}, "usage": object{"output_tokens": a.Usage.Output}})
	event("message_stop", object{})
}

func (dialect) Fail(w http.ResponseWriter, f llmtest.Failure) {
	status, kind, message := 400, "invalid_request_error", f.Message
	switch f.Class {
	case llm.RateLimited:
		status, kind = 429, "rate_limit_error"
	case llm.Overloaded:
		status, kind = 529, "overloaded_error"
	case llm.Temporary:
		status, kind = 500, "api_error"
	case llm.Auth:
		status, kind = 401, "authentication_error"
	case llm.ContextTooLong:
		message = "prompt is too long: 210000 tokens > 200000 maximum; " + message
	case llm.Filtered:
		message = "Output blocked by content filtering policy; " + message
	default: // 400 is BadRequest
	}
	if f.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.After.Seconds())))
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_1"})
}

type seenBlock struct {
	Type, Text, ID, Name, Content, Thinking, Signature string
	Input                                              json.RawMessage
	ToolUseID                                          string `json:"tool_use_id"`
}

// check refuses what the API refuses.
func check(r *http.Request, model string, maxTokens int) error {
	switch {
	case r.URL.Path != "/v1/messages" || r.Method != http.MethodPost:
		return fmt.Errorf("%s %s", r.Method, r.URL.Path)
	case r.Header.Get("Anthropic-Version") != "2023-06-01":
		return errors.New("no version")
	case model != "model-1" || maxTokens < 1:
		return fmt.Errorf("model %q, max_tokens %d", model, maxTokens)
	}
	return nil
}

func (dialect) Read(r *http.Request, body []byte) (llmtest.Seen, error) {
	var req struct {
		Model    string
		System   []seenBlock
		Messages []struct {
			Role    string
			Content []seenBlock
		}
		Tools []struct {
			Name, Description string
			InputSchema       json.RawMessage `json:"input_schema"`
		}
		MaxTokens int `json:"max_tokens"`
		Stream    bool
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return llmtest.Seen{}, err
	}
	if err := check(r, req.Model, req.MaxTokens); err != nil {
		return llmtest.Seen{}, err
	}
	seen := llmtest.Seen{MaxTokens: req.MaxTokens, Stream: req.Stream, Key: r.Header.Get("X-Api-Key")}
	for _, b := range req.System {
		seen.System += b.Text
	}
	for i, m := range req.Messages {
		if i > 0 && req.Messages[i-1].Role == m.Role {
			return seen, errors.New("roles don't alternate")
		}
		out := llm.Message{Role: llm.Role(m.Role)}
		for n, b := range m.Content {
			switch b.Type {
			case "text":
				if strings.TrimSpace(b.Text) == "" {
					return seen, errors.New("text content blocks must be non-empty")
				}
				out.Text += b.Text
			case "tool_use":
				out.Calls = append(out.Calls, llm.Call{ID: b.ID, Name: b.Name, Args: string(b.Input)})
			case "tool_result":
				out.Role = llm.RoleTool
				out.Results = append(out.Results, llm.Result{CallID: b.ToolUseID, Content: b.Content})
			case "thinking":
				if n != 0 || b.Thinking != "hm" {
					return seen, errors.New("thinking isn't first, or changed")
				}
				seen.Opaque += b.Signature
			default:
				return seen, fmt.Errorf("a block of type %q", b.Type)
			}
		}
		seen.Messages = append(seen.Messages, out)
	}
	for _, tool := range req.Tools {
		seen.Tools = append(seen.Tools, llm.Card{Name: tool.Name, Description: tool.Description, Schema: tool.InputSchema})
	}
	return seen, nil
}
