package openai

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/parley-bot/parley/internal/llm"
)

// failure is what a server's error says, in whichever form it came.
type failure struct {
	message, code, kind string
	status              int // an HTTP status in the body, or 0
}

// parseFailure reads {"error": {…}}, {"error": "…"}, {"message": …},
// {"detail": …}, a list of one of these, or plain text.
func parseFailure(body []byte) failure {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return failure{message: string(body)}
	}
	if inner, ok := fields["error"]; ok && string(inner) != "null" {
		if json.Unmarshal(inner, &fields) != nil {
			return failure{message: text(inner)}
		}
	}
	f := failure{message: text(fields["message"]), code: text(fields["code"]), kind: text(fields["type"])}
	if f.message == "" {
		f.message = text(fields["detail"])
	}
	if n, err := strconv.Atoi(f.code); err == nil && n >= 400 && n < 600 {
		f.status = n
	}
	return f
}

// class reads the code, then the words, since servers share few codes, then
// the status.
func (f failure) class(status int) llm.Class {
	code := strings.ToLower(f.code + " " + f.kind)
	words := strings.ToLower(f.message)
	client := status >= 400 && status < 500 && status != 401 && status != 429
	switch {
	case containsAny(code, "context_length_exceeded", "exceed_context_size"),
		status == 413,
		(client || status >= 500) && containsAny(words, "maximum context length", "context window", "context length", "context size",
			"prompt is too long", "too many tokens", "input is too long", "maximum prompt length"):
		return llm.ContextTooLong
	case containsAny(code, "content_filter", "content_policy"),
		client && containsAny(words, "content management policy", "responsibleaipolicyviolation"):
		return llm.Filtered
	case client && containsAny(words, "does not support tool", "support tool use", "does not support function",
		"tools are not supported", "tools is not supported", "enable-auto-tool-choice"),
		status >= 500 && containsAny(words, "requires --jinja"): // llama.cpp
		return llm.NoTools
	case containsAny(code, "tool_use_failed"):
		// Groq: the model wrote a call that can't be read. Asked again, it
		// may do better.
		return llm.Temporary
	case containsAny(code, "insufficient_quota"):
		// A 429 that no wait cures: the account has no money.
		return llm.Auth
	case status >= 500 && containsAny(code+" "+words, "overloaded"):
		return llm.Overloaded
	default:
		return llm.ClassOfStatus(status)
	}
}

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// refused builds the error of an answer that is one. A status of 0 is an error
// within a stream or a 200.
func (p *Provider) refused(status int, body []byte) *llm.Error {
	f := parseFailure(body)
	said := f.message
	if f.code != "" {
		said += " (" + f.code + ")"
	}
	if f.kind != "" {
		said += " (" + f.kind + ")"
	}
	if status < 400 {
		status = f.status
	}
	if status == 0 { // in the middle of a stream, without a code
		class := f.class(500)
		return p.Caller.Fail(class, 0, "the server broke off", said)
	}
	return p.Caller.Fail(f.class(status), status, "the server refused", said)
}
