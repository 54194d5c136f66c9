package ollama

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/secret"
)

const (
	name        = "ollama"
	defaultBase = "http://127.0.0.1:11434"
)

// Config describes one model behind one server.
type Config struct {
	// Model is required, with its tag if it has one: qwen3:8b.
	Model string
	// APIKey is sent as a bearer token, for ollama.com and for proxies; empty
	// sends none.
	APIKey secret.String
	// BaseURL is the bare root, without /api. Default http://127.0.0.1:11434.
	BaseURL string
	// Timeout bounds one call, from dialling to the last byte, the loading of
	// the model included. Default 30s.
	Timeout time.Duration
	// HTTPClient's transport is used, its redirect policy is not. Default a
	// client of its own.
	HTTPClient *http.Client
}

// Provider is one model behind one server. It may be used by many goroutines
// at once.
type Provider struct {
	model  string
	key    secret.String
	base   *url.URL
	caller *llm.Caller
}

var (
	_ llm.Provider    = (*Provider)(nil)
	_ llm.CardEncoder = (*Provider)(nil)
	_ llm.Checker     = (*Provider)(nil)
)

// New makes a provider. The error names the setting that is wrong.
func New(cfg Config) (*Provider, error) {
	if cfg.Model == "" {
		return nil, errors.New("model name: missing")
	}
	base, err := llm.ParseBase(name, cfg.BaseURL, defaultBase)
	if err != nil {
		return nil, err
	}
	return &Provider{
		model: cfg.Model, key: cfg.APIKey, base: base,
		caller: llm.NewCaller(name, cfg.Model, cfg.APIKey, cfg.Timeout, cfg.HTTPClient),
	}, nil
}

// Name is ollama.
func (p *Provider) Name() string { return name }

// Model is the model as configured.
func (p *Provider) Model() string { return p.model }

func (p *Provider) header() http.Header {
	h := http.Header{}
	if !p.key.Empty() {
		h.Set("Authorization", "Bearer "+p.key.Reveal())
	}
	return h
}

// Generate makes one call. See llm.Provider.
func (p *Provider) Generate(ctx context.Context, req llm.Request, onText func(text string)) (llm.Response, error) {
	body, err := p.encode(req, onText != nil)
	if err != nil {
		return llm.Response{}, p.caller.Fail(llm.BadRequest, 0, "before the call", err.Error())
	}
	var resp llm.Response
	err = p.caller.Do(ctx, llm.Exchange{
		URL: p.base.JoinPath("api", "chat").String(), Header: p.header(), Body: body, Refused: p.refused,
		Read: func(r io.Reader) (err error) {
			resp, err = p.read(bufio.NewReader(r), onText)
			return err
		},
	})
	if err != nil {
		return llm.Response{}, err
	}
	resp.From = name + "/" + p.model
	return resp, nil
}

// Check asks for the model's capabilities. Servers before 0.6.4 don't tell
// them, and are believed.
func (p *Provider) Check(ctx context.Context, tools bool) error {
	body, err := json.Marshal(map[string]string{"model": p.model})
	if err != nil {
		return p.caller.Fail(llm.BadRequest, 0, "before the call", err.Error())
	}
	return p.caller.Do(ctx, llm.Exchange{
		URL: p.base.JoinPath("api", "show").String(), Header: p.header(), Body: body, Refused: p.refused,
		Read: func(r io.Reader) error {
			var m struct {
				Details      json.RawMessage `json:"details"`
				Capabilities []string        `json:"capabilities"`
			}
			const doing = "reading the model's capabilities"
			switch err := json.NewDecoder(r).Decode(&m); {
			case err != nil || m.Details == nil && m.Capabilities == nil:
				return p.caller.Fail(llm.BadRequest, 0, doing, "they aren't there; base_url may be wrong")
			case m.Capabilities == nil:
				return nil
			case !slices.Contains(m.Capabilities, "completion"):
				return p.caller.Fail(llm.BadRequest, 0, doing, "the model doesn't write text (completion)")
			case tools && !slices.Contains(m.Capabilities, "tools"):
				return p.caller.Fail(llm.NoTools, 0, doing, "the model doesn't support tools; choose one that does, or remove the tools")
			}
			return nil
		},
	})
}
