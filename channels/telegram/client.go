package telegram

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"time"

	"github.com/parley-bot/parley/channels"
)

const (
	// callTime bounds a call that doesn't wait for updates.
	callTime = 20 * time.Second
	// maxRequest and maxAnswer bound bodies. 100 updates of the longest
	// messages are well below.
	maxRequest = 1 << 20
	maxAnswer  = 32 << 20
)

// client makes the calls, for the library and for the poll. It tells a call
// that never left from one whose outcome nobody knows, and keeps the token,
// which is part of every URL, out of every error.
type client struct {
	http  *http.Client
	base  string // …/botTOKEN/
	token string
}

func newClient(cfg Config, rt http.RoundTripper) *client {
	if rt == nil {
		rt = channels.NewTransport(64)
	}
	token := cfg.Token.Reveal()
	return &client{
		http: &http.Client{
			Transport:     rt,
			CheckRedirect: channels.NoRedirect,
		},
		base: cfg.APIURL + "/bot" + token + "/", token: token,
	}
}

// CloseIdleConnections ends the goroutines of kept connections.
func (c *client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// call makes a call with parameters in JSON and decodes its result.
func (c *client) call(ctx context.Context, method string, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("parameters of %s: %w", method, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+method, bytes.NewReader(body))
	if err != nil {
		return c.scrub(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var a answer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return lost(true, fmt.Errorf("answer to %s: %w", method, err))
	}
	if err := json.Unmarshal(a.Result, result); err != nil {
		return lost(true, fmt.Errorf("result of %s: %w", method, errNonsense))
	}
	return nil
}

// answer is the envelope of every answer
// (https://core.telegram.org/bots/api#making-requests).
type answer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result,omitempty"`
	ErrorCode   int             `json:"error_code,omitempty"`
	Description string          `json:"description,omitempty"`
	Parameters  struct {
		RetryAfter      int   `json:"retry_after,omitempty"`
		MigrateToChatID int64 `json:"migrate_to_chat_id,omitempty"`
	} `json:"parameters,omitzero"`
}

// Do implements the library's HttpClient. It returns an answer only if it says
// ok; anything else is an *apiError or a *channels.LostError.
func (c *client) Do(req *http.Request) (*http.Response, error) {
	// The library streams its forms. A body that is known whole can be sent
	// again by the transport where a kept connection turns out to be dead
	// before a byte was written, and needs no chunks.
	body, err := io.ReadAll(io.LimitReader(req.Body, maxRequest+1))
	if err != nil || len(body) > maxRequest {
		return nil, lost(false, errors.New("request can't be built"))
	}
	ctx, left := channels.Leaving(req.Context())
	out := req.Clone(ctx)
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if len(body) == 0 {
		// The library announces a form even where a method has no
		// parameters; servers may refuse one that has neither part nor end.
		out.Header.Del("Content-Type")
	}
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }

	resp, err := c.http.Do(out)
	if err != nil {
		return nil, lost(left.Load(), c.scrub(err))
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, lost(true, c.scrub(err))
	}
	var a answer
	bad := json.Unmarshal(text, &a)
	switch good := resp.StatusCode >= 200 && resp.StatusCode < 300; {
	case good && bad == nil && a.OK:
		slim(path.Base(req.URL.Path), &a)
	case good && (bad != nil || a.OK || a.ErrorCode == 0):
		return nil, lost(true, errNonsense)
	default:
		return nil, c.refused(resp, a, bad == nil && !a.OK && (a.ErrorCode != 0 || a.Description != ""))
	}
	if text, err = json.Marshal(a); err != nil {
		return nil, lost(true, err)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return resp, nil
}

// slim leaves of a sent message what is used. The library decodes all of it,
// and would report a message that was sent as failed for a part of a kind that
// it doesn't know, in the message it answers to for instance.
func slim(method string, a *answer) {
	if method != "sendMessage" && method != "editMessageText" {
		return
	}
	var m struct {
		ID int64 `json:"message_id"`
	}
	if json.Unmarshal(a.Result, &m) != nil {
		return
	}
	if text, err := json.Marshal(m); err == nil {
		a.Result = text
	}
}

func (c *client) refused(resp *http.Response, a answer, ours bool) *apiError {
	e := &apiError{code: resp.StatusCode, description: http.StatusText(resp.StatusCode), bot: ours}
	if ours {
		e.code, e.description = cmp.Or(a.ErrorCode, e.code), channels.Clip(c.redact(a.Description), 300)
		e.movedTo = a.Parameters.MigrateToChatID
	}
	if e.after = channels.AfterSeconds(float64(a.Parameters.RetryAfter)); e.after == 0 {
		e.after = channels.RetryAfter(resp.Header)
	}
	return e
}

// scrub takes the URL off an error, and the token out of what is left.
func (c *client) scrub(err error) error { return channels.Scrub(err, c.token) }

func (c *client) redact(s string) string { return channels.Redact(s, c.token) }
