package anthropic

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/parley-bot/parley/internal/llm"
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

// Provider is one model of the API. It may be used by many goroutines at once.
type Provider struct {
	llm.Remote
}

var (
	_ llm.Provider    = (*Provider)(nil)
	_ llm.CardEncoder = (*Provider)(nil)
	_ llm.Checker     = (*Provider)(nil)
)

// New makes a provider of the API at the bare root, without /v1. The key is sent
// as x-api-key. The error names the setting that is wrong.
func New(at llm.Endpoint) (*Provider, error) {
	remote, err := llm.NewRemote(name, defaultBase, at)
	if err != nil {
		return nil, err
	}
	return &Provider{remote}, nil
}

func (p *Provider) header() http.Header {
	h := http.Header{}
	h.Set("Anthropic-Version", version)
	if !p.Key().Empty() {
		h.Set("X-Api-Key", p.Key().Reveal())
	}
	return h
}

// Generate makes one call. See llm.Provider.
func (p *Provider) Generate(ctx context.Context, req llm.Request, onText func(text string)) (llm.Response, error) {
	body, err := p.encode(req, onText != nil)
	if err != nil {
		return llm.Response{}, p.Caller.Fail(llm.BadRequest, 0, "before the call", err.Error())
	}
	var resp llm.Response
	err = p.Caller.Do(ctx, llm.Exchange{
		URL: p.Base.JoinPath("v1", "messages").String(), Header: p.header(), Body: body, Refused: p.refused,
		Read: func(r io.Reader) (err error) {
			resp, err = p.read(bufio.NewReader(r), onText)
			return err
		},
	})
	if err != nil {
		return llm.Response{}, err
	}
	resp.From = p.From()
	return resp, nil
}

// Check asks for the model's description. Every model of the API takes tools.
func (p *Provider) Check(ctx context.Context, _ bool) error {
	return p.Caller.Do(ctx, llm.Exchange{
		URL: p.Base.JoinPath("v1", "models", url.PathEscape(p.Model())).String(), Header: p.header(), Refused: p.refused,
		Read: func(r io.Reader) error {
			var m struct {
				ID string `json:"id"`
			}
			if err := json.NewDecoder(r).Decode(&m); err != nil || m.ID == "" {
				return p.Caller.Fail(llm.BadRequest, 0, "reading the model's description", "it isn't one; base_url may be wrong")
			}
			return nil
		},
	})
}
