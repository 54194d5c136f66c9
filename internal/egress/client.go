package egress

import (
	"errors"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync/atomic"
)

// Client is an HTTP client that keeps to the guard: for clients of protocols
// on top of HTTP. Requests other than GET, HEAD and OPTIONS have a connection
// of their own, and so are sent once at the most. Its errors are net/http's,
// which hold the URL; the *[Error] within tells the class.
func (g *Guard) Client() *http.Client {
	rt := roundTripper{guard: g}
	return &http.Client{Transport: rt, CheckRedirect: rt.checkRedirect, Timeout: g.opts.Timeout}
}

// roundTripper makes one hop of an exchange.
type roundTripper struct {
	guard *Guard
	once  bool // GET has effects too
}

func (rt roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := rt.guard.CheckURL(r.URL); err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	t := rt.guard.pooled
	if rt.effects(r) {
		t = rt.guard.fresh
	}
	// From the moment that there is a connection, bytes may have gone out.
	var sent atomic.Bool
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
	})
	resp, err := t.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return nil, rt.failed(r, err, sent.Load())
	}
	return resp, nil
}

// CloseIdleConnections is what http.Client's method of that name calls.
func (rt roundTripper) CloseIdleConnections() { rt.guard.Close() }

func (rt roundTripper) failed(r *http.Request, err error, sent bool) *Error {
	e, ok := errors.AsType[*Error](err)
	switch {
	case ok:
		e = &Error{Class: e.Class, Host: e.Host, Err: e.Err}
	case sent:
		e = &Error{Class: Unknown, Host: r.URL.Host, Err: err}
	default:
		e = &Error{Class: NotSent, Host: r.URL.Host, Err: err}
	}
	if rt.seenOther(r) {
		e.Class = Unknown
	}
	return e
}

// effects tells whether a request may change something on its host.
func (rt roundTripper) effects(r *http.Request) bool {
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions: // RFC 9110 9.2.1
		return rt.once
	default:
		return true
	}
}

// seenOther tells whether r was led to by a redirect that answered a request
// with effects: they may have happened then. 307 and 308 don't count, they
// mean that nothing was done yet.
func (rt roundTripper) seenOther(r *http.Request) bool {
	for resp := r.Response; resp != nil && resp.Request != nil; resp = resp.Request.Response {
		switch resp.StatusCode {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
			if rt.effects(resp.Request) {
				return true
			}
		}
	}
	return false
}

// checkRedirect follows a hop to a listed host, with nothing that was meant
// for another one.
func (rt roundTripper) checkRedirect(next *http.Request, via []*http.Request) error {
	hops := max(rt.guard.opts.MaxRedirects, 0)
	first, last := via[0].URL, via[len(via)-1].URL
	stop := func(format string, args ...any) error {
		return rt.failed(next, refused(first.Host, format, args...), true)
	}
	if len(via) > hops {
		return stop("more than %d redirects", hops)
	}
	if last.Scheme == "https" && next.URL.Scheme == "http" {
		return stop("it redirects from https to http")
	}
	if err := rt.guard.CheckURL(next.URL); err != nil {
		return stop("it redirects: %w", err)
	}
	// The address that was asked may hold what is nobody else's business.
	next.Header.Del("Referer")
	// Once out, always out: the way back was chosen by another host.
	strange := func(r *http.Request) bool { return origin(r.URL) != origin(first) }
	if strange(next) || slices.ContainsFunc(via, strange) {
		keepPlain(next.Header)
	}
	return nil
}

func origin(u *url.URL) string {
	return u.Scheme + "://" + normalName(u.Hostname()) + ":" + portOf(u)
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}

// keepPlain takes away every header but those that describe the message:
// Authorization, Cookie, and keys under names that nobody can foresee.
func keepPlain(h http.Header) {
	plain := []string{"Accept", "Accept-Language", "Content-Type", "User-Agent", "Idempotency-Key"}
	for name := range h {
		if !slices.Contains(plain, name) {
			delete(h, name)
		}
	}
}
