package openai_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
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
		p, err := openai.New(openai.Config{Model: s.Model, APIKey: s.Key, BaseURL: s.URL + "/v1/", Timeout: s.Timeout})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

// serve answers every request with one literal body.
func serve(t *testing.T, cfg openai.Config, status int, body string) (*openai.Provider, *[]byte) {
	t.Helper()
	sent := new([]byte)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var raw json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&raw)
		*sent = raw
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(srv.Close)
	if cfg.Model == "" {
		cfg.Model = "m"
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = srv.URL + "/v1"
	}
	cfg.HTTPClient = srv.Client()
	p, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p, sent
}

func hello() llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "hi"}}}
}

// Answers of servers that copy the API, each in its own way.
func TestGenerate_OddServers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stream bool
		body   string
		want   llm.Response
	}{
		"stop beside calls": {body: `{"choices":[{"message":{"content":"","tool_calls":[{"id":"a","function":{"name":"t","arguments":"{}"}}]},"finish_reason":"stop"}]}`,
			want: llm.Response{Calls: []llm.Call{{ID: "a", Name: "t", Args: "{}"}}, Stop: llm.StopCalls}},
		"calls without any": {body: `{"choices":[{"message":{"content":"x","tool_calls":null},"finish_reason":"tool_calls"}]}`,
			want: llm.Response{Text: "x", Stop: llm.StopOther}},
		"content in parts": {body: `{"choices":[{"message":{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"a"},{"type":"text","text":"b"}]},"finish_reason":"stop"}]}`,
			want: llm.Response{Text: "ab", Stop: llm.StopEnd}},
		"numbers as ids, usage as text": {body: `{"usage":"free","choices":[{"message":{"tool_calls":[{"id":7,"function":{"name":"t","arguments":null}}]},"finish_reason":"tool_calls"}]}`,
			want: llm.Response{Calls: []llm.Call{{ID: "7", Name: "t"}}, Stop: llm.StopCalls}},
		"the old function call": {body: `{"choices":[{"message":{"content":null,"function_call":{"name":"t","arguments":"{\"a\":1}"}},"finish_reason":"function_call"}]}`,
			want: llm.Response{Calls: []llm.Call{{ID: "made-up-0", Name: "t", Args: `{"a":1}`}}, Stop: llm.StopCalls}},
		"no finish reason": {body: `{"choices":[{"message":{"content":"x"}}]}`,
			want: llm.Response{Text: "x", Stop: llm.StopOther}},
		"a made up id that is taken": {body: `{"choices":[{"message":{"tool_calls":[{"id":"made-up-1","function":{"name":"a"}},{"function":{"name":"b"}}]},"finish_reason":"tool_calls"}]}`,
			want: llm.Response{Calls: []llm.Call{{ID: "made-up-1", Name: "a"}, {ID: "made-up-2", Name: "b"}}, Stop: llm.StopCalls}},
		"signatures": {body: `{"choices":[{"message":{"tool_calls":[{"id":"a","extra_content":{"google":{"thought_signature":"s"}},"function":{"name":"t","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			want: llm.Response{Calls: []llm.Call{{ID: "a", Name: "t", Args: "{}", Opaque: json.RawMessage(`{"google":{"thought_signature":"s"}}`)}}, Stop: llm.StopCalls}},
		"a whole answer to a stream": {stream: true, body: "\n" + `{"choices":[{"message":{"content":"all"},"finish_reason":"stop"}]}`,
			want: llm.Response{Text: "all", Stop: llm.StopEnd}},
		"all calls at index 0": {stream: true, body: `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"{}"}}]}}]}
data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"u","arguments":"{"}}]}}]}
data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}
`,
			want: llm.Response{Calls: []llm.Call{{ID: "a", Name: "t", Args: "{}"}, {ID: "b", Name: "u", Args: "{}"}}, Stop: llm.StopCalls}},
		"no index at all": {stream: true, body: `data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"t","arguments":{"x":1}}}]}}]}
data: {"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"u","arguments":"{"}}]}}]}
data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]}}]}
data: {"choices":[{"delta":{},"finish_reason":"stop"}]}
data: [DONE]
`,
			want: llm.Response{Calls: []llm.Call{{ID: "a", Name: "t", Args: `{"x":1}`}, {ID: "b", Name: "u", Args: "{}"}}, Stop: llm.StopCalls}},
		"name and id repeated in each piece": {stream: true, body: `data:{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"{"}}]}}]}
data:{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"}"}}]},"finish_reason":"tool_calls"}]}
`,
			want: llm.Response{Calls: []llm.Call{{ID: "a", Name: "t", Args: "{}"}}, Stop: llm.StopCalls}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := serve(t, openai.Config{}, 200, tc.body)
			var onText func(string)
			if tc.stream {
				onText = func(string) {}
			}
			got, err := p.Generate(t.Context(), hello(), onText)
			if err != nil {
				t.Fatal(err)
			}
			tc.want.From = "openai/m"
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestGenerate_ErrorClasses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		body   string
		want   llm.Class
	}{
		"no money":                {429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, llm.Auth},
		"payment required":        {402, `{"error":{"message":"Insufficient Balance"}}`, llm.Auth},
		"vllm, too long":          {400, `{"object":"error","message":"This model's maximum context length is 8192 tokens.","code":400}`, llm.ContextTooLong},
		"llama.cpp, too long":     {400, `{"error":{"code":400,"message":"the request exceeds","type":"exceed_context_size_error"}}`, llm.ContextTooLong},
		"groq, too large":         {413, `{"error":{"message":"Request too large","code":"rate_limit_exceeded"}}`, llm.ContextTooLong},
		"azure filter":            {400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","code":"content_filter"}}`, llm.Filtered},
		"openrouter, no tools":    {404, `{"error":{"message":"No endpoints found that support tool use.","code":404}}`, llm.NoTools},
		"vllm, no tools":          {400, `{"message":"\"auto\" tool choice requires --enable-auto-tool-choice"}`, llm.NoTools},
		"rate words aren't class": {429, `{"error":{"message":"Rate limit on tokens within the context window"}}`, llm.RateLimited},
		"overloaded 500":          {500, `{"error":{"message":"Overloaded","type":"overloaded_error"}}`, llm.Overloaded},
		"error is text":           {400, `{"error":"model is required"}`, llm.BadRequest},
		"a list":                  {400, `[{"error":{"message":"bad","status":"INVALID_ARGUMENT","code":400}}]`, llm.BadRequest},
		"fastapi":                 {422, `{"detail":[{"loc":["body"],"msg":"extra"}]}`, llm.BadRequest},
		"an error in a 200":       {200, `{"error":{"message":"Rate limited upstream","code":429}}`, llm.RateLimited},
		"no code in a 200":        {200, `{"error":{"message":"Provider returned error"}}`, llm.Temporary},
		"finish reason error":     {200, `{"choices":[{"message":{"content":""},"finish_reason":"error"}]}`, llm.Temporary},
		"no choices":              {200, `{"choices":[]}`, llm.Temporary},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := serve(t, openai.Config{}, tc.status, tc.body)
			_, err := p.Generate(t.Context(), hello(), nil)
			if !llm.HasClass(err, tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestGenerate_WireForm(t *testing.T) {
	t.Parallel()
	req := llm.Request{System: []string{"a", "b"}, Messages: []llm.Message{{Role: llm.RoleUser, Text: "hi"}}, MaxTokens: 9}
	for name, tc := range map[string]struct {
		cfg    openai.Config
		stream bool
		want   string
	}{
		"plain":            {want: `{"model":"m","messages":[{"role":"system","content":"a\n\nb"},{"role":"user","content":"hi"}],"max_tokens":9}`},
		"stream":           {stream: true, want: `{"model":"m","messages":[{"role":"system","content":"a\n\nb"},{"role":"user","content":"hi"}],"max_tokens":9,"stream":true,"stream_options":{"include_usage":true}}`},
		"no options":       {stream: true, cfg: openai.Config{NoStreamOptions: true}, want: `{"model":"m","messages":[{"role":"system","content":"a\n\nb"},{"role":"user","content":"hi"}],"max_tokens":9,"stream":true}`},
		"reasoning model":  {cfg: openai.Config{Model: "openai/gpt-5-mini"}, want: `{"model":"openai/gpt-5-mini","messages":[{"role":"system","content":"a\n\nb"},{"role":"user","content":"hi"}],"max_completion_tokens":9}`},
		"o series":         {cfg: openai.Config{Model: "o4-mini"}, want: `{"model":"o4-mini","messages":[{"role":"system","content":"a\n\nb"},{"role":"user","content":"hi"}],"max_completion_tokens":9}`},
		"gpt-oss is not":   {cfg: openai.Config{Model: "openai/gpt-oss-120b"}, want: `{"model":"openai/gpt-oss-120b","messages":[{"role":"system","content":"a\n\nb"},{"role":"user","content":"hi"}],"max_tokens":9}`},
		"nor is an older":  {cfg: openai.Config{Model: "gpt-4.1"}, want: `{"model":"gpt-4.1","messages":[{"role":"system","content":"a\n\nb"},{"role":"user","content":"hi"}],"max_tokens":9}`},
		"nor another's o1": {cfg: openai.Config{Model: "o1x"}, want: `{"model":"o1x","messages":[{"role":"system","content":"a\n\nb"},{"role":"user","content":"hi"}],"max_tokens":9}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, sent := serve(t, tc.cfg, 200, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`)
			var onText func(string)
			if tc.stream {
				onText = func(string) {}
			}
			if _, err := p.Generate(t.Context(), req, onText); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(*sent)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEncodeCards_A12_ShowsNameDescriptionSchema(t *testing.T) {
	t.Parallel()
	p, _ := serve(t, openai.Config{}, 200, "")
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
	key := secret.New("sk-canary")
	for name, cfg := range map[string]openai.Config{
		"no model":           {APIKey: key},
		"no scheme":          {Model: "m", APIKey: key, BaseURL: "api.example.com/v1"},
		"another scheme":     {Model: "m", APIKey: key, BaseURL: "ftp://x/v1"},
		"a password":         {Model: "m", APIKey: key, BaseURL: "http://u:sk-canary@x/v1"},
		"not a URL":          {Model: "m", APIKey: key, BaseURL: "http://sk-canary\x7f/v1"},
		"azure without base": {Name: "azure", Model: "m", APIKey: key},
	} {
		_, err := openai.New(cfg)
		if err == nil {
			t.Errorf("%s: taken", name)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: shows the key: %v", name, err)
		}
	}
}

func TestPreset(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"openai", "groq", "mistral", "deepseek", "openrouter", "together", "xai", "lmstudio", "vllm", "llamacpp", "fireworks", "cerebras"} {
		cfg, ok := openai.Preset(name)
		cfg.Model = "m"
		if p, err := openai.New(cfg); !ok || err != nil || p.Name() != name {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
	if cfg, ok := openai.Preset("azure"); !ok || cfg.BaseURL != "" {
		t.Error("azure has no base of its own")
	}
	if _, ok := openai.Preset("anthropic"); ok {
		t.Error("anthropic isn't of this API")
	}
}
