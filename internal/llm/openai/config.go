package openai

import (
	"regexp"
	"strings"

	"github.com/parley-bot/parley/internal/llm"
)

// Config describes one model behind one server.
type Config struct {
	// Name is the provider as configured; default openai.
	Name string
	// Endpoint's BaseURL ends before /chat/completions, so it includes /v1. A
	// query is kept. Default https://api.openai.com/v1. Azure has further
	// forms, see azureEndpoint. The key is a bearer token, unless KeyHeader is
	// set.
	llm.Endpoint

	// KeyHeader is the header that takes the key alone. Default Authorization.
	KeyHeader string
	// NoStreamOptions leaves out stream_options, for servers that refuse
	// fields they don't know. Streams then have no usage.
	NoStreamOptions bool
}

// Provider is one model behind one server. It may be used by many goroutines
// at once.
type Provider struct {
	llm.Remote

	cfg      Config
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
	def := defaultBase
	if cfg.Name == "azure" {
		def = ""
	}
	remote, err := llm.NewRemote(cfg.Name, def, cfg.Endpoint)
	if err != nil {
		return nil, err
	}
	endpoint := remote.Base.JoinPath("chat", "completions")
	if cfg.Name == "azure" {
		if endpoint, err = azureEndpoint(remote.Base, cfg.Model); err != nil {
			return nil, err
		}
	}
	return &Provider{
		Remote:           remote,
		cfg:              cfg,
		endpoint:         endpoint.String(),
		models:           modelsURL(endpoint.String()),
		completionTokens: wantsCompletionTokens(remote.Base.Hostname(), cfg.Model),
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
