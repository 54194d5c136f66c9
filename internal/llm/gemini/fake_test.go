package gemini_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/llm/llmtest"
)

// dialect is a fake of generateContent and streamGenerateContent.
type dialect struct{}

var _ llmtest.Backend = dialect{}

type object = map[string]any

// A refusal is a finish reason here, and a filtered request is a 200, which
// tests of this package prove.
func (dialect) Lacks(s llmtest.Scenario) bool { return s == llmtest.Refusal || s == llmtest.Filtered }

func args(c llm.Call) any {
	switch {
	case c.Args == "":
		return nil
	case json.Valid([]byte(c.Args)):
		return json.RawMessage(c.Args)
	default:
		return c.Args
	}
}

func (dialect) Answer(w http.ResponseWriter, r *http.Request, _ []byte, a llmtest.Answer) {
	finish := cmp.Or(a.RawStop, map[llm.Stop]string{
		llm.StopEnd: "STOP", llm.StopCalls: "STOP", llm.StopLength: "MAX_TOKENS", llm.StopFilter: "SAFETY",
	}[a.Stop])
	var parts []object
	for _, piece := range a.Pieces {
		parts = append(parts, object{"text": piece})
	}
	var calls []object
	for i, c := range a.Calls {
		call := object{"name": c.Name, "args": args(c)}
		if c.ID != "" {
			call["id"] = c.ID
		}
		part := object{"functionCall": call}
		if a.Opaque != "" && i == 0 {
			part["thoughtSignature"] = a.Opaque
		}
		calls = append(calls, part)
	}
	last := object{"content": object{"role": "model", "parts": calls}}
	if !a.Unfinished {
		last["finishReason"] = finish
	}
	usage := object{"promptTokenCount": a.Usage.Input, "candidatesTokenCount": a.Usage.Output}
	if a.Usage.Output > 2 {
		usage["candidatesTokenCount"], usage["thoughtsTokenCount"] = a.Usage.Output-2, 2
	}
	if r.URL.Query().Get("alt") != "sse" {
		last["content"] = object{"role": "model", "parts": append(parts, calls...)}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object{"candidates": []object{last}, "usageMetadata": usage})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(v object) {
		raw, _ := json.Marshal(v)
		_, _ = fmt.Fprintf(w, "data: %s\r\n\r\n", raw)
		_ = http.NewResponseController(w).Flush()
	}
	for _, part := range append([]object{{"text": "a summary", "thought": true}}, parts...) {
		event(object{"candidates": []object{{"content": object{"role": "model", "parts": []object{part}}}},
			"usageMetadata": object{"promptTokenCount": a.Usage.Input}})
	}
	if a.ErrorEvent {
		event(object{"error": object{"code": 500, "message": "internal", "status": "INTERNAL"}})
	}
	if !a.Unfinished || calls != nil {
		event(object{"candidates": []object{last}, "usageMetadata": usage})
	}
}

func (dialect) Fail(w http.ResponseWriter, f llmtest.Failure) {
	status, code, message := 400, "INVALID_ARGUMENT", f.Message
	details := []object{{"@type": "type.googleapis.com/google.rpc.Help"}}
	switch f.Class {
	case llm.RateLimited:
		status, code = 429, "RESOURCE_EXHAUSTED"
	case llm.Overloaded:
		status, code = 503, "UNAVAILABLE"
	case llm.Temporary:
		status, code = 500, "INTERNAL"
	case llm.Auth:
		details = append(details, object{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"})
	case llm.ContextTooLong:
		message = "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576). " + message
	case llm.NoTools:
		message = "Function calling is not enabled for models/model-1. " + message
	default: // 400 is BadRequest
	}
	if f.After > 0 { // in the body, as the API does
		details = append(details, object{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f.After.String()})
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(object{"error": object{"code": status, "message": message, "status": code, "details": details}})
}

type seenContent struct {
	Role  string
	Parts []struct {
		Text         string
		FunctionCall *struct {
			ID, Name string
			Args     json.RawMessage
		}
		FunctionResponse *struct {
			ID, Name string
			Response json.RawMessage
		}
		ThoughtSignature string
	}
}

func (dialect) Read(r *http.Request, body []byte) (llmtest.Seen, error) {
	var req struct {
		SystemInstruction seenContent
		Contents          []seenContent
		Tools             []struct {
			FunctionDeclarations []struct {
				Name, Description    string
				ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
			}
		}
		GenerationConfig struct{ MaxOutputTokens int }
	}
	stream := r.URL.Path == "/v1beta/models/model-1:streamGenerateContent" && r.URL.RawQuery == "alt=sse"
	if r.Method != http.MethodPost || !stream && r.URL.String() != "/v1beta/models/model-1:generateContent" {
		return llmtest.Seen{}, fmt.Errorf("%s %s", r.Method, r.URL)
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return llmtest.Seen{}, err
	}
	seen := llmtest.Seen{MaxTokens: req.GenerationConfig.MaxOutputTokens, Stream: stream, Key: r.Header.Get("X-Goog-Api-Key")}
	for _, part := range req.SystemInstruction.Parts {
		seen.System += part.Text
	}
	for _, c := range req.Contents {
		out := llm.Message{Role: map[string]llm.Role{"user": llm.RoleUser, "model": llm.RoleAssistant}[c.Role]}
		for _, part := range c.Parts {
			seen.Opaque += part.ThoughtSignature
			switch {
			case part.FunctionCall != nil:
				f := part.FunctionCall
				out.Calls = append(out.Calls, llm.Call{ID: f.ID, Name: f.Name, Args: string(f.Args)})
			case part.FunctionResponse != nil:
				f := part.FunctionResponse
				if !strings.HasPrefix(string(f.Response), "{") {
					return seen, errors.New("a response that is no object")
				}
				out.Role = llm.RoleTool
				out.Results = append(out.Results, llm.Result{CallID: f.ID, Name: f.Name, Content: string(f.Response)})
			case strings.TrimSpace(part.Text) == "":
				return seen, errors.New("an empty part")
			default:
				out.Text += part.Text
			}
		}
		if n := len(seen.Messages); out.Role == llm.RoleTool && len(out.Results) != len(seen.Messages[n-1].Calls) {
			return seen, errors.New("the number of function response parts isn't that of the call parts")
		}
		seen.Messages = append(seen.Messages, out)
	}
	for _, tool := range req.Tools {
		for _, d := range tool.FunctionDeclarations {
			seen.Tools = append(seen.Tools, llm.Card{Name: d.Name, Description: d.Description, Schema: d.ParametersJSONSchema})
		}
	}
	return seen, nil
}
