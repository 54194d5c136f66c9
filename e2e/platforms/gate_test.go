package platforms

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// gate stands between the bot and a platform's fake. It records each call,
// and can refuse connections or answer in the platform's place.
type gate struct {
	t     *testing.T
	addr  string
	proxy *httputil.ReverseProxy
	idle  func()

	// life is held by calls that are passed on, so that the platform is never
	// away in the middle of one: what it took, it also answered.
	life sync.RWMutex
	srv  *http.Server // nil while it is away

	mu     sync.Mutex
	calls  []call
	meddle func(w http.ResponseWriter, r *http.Request, body string) bool
}

// call is one that the platform was sent.
type call struct {
	at           time.Time
	method, path string
	query, kind  string
	body         string
	code         int
}

func newGate(t *testing.T, fake string) *gate {
	t.Helper()
	back, err := url.Parse(fake)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{MaxIdleConnsPerHost: 64}
	g := &gate{t: t, idle: tr.CloseIdleConnections, proxy: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(back) }, Transport: tr, ErrorLog: log.New(io.Discard, "", 0),
	}}
	g.up()
	t.Cleanup(func() { g.down(); tr.CloseIdleConnections() })
	return g
}

func (g *gate) url() string { return "http://" + g.addr }

// down makes the platform refuse connections.
func (g *gate) down() {
	g.life.Lock()
	defer g.life.Unlock()
	if g.srv != nil {
		_ = g.srv.Close() // what it says concerns connections that are cut
		g.srv = nil
	}
}

// up makes it listen again, where it was.
func (g *gate) up() {
	g.t.Helper()
	addr := g.addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	var l net.Listener
	if !until(g.t.Context(), func() (ok bool) {
		var err error
		l, err = (&net.ListenConfig{}).Listen(g.t.Context(), "tcp", addr)
		return err == nil
	}) {
		g.t.Fatalf("%s can't be listened on again", addr)
	}
	g.addr = l.Addr().String()
	srv := &http.Server{Handler: g, ReadHeaderTimeout: patience, ErrorLog: log.New(io.Discard, "", 0)}
	g.life.Lock()
	g.srv = srv
	g.life.Unlock()
	go func() { _ = srv.Serve(l) }()
}

// onCall lets fn answer calls in the platform's place; nil ends it.
func (g *gate) onCall(fn func(w http.ResponseWriter, r *http.Request, body string) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.meddle = fn
}

// ServeHTTP implements http.Handler.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/getUpdates") { // a poll changes nothing, and lasts
		g.life.RLock()
		defer g.life.RUnlock()
		if g.srv == nil {
			panic(http.ErrAbortHandler)
		}
	}
	at := time.Now()
	body, err := io.ReadAll(io.LimitReader(r.Body, 4<<20))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	g.mu.Lock()
	meddle := g.meddle
	g.mu.Unlock()
	rec := &status{ResponseWriter: w}
	if meddle == nil || !meddle(rec, r, string(body)) {
		g.proxy.ServeHTTP(rec, r)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = append(g.calls, call{at, r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("Content-Type"), string(body), rec.code})
}

// seen are the calls so far whose path ends so.
func (g *gate) seen(suffix string) (out []call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.calls {
		if strings.HasSuffix(c.path, suffix) {
			out = append(out, c)
		}
	}
	return out
}

// status remembers what was answered.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

func (s *status) Write(p []byte) (int, error) {
	if s.code == 0 {
		s.code = http.StatusOK
	}
	return s.ResponseWriter.Write(p)
}

// Unwrap lets the proxy flush.
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// forward brings a platform's deliveries to the bot's webhook; while the bot
// is away they are answered 502.
func forward(base, path string) http.Handler {
	back, err := url.Parse(base)
	if err != nil {
		panic(err) // an address of this test's own
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(back)
			r.Out.URL.Path = path
		},
		Transport: &http.Transport{DisableKeepAlives: true}, ErrorLog: log.New(io.Discard, "", 0),
	}
}
