package gemini

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/parley-bot/parley/internal/llm"
)

// wireError is google.rpc.Status.
type wireError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Status  string `json:"status"`
	Details []struct {
		Reason     string `json:"reason"`     // of ErrorInfo
		RetryDelay string `json:"retryDelay"` // of RetryInfo: "34.5s"
	} `json:"details"`
}

// refused reads {"error":{…}}, a list of it, or plain text. A status of 0 is an
// error within a stream or a 200.
func (p *Provider) refused(status int, body []byte) *llm.Error {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var wire struct {
		Error wireError `json:"error"`
	}
	said := string(body)
	if json.Unmarshal(body, &wire) == nil && wire.Error.Message != "" {
		said = wire.Error.Message
	}
	doing := "the server refused"
	if status == 0 {
		doing = "the server broke off"
		if wire.Error.Code >= 400 && wire.Error.Code < 600 {
			status = wire.Error.Code
		}
	}
	if wire.Error.Status != "" {
		doing += " (" + llm.Redact(wire.Error.Status, p.Key()) + ")"
	}
	e := p.Caller.Fail(wire.Error.class(status, said), status, doing, said)
	for _, d := range wire.Error.Details {
		if after, err := time.ParseDuration(d.RetryDelay); err == nil && after > 0 {
			e.After = min(after, 24*time.Hour)
		}
	}
	return e
}

// class reads the words where the status doesn't tell, then the status.
func (w wireError) class(status int, said string) llm.Class {
	words := strings.ToLower(said)
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(words, part) {
				return true
			}
		}
		return false
	}
	for _, d := range w.Details {
		if d.Reason == "API_KEY_INVALID" {
			return llm.Auth // with status 400
		}
	}
	client := status >= 400 && status < 500 && status != http.StatusTooManyRequests
	switch {
	case client && has("api key not valid", "api key expired"):
		return llm.Auth
	case status == http.StatusRequestEntityTooLarge,
		client && has("exceeds the maximum number of tokens", "input token count", "context length", "context window"):
		return llm.ContextTooLong
	case client && has("function calling is not", "does not support function", "tool use is not supported", "tool use with function calling is unsupported"):
		return llm.NoTools
	case client && has("safety", "prohibited content"):
		return llm.Filtered
	case status >= 500 && has("overloaded"):
		return llm.Overloaded
	case status == 499: // it was cancelled over there
		return llm.Temporary
	case status == 0:
		return llm.Temporary
	default:
		return llm.ClassOfStatus(status)
	}
}
