package openai

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/secret"
)

// Config describes one model behind one server.
type Config struct {
	// Name is the provider as configured; default openai.
	Name string
	// Model is required.
	Model string
	// APIKey is sent as a bearer token; empty sends none.
	APIKey secret.String
	// BaseURL ends before /chat/completions, so it includes /v1. A query is
	// kept. Default https://api.openai.com/v1.
	BaseURL string
	// Timeout bounds one call, from dialling to the last byte. Default 30s.
	Timeout time.Duration
	// HTTPClient's transport is used, its redirect policy is not: a redirect
	// is an error. Default a client of its own.
	HTTPClient *http.Client
	// NoStreamOptions leaves out stream_options, for servers that refuse
	// fields they don't know. Streams then have no usage.
	NoStreamOptions bool
}

// Preset returns the part of a Config that a known server needs: Name, BaseURL
// and its peculiarities. ok is false for a name that isn't known. azure has no
// BaseURL: it is the resource's own, https://NAME.openai.azure.com/openai/v1.
func Preset(name string) (cfg Config, ok bool) {
	cfg.Name = name
	switch name {
	case "openai":
		cfg.BaseURL = defaultBase
	case "azure":
	case "cerebras":
		cfg.BaseURL = "https://api.cerebras.ai/v1"
	case "deepseek":
		cfg.BaseURL = "https://api.deepseek.com/v1"
	case "fireworks":
		cfg.BaseURL = "https://api.fireworks.ai/inference/v1"
	case "groq":
		cfg.BaseURL = "https://api.groq.com/openai/v1"
	case "llamacpp":
		cfg.BaseURL = "http://localhost:8080/v1"
	case "lmstudio":
		cfg.BaseURL = "http://localhost:1234/v1"
	case "mistral":
		cfg.BaseURL = "https://api.mistral.ai/v1"
		cfg.NoStreamOptions = true
	case "openrouter":
		cfg.BaseURL = "https://openrouter.ai/api/v1"
	case "together":
		cfg.BaseURL = "https://api.together.xyz/v1"
	case "vllm":
		cfg.BaseURL = "http://localhost:8000/v1"
	case "xai":
		cfg.BaseURL = "https://api.x.ai/v1"
	default:
		return Config{}, false
	}
	return cfg, true
}

// Provider is one model behind one server. It may be used by many goroutines
// at once.
type Provider struct {
	cfg      Config
	caller   *llm.Caller
	endpoint string
	// completionTokens: the bound of an answer is max_completion_tokens.
	completionTokens bool
}

var (
	_ llm.Provider    = (*Provider)(nil)
	_ llm.CardEncoder = (*Provider)(nil)
)

const defaultBase = "https://api.openai.com/v1"

// New makes a provider. The error names the setting that is wrong.
func New(cfg Config) (*Provider, error) {
	if cfg.Name == "" {
		cfg.Name = "openai"
	}
	if cfg.Model == "" {
		return nil, errors.New("model name: missing")
	}
	def := defaultBase
	if cfg.Name == "azure" {
		def = ""
	}
	base, err := llm.ParseBase(cfg.Name, cfg.BaseURL, def)
	if err != nil {
		return nil, err
	}
	return &Provider{
		cfg:              cfg,
		caller:           llm.NewCaller(cfg.Name, cfg.Model, cfg.APIKey, cfg.Timeout, cfg.HTTPClient),
		endpoint:         base.JoinPath("chat", "completions").String(),
		completionTokens: wantsCompletionTokens(base.Hostname(), cfg.Model),
	}, nil
}

// wantsCompletionTokens tells whether max_tokens is refused: OpenAI's own API
// has deprecated it for all models, and its reasoning models refuse it on any
// server. Other servers know max_tokens better.
func wantsCompletionTokens(host, model string) bool {
	if host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com") {
		return true
	}
	reasoning := regexp.MustCompile(`^(gpt-([5-9]|\d\d)|o\d)([.-]|$)`)
	return reasoning.MatchString(strings.ToLower(model[strings.LastIndexByte(model, '/')+1:]))
}

// Name is the provider as configured.
func (p *Provider) Name() string { return p.cfg.Name }

// Model is the model as configured.
func (p *Provider) Model() string { return p.cfg.Model }
