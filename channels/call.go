package channels

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// What adapters that call an API by HTTP share: what is known of a call that
// has no answer of that API's.

// Leaving is ctx for a request, and whether any of it may have left: before
// that, a connection that was refused, a name that isn't known or a failed
// handshake are certainly nothing that the platform could have taken.
func Leaving(ctx context.Context) (context.Context, *atomic.Bool) {
	left := new(atomic.Bool)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { left.Store(true) }}), left
}

// NewTransport is a transport for the calls of one API, that keeps so many
// connections.
func NewTransport(keeps int) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:errcheck // the standard library's own
	t.MaxIdleConnsPerHost = keeps
	// Shorter than servers keep connections: a request sent into one that is
	// being closed has an unknown outcome.
	t.IdleConnTimeout = 30 * time.Second
	return t
}

// LostError is a call without an answer that can be read.
type LostError struct {
	// API is whose call it was, for people.
	API string
	// Sent is true where the platform may have got the request.
	Sent bool
	Err  error
}

func (e *LostError) Error() string {
	if e.Sent {
		return e.API + " gave no answer: " + e.Err.Error()
	}
	return e.API + " was not reached: " + e.Err.Error()
}

func (e *LostError) Unwrap() error { return e.Err }

// Class is what is known of the call.
func (e *LostError) Class() SendClass {
	if e.Sent {
		return Unknown
	}
	return Temporary
}

// Statuses with names that net/http doesn't have; a CDN's.
const (
	statusServerDown    = 521
	statusUnreachable   = 523
	statusHandshake     = 525
	statusCertificate   = 526
	statusOriginUnknown = 530
)

// ForeignClass is the class of a call that was refused in another form than the
// API's own: by a proxy, a firewall, a portal. Such a one says nothing of the
// account, the chat or the message, whatever its status is; but a proxy that
// got no whole answer (500, 502, 504 and the like) may have handed the call on
// before.
func ForeignClass(status int) SendClass {
	switch status {
	case http.StatusTooManyRequests:
		return RateLimited
	case http.StatusRequestEntityTooLarge:
		return PermanentMessage // and so it is each time
	case http.StatusNotImplemented, http.StatusServiceUnavailable, http.StatusHTTPVersionNotSupported, http.StatusNetworkAuthenticationRequired,
		statusServerDown, statusUnreachable, statusHandshake, statusCertificate, statusOriginUnknown:
		return Temporary // it was not handed on
	}
	if status >= http.StatusInternalServerError {
		return Unknown
	}
	return Temporary
}

// StatusClass is the class of an error in the API's own form whose code nobody
// knows; status 0 is for one that was reported later.
func StatusClass(status int) SendClass {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return PermanentToken
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status == http.StatusGatewayTimeout:
		return Unknown
	case status >= http.StatusInternalServerError:
		return Temporary
	}
	return PermanentMessage
}

// mostAfter is the longest wait that is believed.
const mostAfter = 24 * time.Hour

// RetryAfter is how long an answer asks to wait, in seconds and their
// fractions; 0 where it doesn't say so.
func RetryAfter(h http.Header) time.Duration {
	n, err := strconv.ParseFloat(h.Get("Retry-After"), 64)
	if err != nil {
		return 0
	}
	return AfterSeconds(n)
}

// AfterSeconds is a wait that a platform asked for.
func AfterSeconds(n float64) time.Duration {
	if !(n > 0) { // what is no number neither
		return 0
	}
	return time.Duration(min(n, mostAfter.Seconds()) * float64(time.Second))
}

// NoRedirect is for http.Client.CheckRedirect: a redirect would carry the
// credentials elsewhere.
func NoRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Scrub takes the URL off an error, and the credentials out of what is left.
func Scrub(err error, secrets ...string) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	text := err.Error()
	if clean := Redact(text, secrets...); clean != text {
		return errors.New(clean)
	}
	return err
}

// Redact is s without the credentials.
func Redact(s string, secrets ...string) string {
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "***")
		}
	}
	return s
}

// Clip is s cut to most bytes, not within a rune.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// Shorten is Clip with a sign that something is missing.
func Shorten(s string, most int) string {
	if short := Clip(s, most); short != s {
		return short + "…"
	}
	return s
}
