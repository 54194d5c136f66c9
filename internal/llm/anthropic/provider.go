package anthropic

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/secret"
)

const (
	name        = "anthropic"
	defaultBase = "https://api.anthropic.com"
	// version is the API's, in its header.
	version = "2023-06-01"
	// defaultMaxTokens is sent where a request has no bound: the API demands
	// one.
	defaultMaxTokens = 4096
)

// Config describes one model.
type Config struct {
	// Model is required.
	Model string
	// APIKey is sent as x-api-key; empty sends none.
	APIKey secret.String
	// BaseURL is the bare root, without /v1. Default https://api.anthropic.com.
	BaseURL string
	// Timeout bounds one call, from dialling to the last byte. Default 30s.
	Timeout time.Duration
	// HTTPClient's transport is used, its redirect policy is not. Default a
	// client of its own.
	HTTPClient *http.Client
}

// Provider is one model of the API. It may be used by many goroutines at once.
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

// Name is anthropic.
func (p *Provider) Name() string { return name }

// Model is the model as configured.
func (p *Provider) Model() string { return p.model }

func (p *Provider) header() http.Header {
	h := http.Header{}
	h.Set("Anthropic-Version", version)
	if !p.key.Empty() {
		h.Set("X-Api-Key", p.key.Reveal())
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
		URL: p.base.JoinPath("v1", "messages").String(), Header: p.header(), Body: body, Refused: p.refused,
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

// Check asks for the model's description. Every model of the API takes tools.
func (p *Provider) Check(ctx context.Context, _ bool) error {
	return p.caller.Do(ctx, llm.Exchange{
		URL: p.base.JoinPath("v1", "models", url.PathEscape(p.model)).String(), Header: p.header(), Refused: p.refused,
		Read: func(r io.Reader) error {
			var m struct {
				ID string `json:"id"`
			}
			if err := json.NewDecoder(r).Decode(&m); err != nil || m.ID == "" {
				return p.caller.Fail(llm.BadRequest, 0, "reading the model's description", "it isn't one; base_url may be wrong")
			}
			return nil
		},
	})
}
