package mcptool

import (
	"context"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"github.com/parley-bot/parley/internal/egress"
)

// headerTimeout is how long a server may take to begin the stream of what it
// says unasked.
const headerTimeout = 5 * time.Second

// remote is the way to a server behind a URL. It goes to the host and port of
// the URL alone, redirects included, whatever its address: the operator chose it.
type remote struct {
	guard *egress.Guard
	next  http.RoundTripper
	head  http.Header
	ctx   context.Context //nolint:containedctx // of the session, which outlives the request that began it
	pace  *rate.Limiter
}

// dialHTTP makes the transport of a session that ends with ctx.
func dialHTTP(ctx context.Context, s Server) (mcp.Transport, error) {
	u, hostport, err := s.endpoint()
	if err != nil {
		return nil, err
	}
	guard, err := egress.New([]string{hostport}, egress.Options{UserAgent: "parley"})
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	client := guard.Client()
	client.Timeout = 0 // a stream lasts as long as the session; calls have their own time
	head := http.Header{}
	for name, v := range s.Headers {
		head.Set(name, v.Reveal())
	}
	client.Transport = &remote{guard: guard, next: client.Transport, head: head, ctx: ctx, pace: newPace()}
	context.AfterFunc(ctx, guard.Close)
	return &mcp.StreamableClientTransport{Endpoint: u.String(), HTTPClient: client, MaxRetries: 2, MaxEventSize: maxMessage}, nil
}

// RoundTrip implements http.RoundTripper: every request ends with the session,
// and nothing is read without a bound.
func (r *remote) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(r.ctx, cancel)
	var late *time.Timer
	if req.Method == http.MethodGet {
		late = time.AfterFunc(headerTimeout, cancel)
	}
	out := req.Clone(ctx)
	maps.Copy(out.Header, r.head)
	resp, err := r.next.RoundTrip(out)
	if late != nil && !late.Stop() && err != nil && r.ctx.Err() == nil && req.Context().Err() == nil {
		// It has nothing to say unasked, and doesn't say that either. The
		// session needs no such stream.
		resp, err = &http.Response{StatusCode: http.StatusMethodNotAllowed, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
	}
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	if t, ok := req.Context().Value(traceKey{}).(*trace); ok {
		t.status.Store(int64(resp.StatusCode))
	}
	resp.Body = &closing{ReadCloser: paced{resp.Body, r.ctx, r.pace}, then: func() { stop(); cancel() }}
	if media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || !strings.EqualFold(media, "text/event-stream") {
		resp.Body = &capped{ReadCloser: resp.Body, left: maxMessage}
	}
	return resp, nil
}

// CloseIdleConnections is what http.Client's method of that name calls.
func (r *remote) CloseIdleConnections() { r.guard.Close() }

// closing does something more when a body is closed.
type closing struct {
	io.ReadCloser
	then func()
}

// Close implements io.Closer.
func (c *closing) Close() error {
	err := c.ReadCloser.Close()
	c.then()
	return err
}

// trace sees how the server answered the request of a call.
type trace struct{ status atomic.Int64 }

type traceKey struct{}

// traced is ctx for one call.
func traced(ctx context.Context) (context.Context, *trace) {
	t := &trace{}
	return context.WithValue(ctx, traceKey{}, t), t
}

// turnedAway tells that the server refused the request as such: the call wasn't
// made.
func (t *trace) turnedAway() bool {
	s := t.status.Load()
	return s >= 400 && s <= 499 && s != http.StatusRequestTimeout
}
