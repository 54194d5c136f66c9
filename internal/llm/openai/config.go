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
	// APIKey is sent as a bearer token, or in KeyHeader; empty sends none.
	APIKey secret.String
	// KeyHeader is the header that takes the key alone. Default Authorization.
	KeyHeader string
	// BaseURL ends before /chat/completions, so it includes /v1. A query is
	// kept. Default https://api.openai.com/v1. Azure has further forms, see
	// azureEndpoint.
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

// Provider is one model behind one server. It may be used by many goroutines
// at once.
type Provider struct {
	cfg      Config
	caller   *llm.Caller
	endpoint string
	models   string // the address of the list of models, or ""
	// completionTokens: the bound of an answer is max_completion_tokens.
	completionTokens bool
}

var (
	_ llm.Provider    = (*Provider)(nil)
	_ llm.CardEncoder = (*Provider)(nil)
	_ llm.Checker     = (*Provider)(nil)
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
	endpoint := base.JoinPath("chat", "completions")
	if cfg.Name == "azure" {
		if endpoint, err = azureEndpoint(base, cfg.Model); err != nil {
			return nil, err
		}
	}
	return &Provider{
		cfg:              cfg,
		caller:           llm.NewCaller(cfg.Name, cfg.Model, cfg.APIKey, cfg.Timeout, cfg.HTTPClient),
		endpoint:         endpoint.String(),
		models:           modelsURL(endpoint.String()),
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
