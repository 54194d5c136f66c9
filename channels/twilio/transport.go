package twilio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/twilio/twilio-go/client"
	openapi "github.com/twilio/twilio-go/rest/api/v2010"

	"github.com/parley-bot/parley/channels"
)

// answerMax bounds what is read of an answer.
const answerMax = 1 << 20

var errRedirect = errors.New("a redirect isn't followed")

// call is the transport of one call of the SDK. It carries the context, which
// the SDK doesn't know, sends to the configured address, and keeps what the SDK
// drops: the status, how long to wait, and whether anything has left.
type call struct {
	ctx    context.Context
	api    *url.URL
	next   http.RoundTripper
	left   *atomic.Bool // nil before the call
	status int
	after  time.Duration
}

// service is the SDK for one call.
func (a *Adapter) service(ctx context.Context) (*openapi.ApiService, *call) {
	t := &call{ctx: ctx, api: a.api, next: a.http}
	c := &client.Client{
		Credentials: client.NewCredentials(a.cfg.AccountSID, a.cfg.AuthToken.Reveal()),
		HTTPClient: &http.Client{
			Transport:     t,
			CheckRedirect: channels.NoRedirect,
		},
	}
	c.SetAccountSid(a.cfg.AccountSID)
	// Made by hand: the SDK's constructor reads the environment.
	return openapi.NewApiService(&client.RequestHandler{Client: c}), t
}

// RoundTrip implements http.RoundTripper.
func (t *call) RoundTrip(req *http.Request) (*http.Response, error) {
	var ctx context.Context
	ctx, t.left = channels.Leaving(t.ctx)
	req = req.Clone(ctx)
	req.URL.Scheme, req.URL.Host, req.Host = t.api.Scheme, t.api.Host, ""
	req.URL.Path, req.URL.RawPath = t.api.Path+req.URL.Path, ""
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	// The SDK doesn't close the body of an error, and bounds none.
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	t.status = resp.StatusCode
	t.after = channels.RetryAfter(resp.Header)
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return nil, errRedirect // which the SDK takes for a success
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}
