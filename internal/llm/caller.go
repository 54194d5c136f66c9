package llm

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/parley-bot/parley/internal/secret"
)

// Caller makes the HTTP calls of one provider. Whatever goes wrong becomes an
// *Error that shows neither the key nor the URL. It doesn't retry.
type Caller struct {
	// Provider and Model are those of the errors.
	Provider, Model string
	// Key is masked in all that a server says.
	Key secret.String
	// Timeout bounds one call, from dialling to the last byte.
	Timeout time.Duration

	client *http.Client
}

// keptConns is how many connections to the API are kept for the next calls: as
// many as a bot has workers (limits.workers), where that isn't configured.
const keptConns = 64

// NewCaller makes a caller. Of client, which may be nil, the transport is used
// and the redirect policy is not: a redirect is an error. A timeout of 0 is 30s.
func NewCaller(provider, model string, key secret.String, timeout time.Duration, client *http.Client) *Caller {
	own := http.Client{}
	if client != nil {
		own = *client
	} else {
		t := http.DefaultTransport.(*http.Transport).Clone() //nolint:errcheck // the standard library's own
		// Its 2 would have nearly every call of a busy bot dial anew.
		t.MaxIdleConnsPerHost = keptConns
		own.Transport = t
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if timeout <= 0 {
		timeout = 30 * time.Second
	}
	return &Caller{Provider: provider, Model: model, Key: key, Timeout: timeout, client: &own}
}

// ParseBase reads the configured root of an API, or def where raw is empty. The
// error quotes nothing of it, since a URL may hold a password.
func ParseBase(provider, raw, def string) (*url.URL, error) {
	if raw == "" {
		raw = def
	}
	base, err := url.Parse(raw)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("base_url of provider %s: not an http or https URL", provider)
	}
	if base.User != nil {
		return nil, fmt.Errorf("base_url of provider %s: holds credentials; use api_key", provider)
	}
	return base, nil
}

// Exchange is one HTTP call.
type Exchange struct {
	URL string
	// Header is added to the Content-Type.
	Header http.Header
	// Body is posted as JSON; nil makes it a GET.
	Body []byte
	// Refused reads what a status of 400 or more came with, 64 KiB of it at
	// the most.
	Refused func(status int, body []byte) *Error
	// Read takes the body of a 200. It fails by itself once it is over
	// MaxBody.
	Read func(body io.Reader) error
}

// Do makes the call. Every error is an *Error.
func (c *Caller) Do(ctx context.Context, x Exchange) error {
	bounded, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	err := c.exchange(bounded, x)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return &Error{Class: Cancelled, Provider: c.Provider, Model: c.Model, Err: fmt.Errorf("calling the model: %w", context.Cause(ctx))}
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	// Of an *url.Error only the cause is told: the rest is the URL.
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	if ne, ok := errors.AsType[net.Error](err); bounded.Err() != nil || ok && ne.Timeout() {
		return c.Fail(Timeout, 0, "calling the model", "no whole answer within "+c.Timeout.String())
	}
	return c.Fail(Temporary, 0, "calling the model", err.Error())
}

func (c *Caller) exchange(ctx context.Context, x Exchange) error {
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if x.Body != nil {
		method, body = http.MethodPost, bytes.NewReader(x.Body)
	}
	req, err := http.NewRequestWithContext(ctx, method, x.URL, body)
	if err != nil {
		return err
	}
	maps.Copy(req.Header, x.Header)
	if x.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end or given up
	switch {
	case resp.StatusCode >= 400:
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // half of it tells more than nothing
		e := x.Refused(resp.StatusCode, said)
		if after := RetryAfter(resp.Header, time.Now()); after > 0 {
			e.After = after
		}
		return e
	case resp.StatusCode != http.StatusOK:
		return c.Fail(BadRequest, resp.StatusCode, "calling the model", "a redirect or an empty answer; base_url may be wrong")
	}
	return x.Read(Capped(resp.Body, MaxBody))
}

// Fail builds the contract's error. What a server said is masked and cut before
// it becomes part of one.
func (c *Caller) Fail(class Class, status int, doing, said string) *Error {
	said = Redact(said, c.Key)
	if said == "" {
		said = "no explanation"
	}
	return &Error{Class: class, Status: status, Provider: c.Provider, Model: c.Model, Err: fmt.Errorf("%s: %w", doing, errors.New(said))}
}

// StartsWithBrace tells whether the next byte that isn't blank opens an object.
// Servers that can't stream give a whole answer, which is known by it.
func StartsWithBrace(r *bufio.Reader) bool {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return false
		}
		if b != ' ' && b != '\n' && b != '\r' && b != '\t' {
			_ = r.UnreadByte() // always possible after ReadByte
			return b == '{'
		}
	}
}

// Lines gives the lines of a stream that aren't blank, trimmed, then the error
// that ended it, if one did. A line is valid until the next.
func Lines(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, 0, 16<<10), MaxBody)
		for lines.Scan() {
			if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 && !yield(line, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// EventData gives the data of server-sent events, one line each, as the model
// APIs write them; comments and event names are left out.
func EventData(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for line, err := range Lines(r) {
			data, ok := bytes.CutPrefix(line, []byte("data:"))
			if (ok || err != nil) && !yield(bytes.TrimSpace(data), err) {
				return
			}
		}
	}
}
