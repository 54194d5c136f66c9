package ollama

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"

	"github.com/parley-bot/parley/internal/llm"
)

const (
	name        = "ollama"
	defaultBase = "http://127.0.0.1:11434"
)

// Provider is one model behind one server. It may be used by many goroutines
// at once.
type Provider struct {
	llm.Remote
}

var (
	_ llm.Provider    = (*Provider)(nil)
	_ llm.CardEncoder = (*Provider)(nil)
	_ llm.Checker     = (*Provider)(nil)
)

// New makes a provider of the API at the bare root, without /api. The model has
// its tag if it has one: qwen3:8b; its loading counts as a part of the call. The
// key is a bearer token, for ollama.com and for proxies. The error names the
// setting that is wrong.
func New(at llm.Endpoint) (*Provider, error) {
	remote, err := llm.NewRemote(name, defaultBase, at)
	if err != nil {
		return nil, err
	}
	return &Provider{remote}, nil
}

func (p *Provider) header() http.Header {
	h := http.Header{}
	if !p.Key().Empty() {
		h.Set("Authorization", "Bearer "+p.Key().Reveal())
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
		URL: p.Base.JoinPath("api", "chat").String(), Header: p.header(), Body: body, Refused: p.refused,
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

// Check asks for the model's capabilities. Servers before 0.6.4 don't tell
// them, and are believed.
func (p *Provider) Check(ctx context.Context, tools bool) error {
	body, err := json.Marshal(map[string]string{"model": p.Model()})
	if err != nil {
		return p.Caller.Fail(llm.BadRequest, 0, "before the call", err.Error())
	}
	return p.Caller.Do(ctx, llm.Exchange{
		URL: p.Base.JoinPath("api", "show").String(), Header: p.header(), Body: body, Refused: p.refused,
		Read: func(r io.Reader) error {
			var m struct {
				Details      json.RawMessage `json:"details"`
				Capabilities []string        `json:"capabilities"`
			}
			const doing = "reading the model's capabilities"
			switch err := json.NewDecoder(r).Decode(&m); {
			case err != nil || m.Details == nil && m.Capabilities == nil:
				return p.Caller.Fail(llm.BadRequest, 0, doing, "they aren't there; base_url may be wrong")
			case m.Capabilities == nil:
				return nil
			case !slices.Contains(m.Capabilities, "completion"):
				return p.Caller.Fail(llm.BadRequest, 0, doing, "the model doesn't write text (completion)")
			case tools && !slices.Contains(m.Capabilities, "tools"):
				return p.Caller.Fail(llm.NoTools, 0, doing, "the model doesn't support tools; choose one that does, or remove the tools")
			}
			return nil
		},
	})
}
