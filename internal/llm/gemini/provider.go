package gemini

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/secret"
)

const (
	name        = "gemini"
	defaultBase = "https://generativelanguage.googleapis.com"
)

// Config describes one model.
type Config struct {
	// Model is required: gemini-2.5-flash, or a whole resource name such as
	// tunedModels/bakery.
	Model string
	// APIKey is sent as x-goog-api-key, never in the URL; empty sends none.
	APIKey secret.String
	// BaseURL is the bare root, without /v1beta. Default
	// https://generativelanguage.googleapis.com.
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
	root   *url.URL // of the model
	caller *llm.Caller
	// needsSignature: a call without one is refused.
	needsSignature bool
	// subset is set once the server refused parametersJsonSchema.
	subset atomic.Bool
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
	path := []string{"v1beta"}
	if !strings.Contains(cfg.Model, "/") {
		path = append(path, "models")
	}
	for part := range strings.SplitSeq(cfg.Model, "/") {
		if part == "" || part == "." || part == ".." {
			return nil, errors.New("model name: not a name nor a resource name such as models/gemini-2.5-flash")
		}
		path = append(path, url.PathEscape(part))
	}
	generation := regexp.MustCompile(`(^|/)gemini-([3-9]|\d\d)`)
	return &Provider{
		model: cfg.Model, key: cfg.APIKey, root: base.JoinPath(path...),
		caller:         llm.NewCaller(name, cfg.Model, cfg.APIKey, cfg.Timeout, cfg.HTTPClient),
		needsSignature: generation.MatchString(strings.ToLower(cfg.Model)),
	}, nil
}

// Name is gemini.
func (p *Provider) Name() string { return name }

// Model is the model as configured.
func (p *Provider) Model() string { return p.model }

func (p *Provider) header() http.Header {
	h := http.Header{}
	if !p.key.Empty() {
		h.Set("X-Goog-Api-Key", p.key.Reveal())
	}
	return h
}

// method is the address of one of the model's methods.
func (p *Provider) method(stream bool) string {
	u := *p.root
	verb := ":generateContent"
	if stream {
		verb = ":streamGenerateContent"
		q := u.Query()
		q.Set("alt", "sse")
		u.RawQuery = q.Encode()
	}
	u.RawPath = u.EscapedPath() + verb
	u.Path += verb
	return u.String()
}

// Generate makes one call, and where the server doesn't know JSON Schema, a
// second one. See llm.Provider.
func (p *Provider) Generate(ctx context.Context, req llm.Request, onText func(text string)) (llm.Response, error) {
	subset := p.subset.Load()
	resp, err := p.generate(ctx, req, subset, onText)
	if err != nil && !subset && len(req.Tools) > 0 && refusesJSONSchema(err) {
		p.subset.Store(true)
		resp, err = p.generate(ctx, req, true, onText)
	}
	if err != nil {
		return llm.Response{}, err
	}
	resp.From = name + "/" + p.model
	return resp, nil
}

// refusesJSONSchema reads: Unknown name "parametersJsonSchema" at …: Cannot
// find field.
func refusesJSONSchema(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Class != llm.BadRequest {
		return false
	}
	said := strings.ToLower(e.Err.Error())
	return strings.Contains(said, "parametersjsonschema") || strings.Contains(said, "parameters_json_schema")
}

func (p *Provider) generate(ctx context.Context, req llm.Request, subset bool, onText func(string)) (llm.Response, error) {
	body, err := p.encode(req, subset)
	if err != nil {
		return llm.Response{}, p.caller.Fail(llm.BadRequest, 0, "before the call", err.Error())
	}
	var resp llm.Response
	err = p.caller.Do(ctx, llm.Exchange{
		URL: p.method(onText != nil), Header: p.header(), Body: body, Refused: p.refused,
		Read: func(r io.Reader) (err error) {
			resp, err = p.read(bufio.NewReader(r), onText)
			return err
		},
	})
	return resp, err
}

// Check asks for the model's description. It doesn't tell whether the model
// takes tools; the first use does.
func (p *Provider) Check(ctx context.Context, _ bool) error {
	return p.caller.Do(ctx, llm.Exchange{
		URL: p.root.String(), Header: p.header(), Refused: p.refused,
		Read: func(r io.Reader) error {
			var m struct {
				Name    string   `json:"name"`
				Methods []string `json:"supportedGenerationMethods"`
			}
			if err := json.NewDecoder(r).Decode(&m); err != nil || m.Name == "" {
				return p.caller.Fail(llm.BadRequest, 0, "reading the model's description", "it isn't one; base_url may be wrong")
			}
			if m.Methods != nil && !slices.Contains(m.Methods, "generateContent") {
				return p.caller.Fail(llm.BadRequest, 0, "reading the model's description", "the model doesn't write text (generateContent)")
			}
			return nil
		},
	})
}
