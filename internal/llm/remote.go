package llm

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/parley-bot/parley/internal/secret"
)

// Endpoint is a model of an API that is called over HTTP.
type Endpoint struct {
	// Model is required, as the API names it.
	Model string
	// APIKey is sent in a header, never in the URL; empty sends none.
	APIKey secret.String
	// BaseURL is the API's root. Default the provider's own.
	BaseURL string
	// Timeout bounds one call, from dialling to the last byte. Default 30s.
	Timeout time.Duration
	// HTTPClient's transport is used, its redirect policy is not. Default a
	// client of its own.
	HTTPClient *http.Client
}

// Remote is what a provider is made of that calls one Endpoint.
type Remote struct {
	// Base is the API's root.
	Base   *url.URL
	Caller *Caller
}

// NewRemote makes the remote side of a provider. The error names the setting
// that is wrong.
func NewRemote(provider, defaultBase string, e Endpoint) (Remote, error) {
	if e.Model == "" {
		return Remote{}, errors.New("model name: missing")
	}
	base, err := ParseBase(provider, e.BaseURL, defaultBase)
	if err != nil {
		return Remote{}, err
	}
	return Remote{Base: base, Caller: NewCaller(provider, e.Model, e.APIKey, e.Timeout, e.HTTPClient)}, nil
}

// Name is the provider's.
func (r Remote) Name() string { return r.Caller.Provider }

// Model is the model as configured.
func (r Remote) Model() string { return r.Caller.Model }

// From is what Response.From says of an answer.
func (r Remote) From() string { return r.Name() + "/" + r.Model() }

// Key is the API's.
func (r Remote) Key() secret.String { return r.Caller.Key }
