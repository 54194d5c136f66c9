package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/llm/llmtest"
	"github.com/parley-bot/parley/internal/llm/openai"
	"github.com/parley-bot/parley/internal/secret"
)

func TestProvider_Conformance(t *testing.T) {
	t.Parallel()
	llmtest.Run(t, dialect{}, func(t *testing.T, s llmtest.Setup) llm.Provider {
		t.Helper()
		p, err := openai.New(openai.Config{Endpoint: llm.Endpoint{Model: s.Model, APIKey: s.Key, BaseURL: s.URL + "/v1/", Timeout: s.Timeout}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

// build makes the provider that calls a literal server.
func build(t *testing.T, root string) llm.Provider {
	t.Helper()
	return provider(t, openai.Config{}, root)
}

func provider(t *testing.T, cfg openai.Config, root string) *openai.Provider {
	t.Helper()
	cfg.BaseURL = root + "/v1"
	if cfg.Model == "" {
		cfg.Model = "m"
	}
	p, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Answers of servers that copy the API, each in its own way.
func TestGenerate_OddServers(t *testing.T) {
	t.Parallel()
	llmtest.RunRead(t, build, map[string]llmtest.Read{
		"stop beside calls": {Body: `{"choices":[{"message":{"content":"","tool_calls":[{"id":"a","function":{"name":"t","arguments":"{}"}}]},"finish_reason":"stop"}]}`,
			Want: llm.Response{Calls: []llm.Call{{ID: "a", Name: "t", Args: "{}"}}, Stop: llm.StopCalls}},
		"calls without any": {Body: `{"choices":[{"message":{"content":"x","tool_calls":null},"finish_reason":"tool_calls"}]}`,
			Want: llm.Response{Text: "x", Stop: llm.StopOther}},
		"content in parts": {Body: `{"choices":[{"message":{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"a"},{"type":"text","text":"b"}]},"finish_reason":"stop"}]}`,
			Want: llm.Response{Text: "ab", Stop: llm.StopEnd}},
		"numbers as ids, usage as text": {Body: `{"usage":"free","choices":[{"message":{"tool_calls":[{"id":7,"function":{"name":"t","arguments":null}}]},"finish_reason":"tool_calls"}]}`,
			Want: llm.Response{Calls: []llm.Call{{ID: "7", Name: "t"}}, Stop: llm.StopCalls}},
		"the old function call": {Body: `{"choices":[{"message":{"content":null,"function_call":{"name":"t","arguments":"{\"a\":1}"}},"finish_reason":"function_call"}]}`,
			Want: llm.Response{Calls: []llm.Call{{ID: "made-up-0", Name: "t", Args: `{"a":1}`}}, Stop: llm.StopCalls}},
		"together, eos": {Body: `{"choices":[{"message":{"content":"x"},"finish_reason":"eos"}]}`,
			Want: llm.Response{Text: "x", Stop: llm.StopEnd}},
		"together, eos beside calls": {Body: `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"t","arguments":"{}"}}]},"finish_reason":"eos"}]}`,
			Want: llm.Response{Calls: []llm.Call{{ID: "a", Name: "t", Args: "{}"}}, Stop: llm.StopCalls}},
		"mistral, window full": {Body: `{"choices":[{"message":{"content":"x"},"finish_reason":"model_length"}]}`,
			Want: llm.Response{Text: "x", Stop: llm.StopLength}},
		"deepseek, kept alive by blank lines": {Body: "\n\n\n" + `{"choices":[{"message":{"content":"x","reasoning_content":"r"},"finish_reason":"stop"}]}`,
			Want: llm.Response{Text: "x", Stop: llm.StopEnd, Opaque: json.RawMessage(`{"reasoning_content":"r"}`)}},
		"openrouter, kept alive by comments": {Stream: true, Body: ": OPENROUTER PROCESSING\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"x\",\"reasoning_details\":[{\"type\":\"reasoning.text\"}]},\"finish_reason\":\"stop\"}]}\n\n",
			Want: llm.Response{Text: "x", Stop: llm.StopEnd, Opaque: json.RawMessage(`{"reasoning_details":[{"type":"reasoning.text"}]}`)}},
		"no finish reason": {Body: `{"choices":[{"message":{"content":"x"}}]}`,
			Want: llm.Response{Text: "x", Stop: llm.StopOther}},
		"a made up id that is taken": {Body: `{"choices":[{"message":{"tool_calls":[{"id":"made-up-1","function":{"name":"a"}},{"function":{"name":"b"}}]},"finish_reason":"tool_calls"}]}`,
			Want: llm.Response{Calls: []llm.Call{{ID: "made-up-1", Name: "a"}, {ID: "made-up-2", Name: "b"}}, Stop: llm.StopCalls}},
		"signatures": {Body: `{"choices":[{"message":{"tool_calls":[{"id":"a","extra_content":{"google":{"thought_signature":"s"}},"function":{"name":"t","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			Want: llm.Response{Calls: []llm.Call{{ID: "a", Name: "t", Args: "{}", Opaque: json.RawMessage(`{"google":{"thought_signature":"s"}}`)}}, Stop: llm.StopCalls}},
		"a whole answer to a stream": {Stream: true, Body: "\n" + `{"choices":[{"message":{"content":"all"},"finish_reason":"stop"}]}`,
			Want: llm.Response{Text: "all", Stop: llm.StopEnd}},
		"all calls at index 0": {Stream: true, Body: `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"{}"}}]}}]}
data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"u","arguments":"{"}}]}}]}
data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}
`,
			Want: llm.Response{Calls: []llm.Call{{ID: "a", Name: "t", Args: "{}"}, {ID: "b", Name: "u", Args: "{}"}}, Stop: llm.StopCalls}},
		"no index at all": {Stream: true, Body: `data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"t","arguments":{"x":1}}}]}}]}
data: {"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"u","arguments":"{"}}]}}]}
data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]}}]}
data: {"choices":[{"delta":{},"finish_reason":"stop"}]}
data: [DONE]
`,
			Want: llm.Response{Calls: []llm.Call{{ID: "a", Name: "t", Args: `{"x":1}`}, {ID: "b", Name: "u", Args: "{}"}}, Stop: llm.StopCalls}},
		"name and id repeated in each piece": {Stream: true, Body: `data:{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"{"}}]}}]}
data:{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"}"}}]},"finish_reason":"tool_calls"}]}
`,
			Want: llm.Response{Calls: []llm.Call{{ID: "a", Name: "t", Args: "{}"}}, Stop: llm.StopCalls}},
	})
}

func TestGenerate_ErrorClasses(t *testing.T) {
	t.Parallel()
	llmtest.RunRefused(t, build, nil, map[string]llmtest.Refused{
		"no money":                {Status: 429, Body: `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, Want: llm.Auth},
		"payment required":        {Status: 402, Body: `{"error":{"message":"Insufficient Balance"}}`, Want: llm.Auth},
		"vllm, too long":          {Status: 400, Body: `{"object":"error","message":"This model's maximum context length is 8192 tokens.","code":400}`, Want: llm.ContextTooLong},
		"llama.cpp, too long":     {Status: 400, Body: `{"error":{"code":400,"message":"the request exceeds","type":"exceed_context_size_error"}}`, Want: llm.ContextTooLong},
		"groq, too large":         {Status: 413, Body: `{"error":{"message":"Request too large","code":"rate_limit_exceeded"}}`, Want: llm.ContextTooLong},
		"azure filter":            {Status: 400, Body: `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","code":"content_filter"}}`, Want: llm.Filtered},
		"openrouter, no tools":    {Status: 404, Body: `{"error":{"message":"No endpoints found that support tool use.","code":404}}`, Want: llm.NoTools},
		"llama.cpp, no tools":     {Status: 500, Body: `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, Want: llm.NoTools},
		"llama.cpp, loading":      {Status: 503, Body: `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, Want: llm.Overloaded},
		"lm studio, too long":     {Status: 400, Body: `{"error":"The number of tokens to keep from the initial prompt is greater than the context length."}`, Want: llm.ContextTooLong},
		"groq, broken call":       {Status: 400, Body: `{"error":{"message":"Failed to call a function. Please adjust your prompt.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function"}}`, Want: llm.Temporary},
		"deepseek, no machines":   {Status: 200, Body: `{"choices":[{"message":{"content":"Half"},"finish_reason":"insufficient_system_resource"}]}`, Want: llm.Overloaded},
		"xai, too long":           {Status: 400, Body: `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 200000 tokens."}`, Want: llm.ContextTooLong},
		"vllm, no tools":          {Status: 400, Body: `{"message":"\"auto\" tool choice requires --enable-auto-tool-choice"}`, Want: llm.NoTools},
		"rate words aren't class": {Status: 429, Body: `{"error":{"message":"Rate limit on tokens within the context window"}}`, Want: llm.RateLimited},
		"overloaded 500":          {Status: 500, Body: `{"error":{"message":"Overloaded","type":"overloaded_error"}}`, Want: llm.Overloaded},
		"error is text":           {Status: 400, Body: `{"error":"model is required"}`, Want: llm.BadRequest},
		"a list":                  {Status: 400, Body: `[{"error":{"message":"bad","status":"INVALID_ARGUMENT","code":400}}]`, Want: llm.BadRequest},
		"fastapi":                 {Status: 422, Body: `{"detail":[{"loc":["body"],"msg":"extra"}]}`, Want: llm.BadRequest},
		"an error in a 200":       {Status: 200, Body: `{"error":{"message":"Rate limited upstream","code":429}}`, Want: llm.RateLimited},
		"no code in a 200":        {Status: 200, Body: `{"error":{"message":"Provider returned error"}}`, Want: llm.Temporary},
		"finish reason error":     {Status: 200, Body: `{"choices":[{"message":{"content":""},"finish_reason":"error"}]}`, Want: llm.Temporary},
		"no choices":              {Status: 200, Body: `{"choices":[]}`, Want: llm.Temporary},
	})
}

// max_tokens has two names; see wantsCompletionTokens.
func TestGenerate_NameOfTheBound(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"m":                   "max_tokens",
		"gpt-4.1":             "max_tokens",
		"o1x":                 "max_tokens",
		"openai/gpt-oss-120b": "max_tokens",
		"openai/gpt-5-mini":   "max_completion_tokens",
		"o4-mini":             "max_completion_tokens",
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.NewLiteral(t, 200, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`)
			req := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "hi"}}, MaxTokens: 9}
			if _, err := provider(t, openai.Config{Endpoint: llm.Endpoint{Model: model}}, srv.URL).Generate(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			if body := srv.Sent()[0].Body; !strings.Contains(body, `"`+want+`":9`) {
				t.Errorf("%s isn't in %s", want, body)
			}
		})
	}
}

func TestEncodeCards_A12_ShowsNameDescriptionSchema(t *testing.T) {
	t.Parallel()
	p := provider(t, openai.Config{}, llmtest.NewLiteral(t, 200, "").URL)
	got, err := p.EncodeCards([]llm.Card{{Name: "a", Description: "d", Schema: json.RawMessage(` {"type":"object"} `)}, {Name: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"function":{"name":"a","description":"d","parameters":{"type":"object","properties":{}}},"type":"function"},` +
		`{"function":{"name":"b","parameters":{"type":"object","properties":{}}},"type":"function"}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	llmtest.RunSettings(t, func(model, base string, key secret.String) (llm.Provider, error) {
		return openai.New(openai.Config{Endpoint: llm.Endpoint{Model: model, BaseURL: base, APIKey: key}})
	})
	if _, err := openai.New(openai.Config{Name: "azure", Endpoint: llm.Endpoint{Model: "m"}}); err == nil {
		t.Error("azure without a base_url is taken")
	}
}
