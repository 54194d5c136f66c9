package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/llm/anthropic"
	"github.com/parley-bot/parley/internal/llm/llmtest"
	"github.com/parley-bot/parley/internal/secret"
)

func TestProvider_Conformance(t *testing.T) {
	t.Parallel()
	llmtest.Run(t, dialect{}, func(t *testing.T, s llmtest.Setup) llm.Provider {
		t.Helper()
		p, err := anthropic.New(llm.Endpoint{Model: s.Model, APIKey: s.Key, BaseURL: s.URL + "/", Timeout: s.Timeout})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

// build makes the provider that calls a literal server.
func build(t *testing.T, root string) llm.Provider { t.Helper(); return provider(t, "m", root) }

func provider(t *testing.T, model, root string) *anthropic.Provider {
	t.Helper()
	p, err := anthropic.New(llm.Endpoint{Model: model, BaseURL: root, APIKey: secret.New("sk-canary")})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	llmtest.RunSettings(t, func(model, base string, key secret.String) (llm.Provider, error) {
		return anthropic.New(llm.Endpoint{Model: model, BaseURL: base, APIKey: key})
	})
}

func TestGenerate_ErrorClasses(t *testing.T) {
	t.Parallel()
	llmtest.RunRefused(t, build, nil, map[string]llmtest.Refused{
		"no money":          {Status: 400, Body: `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, Want: llm.Auth},
		"too large":         {Status: 413, Body: `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, Want: llm.ContextTooLong},
		"input and output":  {Status: 400, Body: `{"type":"error","error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 1 + 2 > 3"}}`, Want: llm.ContextTooLong},
		"forbidden":         {Status: 403, Body: `{"type":"error","error":{"type":"permission_error","message":"no"}}`, Want: llm.Auth},
		"no such model":     {Status: 404, Body: `{"type":"error","error":{"type":"not_found_error","message":"model: m"}}`, Want: llm.BadRequest},
		"timeout":           {Status: 504, Body: `{"type":"error","error":{"type":"timeout_error","message":"x"}}`, Want: llm.Timeout},
		"overloaded in 200": {Status: 200, Body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, Want: llm.Overloaded},
		"limited in 200":    {Status: 200, Body: `{"type":"error","error":{"type":"rate_limit_error","message":"x"}}`, Want: llm.RateLimited},
		"another's answer":  {Status: 200, Body: `{"choices":[]}`, Want: llm.Temporary},
	})
}

func TestGenerate_OddAnswers(t *testing.T) {
	t.Parallel()
	llmtest.RunRead(t, build, map[string]llmtest.Read{
		"calls at end_turn": {Body: `{"content":[{"type":"tool_use","id":"a","name":"t","input":{}}],"stop_reason":"end_turn"}`,
			Want: llm.Response{Calls: []llm.Call{{ID: "a", Name: "t", Args: "{}"}}, Stop: llm.StopCalls}},
		"tool_use without any": {Body: `{"content":[],"stop_reason":"tool_use"}`, Want: llm.Response{Stop: llm.StopOther}},
		"hidden thinking": {Body: `{"content":[{"type":"redacted_thinking","data":"d"},{"type":"server_thing"}],"stop_reason":"pause_turn"}`,
			Want: llm.Response{Stop: llm.StopOther, Opaque: json.RawMessage(`[{"type":"redacted_thinking","data":"d"}]`)}},
		"window full": {Body: `{"content":[{"type":"text","text":"a"}],"stop_reason":"model_context_window_exceeded"}`, Want: llm.Response{Text: "a", Stop: llm.StopLength}},
		"a whole answer to a stream": {Stream: true, Body: "\n" + `{"content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}`,
			Want: llm.Response{Text: "a", Stop: llm.StopEnd}},
	})
}

func TestEncodeCards_A12_ShowsNameDescriptionSchema(t *testing.T) {
	t.Parallel()
	p := provider(t, "m", llmtest.NewLiteral(t, 200, "").URL)
	got, err := p.EncodeCards([]llm.Card{{Name: "a", Description: "d", Schema: json.RawMessage(` {"type":"object"} `)}, {Name: "b"}})
	want := `[{"name":"a","description":"d","input_schema":{"type":"object","properties":{}}},{"name":"b","input_schema":{"type":"object","properties":{}}}]`
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewLiteral(t, 200, `{"type":"model","id":"claude/x"}`)
	p := provider(t, "claude/x", srv.URL)
	if err := p.Check(t.Context(), true); err != nil || srv.Sent()[0].Target != "GET /v1/models/claude%2Fx" {
		t.Errorf("%v, %v", err, srv.Sent())
	}
	p = provider(t, "m", llmtest.NewLiteral(t, 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key sk-canary"}}`).URL)
	if err := p.Check(t.Context(), true); !llm.HasClass(err, llm.Auth) || strings.Contains(err.Error(), "canary") {
		t.Errorf("a bad key: %v", err)
	}
	p = provider(t, "m", llmtest.NewLiteral(t, 200, "<html>").URL)
	if err := p.Check(t.Context(), true); !llm.HasClass(err, llm.BadRequest) {
		t.Errorf("not the API: %v", err)
	}
}
