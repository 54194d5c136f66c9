package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/parley-bot/parley/channels"
)

const (
	// callTime bounds a call.
	callTime = 20 * time.Second
	// maxAnswer bounds an answer: a hundred messages are well below.
	maxAnswer = 16 << 20
	// userAgent has the form without which Discord's firewall refuses.
	userAgent = "DiscordBot (https://github.com/parley-bot/parley, 1)"
)

// client makes REST calls with discordgo's session.
type client struct {
	api   *discordgo.Session
	base  string
	token string
	ahead *atomic.Int64 // by how much Discord's clock is
}

// newClient makes one. now is this machine's clock.
func newClient(cfg Config, rt http.RoundTripper, now func() time.Time) (*client, error) {
	if rt == nil {
		rt = channels.NewTransport(32)
	}
	token := cfg.Token.Reveal()
	api, err := discordgo.New("Bot " + token)
	if err != nil {
		return nil, err
	}
	api.UserAgent = userAgent
	api.ShouldRetryOnRateLimit = false
	api.MaxRestRetries = 0
	ahead := new(atomic.Int64)
	api.Client = &http.Client{
		Transport: &transport{rt, now, ahead},
	}
	return &client{api: api, base: cfg.APIURL, token: token, ahead: ahead}, nil
}

// CloseIdleConnections ends the goroutines of kept connections.
func (c *client) CloseIdleConnections() { c.api.Client.CloseIdleConnections() }

// call makes one call with a body in JSON, nil for none, and decodes its
// result, nil for none. Its error is an *apiError or a *channels.LostError.
func (c *client) call(ctx context.Context, method, path string, body, result any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return lost(false, fmt.Errorf("body of %s: %w", method, err))
		}
	}
	// A bucket that nobody shares and nothing fills: the session keeps one for
	// every path for ever, and sleeps in it.
	bucket := new(discordgo.Bucket)
	bucket.Lock()
	text, err := c.api.RequestWithLockedBucket(method, c.base+path, "application/json", raw, bucket, 0, discordgo.WithContext(ctx))
	if err != nil {
		return c.scrub(err)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(text, result); err != nil {
		// Its text names types of Go. It is JSON: that was looked at.
		return lost(true, fmt.Errorf("the answer to %s has another form than the API's", method))
	}
	return nil
}

// scrub takes the URL off an error, which may hold an interaction's token, and
// the bot's token out of what is left.
func (c *client) scrub(err error) error {
	if e, ok := errors.AsType[*apiError](err); ok {
		e.message = c.redact(e.message)
		return e
	}
	if e, ok := errors.AsType[*channels.LostError](err); ok {
		return lost(e.Sent, c.clean(e.Err))
	}
	return lost(true, c.clean(err))
}

func (c *client) clean(err error) error { return channels.Scrub(err, c.token) }

func (c *client) redact(s string) string { return channels.Redact(s, c.token) }

// transport stands below discordgo's session. It hands up an answer only if it
// is a success, and without rate limits; all else is an error that tells what
// happened, so that the session neither repeats nor sleeps nor guesses, nor
// follows to another host with the token.
type transport struct {
	next  http.RoundTripper
	now   func() time.Time
	ahead *atomic.Int64
}

// maxSkew is how far apart clocks may be without it mattering: Discord tells
// its time in whole seconds.
const maxSkew = 3 * time.Second

// CloseIdleConnections lets http.Client reach the transport below.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper, but for failing where an answer is
// no success.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, left := channels.Leaving(req.Context())
	resp, err := t.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return nil, lost(left.Load(), err)
	}
	defer resp.Body.Close()
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		if by := at.Sub(t.now()); by.Abs() > maxSkew {
			t.ahead.Store(int64(by))
		} else {
			t.ahead.Store(0)
		}
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, lost(true, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return nil, refused(resp, text)
	}
	if len(text) > 0 && !json.Valid(text) {
		return nil, lost(true, errors.New("the answer makes no sense"))
	}
	return &http.Response{
		Status: resp.Status, StatusCode: http.StatusOK, Proto: resp.Proto, ProtoMajor: resp.ProtoMajor, ProtoMinor: resp.ProtoMinor,
		Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)), Request: req,
	}, nil
}

// refused reads an answer that is no success.
func refused(resp *http.Response, text []byte) *apiError {
	e := &apiError{status: resp.StatusCode, message: http.StatusText(resp.StatusCode)}
	var body struct {
		Message    *string         `json:"message"`
		Code       *int            `json:"code"`
		RetryAfter float64         `json:"retry_after"`
		Global     bool            `json:"global"`
		Errors     json.RawMessage `json:"errors"`
	}
	// Others write messages, too, but no code beside them, or the status again.
	ours := json.Unmarshal(text, &body) == nil && body.Message != nil
	if ours && body.Code != nil {
		ours = *body.Code == 0 || *body.Code >= firstCode
	} else if ours {
		ours = body.RetryAfter > 0
	}
	if ours {
		e.discord, e.message, e.after = true, channels.Clip(*body.Message, 300), channels.AfterSeconds(body.RetryAfter)
		if body.Code != nil {
			e.code = *body.Code
		}
		if len(body.Errors) > 0 {
			e.message += " " + channels.Clip(string(body.Errors), 300)
		}
	}
	if e.after == 0 {
		e.after = channels.RetryAfter(resp.Header)
	}
	// A firewall before the API means the whole address.
	e.global = resp.StatusCode == http.StatusTooManyRequests && (body.Global || !e.discord || resp.Header.Get("X-Ratelimit-Scope") == "global")
	return e
}
