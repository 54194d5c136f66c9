package ollama

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/parley-bot/parley/internal/llm"
)

// refused reads {"error":"…"}, {"error":{"message":"…"}} as proxies give it, or
// plain text. A status of 0 is an error within a stream or a 200.
func (p *Provider) refused(status int, body []byte) *llm.Error {
	var wire struct {
		Error json.RawMessage `json:"error"`
	}
	said := string(body)
	if json.Unmarshal(body, &wire) == nil && len(wire.Error) > 0 {
		var inner struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(wire.Error, &said) != nil && json.Unmarshal(wire.Error, &inner) == nil && inner.Message != "" {
			said = inner.Message
		}
	}
	doing := "the server refused"
	if status == 0 {
		doing = "the server broke off"
	}
	class := classOf(status, said)
	if class == llm.NoTools {
		doing = "the model takes no tools; choose one that does, or remove the tools"
	}
	return p.Caller.Fail(class, status, doing, said)
}

func classOf(status int, said string) llm.Class {
	words := strings.ToLower(said)
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(words, part) {
				return true
			}
		}
		return false
	}
	switch {
	case has("does not support tools"):
		return llm.NoTools
	case status == http.StatusRequestEntityTooLarge, has("exceeds the context length", "context length exceeded", "exceed context window"):
		return llm.ContextTooLong
	case status != http.StatusTooManyRequests && has("server busy", "maximum pending requests"):
		return llm.Overloaded
	case status == 0:
		return llm.Temporary
	default:
		return llm.ClassOfStatus(status)
	}
}
