package openai_test

import (
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/llm/llmtest"
	"github.com/parley-bot/parley/internal/llm/openai"
	"github.com/parley-bot/parley/internal/secret"
)

const fine = `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`

// Each preset: where the request goes, how the key is sent, and whether a
// stream asks for its usage.
func TestPreset(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ base, key string }{
		"azure":      {"", "Api-Key: canary"},
		"cerebras":   {"https://api.cerebras.ai/v1", "Authorization: Bearer canary"},
		"deepseek":   {"https://api.deepseek.com/v1", "Authorization: Bearer canary"},
		"fireworks":  {"https://api.fireworks.ai/inference/v1", "Authorization: Bearer canary"},
		"groq":       {"https://api.groq.com/openai/v1", "Authorization: Bearer canary"},
		"llamacpp":   {"http://localhost:8080/v1", "Authorization: Bearer canary"},
		"lmstudio":   {"http://localhost:1234/v1", "Authorization: Bearer canary"},
		"mistral":    {"https://api.mistral.ai/v1", "Authorization: Bearer canary"},
		"openai":     {"https://api.openai.com/v1", "Authorization: Bearer canary"},
		"openrouter": {"https://openrouter.ai/api/v1", "Authorization: Bearer canary"},
		"together":   {"https://api.together.xyz/v1", "Authorization: Bearer canary"},
		"vllm":       {"http://localhost:8000/v1", "Authorization: Bearer canary"},
		"xai":        {"https://api.x.ai/v1", "Authorization: Bearer canary"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, ok := openai.Preset(name)
			if !ok || cfg.Name != name || cfg.BaseURL != tc.base {
				t.Fatalf("%+v, %v", cfg, ok)
			}
			srv := llmtest.NewLiteral(t, 200, fine)
			cfg.Model, cfg.BaseURL, cfg.APIKey = "m", srv.URL+"/v1", secret.New("canary")
			p, err := openai.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			req := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "hi"}}}
			if got, err := p.Generate(t.Context(), req, func(string) {}); err != nil || got.From != name+"/m" {
				t.Fatalf("%+v, %v", got, err)
			}
			sent := srv.Sent()[0]
			header, want, _ := strings.Cut(tc.key, ": ")
			if got := sent.Header.Get(header); got != want || sent.Target != "POST /v1/chat/completions" {
				t.Errorf("%s with %s: %q", sent.Target, header, got)
			}
			if header != "Authorization" && sent.Header.Get("Authorization") != "" {
				t.Error("the key is sent twice")
			}
			if usage := strings.Contains(sent.Body, "stream_options"); usage == (name == "mistral") {
				t.Errorf("asks for usage: %v", usage)
			}
		})
	}
	if _, ok := openai.Preset("anthropic"); ok {
		t.Error("anthropic isn't of this API")
	}
}

// Azure has two forms of addresses.
func TestAzure_Endpoint(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"/openai/v1":                                 "POST /openai/v1/chat/completions",
		"/openai/v1/?api-version=preview":            "POST /openai/v1/chat/completions?api-version=preview",
		"?api-version=2024-10-21":                    "POST /openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21",
		"/openai/?api-version=2024-10-21":            "POST /openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21",
		"/openai/deployments/x?api-version=2024-2-1": "POST /openai/deployments/x/chat/completions?api-version=2024-2-1",
		"/openai": "",
		"":        "",
	} {
		t.Run(base, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.NewLiteral(t, 200, fine)
			cfg, _ := openai.Preset("azure")
			cfg.Model, cfg.BaseURL = "my gpt", srv.URL+base
			p, err := openai.New(cfg)
			if want == "" {
				if err == nil || !strings.Contains(err.Error(), "/openai/v1") || !strings.Contains(err.Error(), "?api-version=") {
					t.Errorf("taken, or without a remedy: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Generate(t.Context(), llm.Request{}, nil); err != nil {
				t.Fatal(err)
			}
			if got := srv.Sent()[0].Target; got != want {
				t.Errorf("asked %q, want %q", got, want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		body   string
		want   llm.Class
	}{
		"a list":          {200, `{"object":"list","data":[{"id":"m"}]}`, ""},
		"together's list": {200, `[{"id":"m"}]`, ""},
		"no list here":    {404, `{"error":{"message":"Unknown request URL"}}`, ""},
		"bad key":         {401, `{"error":{"message":"Incorrect API key provided: sk-canary"}}`, llm.Auth},
		"not the API":     {200, `<html>`, llm.BadRequest},
		"no page":         {404, `<html>`, llm.BadRequest},
		"another API":     {200, `{"models":[]}`, llm.BadRequest},
		"down":            {502, ``, llm.Temporary},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.NewLiteral(t, tc.status, tc.body)
			err := provider(t, openai.Config{Endpoint: llm.Endpoint{APIKey: secret.New("sk-canary")}}, srv.URL).Check(t.Context(), true)
			if tc.want == "" && err != nil || tc.want != "" && !llm.HasClass(err, tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("the key is shown: %v", err)
			}
			if got := srv.Sent()[0]; got.Target != "GET /v1/models" || got.Header.Get("Authorization") != "Bearer sk-canary" {
				t.Errorf("asked %q", got.Target)
			}
		})
	}
	cfg, _ := openai.Preset("azure")
	cfg.Model, cfg.BaseURL = "m", "http://127.0.0.1:1?api-version=2024-10-21"
	p, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(t.Context(), true); err != nil {
		t.Errorf("a deployment has no list: %v", err)
	}
}
