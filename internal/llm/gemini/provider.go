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

	"github.com/parley-bot/parley/internal/llm"
)

const (
	name        = "gemini"
	defaultBase = "https://generativelanguage.googleapis.com"
)

// Provider is one model of the API. It may be used by many goroutines at once.
type Provider struct {
	llm.Remote

	root *url.URL // of the model
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

// New makes a provider of the API at the bare root, without /v1beta. The model is
// a name such as gemini-2.5-flash, or a whole resource name such as
// tunedModels/bakery. The key is sent as x-goog-api-key. The error names the
// setting that is wrong.
func New(at llm.Endpoint) (*Provider, error) {
	remote, err := llm.NewRemote(name, defaultBase, at)
	if err != nil {
		return nil, err
	}
	path := []string{"v1beta"}
	if !strings.Contains(at.Model, "/") {
		path = append(path, "models")
	}
	for part := range strings.SplitSeq(at.Model, "/") {
		if part == "" || part == "." || part == ".." {
			return nil, errors.New("model name: not a name nor a resource name such as models/gemini-2.5-flash")
		}
		path = append(path, url.PathEscape(part))
	}
	generation := regexp.MustCompile(`(^|/)gemini-([3-9]|\d\d)`)
	return &Provider{
		Remote: remote, root: remote.Base.JoinPath(path...),
		needsSignature: generation.MatchString(strings.ToLower(at.Model)),
	}, nil
}

func (p *Provider) header() http.Header {
	h := http.Header{}
	if !p.Key().Empty() {
		h.Set("X-Goog-Api-Key", p.Key().Reveal())
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
	resp.From = p.From()
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
		return llm.Response{}, p.Caller.Fail(llm.BadRequest, 0, "before the call", err.Error())
	}
	var resp llm.Response
	err = p.Caller.Do(ctx, llm.Exchange{
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
	return p.Caller.Do(ctx, llm.Exchange{
		URL: p.root.String(), Header: p.header(), Refused: p.refused,
		Read: func(r io.Reader) error {
			var m struct {
				Name    string   `json:"name"`
				Methods []string `json:"supportedGenerationMethods"`
			}
			if err := json.NewDecoder(r).Decode(&m); err != nil || m.Name == "" {
				return p.Caller.Fail(llm.BadRequest, 0, "reading the model's description", "it isn't one; base_url may be wrong")
			}
			if m.Methods != nil && !slices.Contains(m.Methods, "generateContent") {
				return p.Caller.Fail(llm.BadRequest, 0, "reading the model's description", "the model doesn't write text (generateContent)")
			}
			return nil
		},
	})
}
