package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/parley-bot/parley/internal/llm"
)

// refused reads {"type":"error","error":{"type":…,"message":…}}, or plain text.
// A status of 0 is an error within a stream or a 200.
func (p *Provider) refused(status int, body []byte) *llm.Error {
	var wire struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	said := string(body)
	if json.Unmarshal(body, &wire) == nil && wire.Error.Message != "" {
		said = wire.Error.Message
	}
	doing := "the server refused"
	if status == 0 {
		doing = "the server broke off"
	}
	if kind := wire.Error.Type; kind != "" {
		doing += " (" + llm.Redact(kind, p.Key()) + ")"
	}
	return p.Caller.Fail(classOf(status, wire.Error.Type, said), status, doing, said)
}

// classOf reads the words where the type doesn't tell, then the type, then the
// status.
func classOf(status int, kind, said string) llm.Class {
	words := strings.ToLower(said)
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(words, part) {
				return true
			}
		}
		return false
	}
	refusal := kind == "invalid_request_error" || status == http.StatusBadRequest
	switch {
	case status == http.StatusRequestEntityTooLarge, kind == "request_too_large",
		refusal && has("prompt is too long", "exceed context limit", "context window", "too many total text bytes"):
		return llm.ContextTooLong
	case refusal && has("content filtering policy", "content_filter"):
		return llm.Filtered
	case refusal && has("credit balance"):
		// A 400 that only money cures.
		return llm.Auth
	case kind == "overloaded_error":
		return llm.Overloaded
	case kind == "rate_limit_error":
		return llm.RateLimited
	case kind == "timeout_error":
		return llm.Timeout
	case status == 0 && refusal:
		return llm.BadRequest
	case status == 0:
		return llm.Temporary
	default:
		return llm.ClassOfStatus(status)
	}
}
