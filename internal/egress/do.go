package egress

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
)

// Request is one exchange.
type Request struct {
	// Method is GET where empty.
	Method string
	// URL is absolute, http or https.
	URL string
	// Header goes out as it is, but for those that belong to the
	// connection (Host, Content-Length, Accept-Encoding, …).
	Header http.Header
	Body   []byte
	// MaxBody is how much of the answer's body is read; 0 is the guard's.
	MaxBody int64
	// Once sends a GET as carefully as a POST, for one that has effects.
	Once bool
}

// Response is an answer, whatever its status.
type Response struct {
	Status int
	// URL is the one that answered, after redirects.
	URL    string
	Header http.Header
	// Body is decompressed and complete, or cut at the cap (Truncated).
	Body      []byte
	Truncated bool
	// SeeOther: the request had effects and was answered by a redirect
	// (301, 302, 303), which means that they may have happened; this is the
	// answer of the page that it led to.
	SeeOther bool
}

// Do makes one exchange: nothing is tried again. It ends with ctx, or after
// Options.Timeout where ctx has no deadline. A failure is an *[Error], whose
// class tells whether the request may have taken effect.
func (g *Guard) Do(ctx context.Context, req Request) (Response, error) {
	u, err := g.parse(req.URL)
	if err != nil {
		return Response{}, err
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.opts.Timeout)
		defer cancel()
	}
	hr, err := http.NewRequestWithContext(ctx, cmp.Or(req.Method, http.MethodGet), u.String(), body(req.Body))
	if err != nil {
		return Response{}, refused(u.Host, "the method is malformed")
	}
	hr.Header = g.header(req.Header)
	rt := roundTripper{guard: g, once: req.Once}
	client := http.Client{Transport: rt, CheckRedirect: rt.checkRedirect}
	hresp, err := client.Do(hr)
	if err != nil {
		return Response{}, failure(u.Host, err)
	}
	defer hresp.Body.Close()
	limit := cmp.Or(req.MaxBody, g.opts.MaxBody)
	b, err := io.ReadAll(io.LimitReader(hresp.Body, limit+1))
	if err != nil {
		return Response{}, &Error{Class: Unknown, Host: u.Host, Err: err}
	}
	resp := Response{Status: hresp.StatusCode, URL: hresp.Request.URL.String(), Header: hresp.Header, Body: b}
	if int64(len(b)) > limit {
		resp.Body, resp.Truncated = b[:limit:limit], true
	}
	resp.SeeOther = rt.seenOther(hresp.Request)
	return resp, nil
}

// Check is what Do says of a URL before it looks anything up.
func (g *Guard) Check(raw string) error {
	_, err := g.parse(raw)
	return err
}

func (g *Guard) parse(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, refused("", "the URL is malformed") // url.Error holds it
	}
	return u, g.CheckURL(u)
}

// body keeps "no body" apart from an empty one: net/http asks for nil.
func body(b []byte) io.Reader {
	if len(b) == 0 {
		return http.NoBody
	}
	return bytes.NewReader(b)
}

func (g *Guard) header(h http.Header) http.Header {
	out := h.Clone()
	if out == nil {
		out = http.Header{}
	}
	for name := range out {
		if OwnHeader(name) {
			delete(out, name)
		}
	}
	if out.Get("User-Agent") == "" {
		out.Set("User-Agent", g.opts.UserAgent)
	}
	return out
}

// failure takes the class out of net/http's error, and leaves the URL behind.
func failure(host string, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	// What net/http finds wrong by itself, like a header that is no header,
	// it finds before it sends; but a redirect that leads nowhere comes here
	// too, so nothing is certain.
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return &Error{Class: Unknown, Host: host, Err: err}
}

// OwnHeader tells whether a header belongs to the connection, so that Do sets
// it or leaves it out whatever a request says. Accept-Encoding is one: the cap
// and the reader rely on the decompression that setting it would turn off.
func OwnHeader(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Accept-Encoding", "Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Authorization",
		"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	default:
		return false
	}
}
