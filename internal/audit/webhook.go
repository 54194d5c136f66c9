package audit

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/parley-bot/parley/internal/secret"
)

// The limits of one delivery.
const (
	webhookTimeout = 15 * time.Second
	webhookBytes   = 1 << 20 // of a body, unless a single event is larger
)

// Webhook posts events as {"events": […]}, each body signed:
//
//	X-Parley-Signature: sha256=HEX(HMAC-SHA256(secret, raw body))
//
// Any 2xx takes them. Anything else, redirects included, is tried again; a
// receiver may therefore see an event twice.
type Webhook struct {
	url    string
	secret secret.String
	client *http.Client
}

var _ Sink = (*Webhook)(nil)

// NewWebhook makes a sink. client nil is one of its own with a timeout of 15
// seconds, that follows no redirect.
func NewWebhook(url string, key secret.String, client *http.Client) *Webhook {
	if client == nil {
		client = &http.Client{
			Timeout:       webhookTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return &Webhook{url: url, secret: key, client: client}
}

// Name is "webhook": there is one of it.
func (s *Webhook) Name() string { return "webhook" }

// Close lets idle connections go.
func (s *Webhook) Close() error { s.client.CloseIdleConnections(); return nil }

// Write posts the rows, in bodies of about a mebibyte.
func (s *Webhook) Write(ctx context.Context, rows []Row) error {
	var body bytes.Buffer
	for i := 0; i < len(rows); {
		body.Reset()
		body.WriteString(`{"events":[`)
		for n := 0; i < len(rows); n++ {
			l := line(rows[i].Event)
			if n > 0 && body.Len()+len(l) > webhookBytes {
				break
			}
			if n > 0 {
				body.WriteByte(',')
			}
			body.Write(l)
			i++
		}
		body.WriteString("]}")
		if err := s.post(ctx, body.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

func (s *Webhook) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		// The cause would quote the URL, which may hold a token.
		return errors.New("audit webhook: the URL can't be used")
	}
	mac := hmac.New(sha256.New, []byte(s.secret.Reveal()))
	mac.Write(body)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Parley-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	resp, err := s.client.Do(req)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err
		}
		return fmt.Errorf("post to the audit webhook: %w", err)
	}
	defer resp.Body.Close()
	// Read, so that the connection can be used again.
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode/100 == 2 {
		return nil
	}
	return &statusError{code: resp.StatusCode, after: seconds(resp.Header.Get("Retry-After"))}
}

// seconds reads Retry-After as a number (RFC 9110 §10.2.3); a date is taken
// as not given.
func seconds(s string) time.Duration {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}

// statusError is an answer that isn't 2xx.
type statusError struct {
	code  int
	after time.Duration
}

func (e *statusError) Error() string { return fmt.Sprintf("the audit webhook answered %d", e.code) }

// RetryAfter is what the receiver asked for.
func (e *statusError) RetryAfter() time.Duration { return e.after }
