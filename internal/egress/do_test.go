package egress

import (
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestDo_E5_CapsWhatItReads(t *testing.T) {
	t.Parallel()
	_, host, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bomb" {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.CopyN(z, zeros{}, 64<<20)
			_ = z.Close()
			return
		}
		_, _ = io.CopyN(w, zeros{}, 100)
	})
	g := newGuard(t, Options{MaxBody: 50}, host)
	for name, tc := range map[string]struct {
		path string
		max  int64
		want int
		cut  bool
	}{
		"the guard's cap":        {"/", 0, 50, true},
		"the request's cap":      {"/", 99, 99, true},
		"just enough":            {"/", 100, 100, false},
		"after decompression":    {"/bomb", 1000, 1000, true},
		"the guard's, of a bomb": {"/bomb", 0, 50, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, err := g.Do(t.Context(), Request{URL: "http://" + host + tc.path, MaxBody: tc.max})
			if err != nil || len(resp.Body) != tc.want || resp.Truncated != tc.cut {
				t.Errorf("%v, %d bytes, cut %v; want %d, %v", err, len(resp.Body), resp.Truncated, tc.want, tc.cut)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestDo_G4_LostAfterSendingIsUnknownAndSentOnce(t *testing.T) {
	t.Parallel()
	for name, method := range map[string]string{"POST": "POST", "DELETE without a body": "DELETE", "GET with effects": "GET"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, host, hits := server(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/ok" {
					return
				}
				panic(http.ErrAbortHandler) // the connection dies without an answer
			})
			g := newGuard(t, Options{}, host)
			// An exchange before, so that a kept connection would be there.
			for range 2 {
				if _, err := g.Do(t.Context(), Request{URL: "http://" + host + "/ok"}); err != nil {
					t.Fatal(err)
				}
			}
			before := hits.Load()
			_, err := g.Do(t.Context(), Request{Method: method, URL: "http://" + host + "/lost", Once: true, Header: http.Header{"Idempotency-Key": {"t.1.1"}}})
			if ClassOf(err) != Unknown {
				t.Errorf("%v, want unknown", err)
			}
			if n := hits.Load() - before; n != 1 {
				t.Errorf("the request was sent %d times", n)
			}
		})
	}
}

func TestDo_G4_CutBodyIsUnknown(t *testing.T) {
	t.Parallel()
	_, host, _ := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
		panic(http.ErrAbortHandler)
	})
	g := newGuard(t, Options{}, host)
	if _, err := g.Do(t.Context(), Request{Method: "POST", URL: "http://" + host}); ClassOf(err) != Unknown {
		t.Errorf("%v, want unknown", err)
	}
}

func TestDo_G4_TimeoutAfterSendingIsUnknown(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	_, host, _ := server(t, func(http.ResponseWriter, *http.Request) { close(arrived); <-release })
	defer close(release)
	g := newGuard(t, Options{}, host)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-arrived; cancel(context.DeadlineExceeded) }()
	_, err := g.Do(ctx, Request{Method: "POST", URL: "http://" + host})
	if ClassOf(err) != Unknown {
		t.Errorf("%v, want unknown", err)
	}
}

func TestDo_HasATimeoutOfItsOwn(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	_, host, _ := server(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	g := newGuard(t, Options{Timeout: 20 * time.Millisecond}, host)
	_, err := g.Do(context.Background(), Request{URL: "http://" + host})
	te, ok := err.(interface{ Timeout() bool })
	if !ok || !te.Timeout() {
		t.Errorf("%v, want a timeout", err)
	}
}

// answering gives one raw answer on a bare connection.
func answering(t *testing.T, raw string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 4096)
			_, _ = c.Read(buf)
			_, _ = io.WriteString(c, raw)
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

func TestDo_HostileAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		raw string
		ok  bool
	}{
		"garbage":              {"SSH-2.0-OpenSSH_9.6\r\n", false},
		"nothing":              {"", false},
		"endless header":       {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", 200<<10) + "\r\n\r\n", false},
		"until the end":        {"HTTP/1.0 200 OK\r\n\r\nbody", true},
		"no location":          {"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", true},
		"mad location":         {"HTTP/1.1 302 Found\r\nLocation: http://[::1/%zz\r\nContent-Length: 0\r\n\r\n", false},
		"short of its length":  {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", false},
		"negative length":      {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc", false},
		"informational, ended": {"HTTP/1.1 103 Early Hints\r\n\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := answering(t, tc.raw)
			g := newGuard(t, Options{}, host)
			_, err := g.Do(t.Context(), Request{Method: "POST", URL: "http://" + host})
			if (err == nil) != tc.ok {
				t.Errorf("error %v, want ok %v", err, tc.ok)
			}
			if err != nil && ClassOf(err) != Unknown {
				t.Errorf("class %s, want unknown", ClassOf(err))
			}
		})
	}
}

func TestDo_HeadersOfTheConnectionAreOurs(t *testing.T) {
	t.Parallel()
	got := make(chan http.Header, 1)
	gotHost := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header; gotHost <- r.Host }))
	t.Cleanup(s.Close)
	host := strings.TrimPrefix(s.URL, "http://")
	g := newGuard(t, Options{}, host)
	_, err := g.Do(t.Context(), Request{Method: "POST", URL: s.URL, Body: []byte("{}"), Header: http.Header{
		"Host": {"evil.example"}, "Transfer-Encoding": {"chunked"}, "Proxy-Authorization": {"x"}, "Accept-Encoding": {"identity"}, "X-Mine": {"1"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	h := <-got
	if h.Get("Proxy-Authorization") != "" || h.Get("X-Mine") != "1" || h.Get("User-Agent") != "parley" || h.Get("Accept-Encoding") != "gzip" {
		t.Errorf("headers %v", h)
	}
	if gh := <-gotHost; gh != host {
		t.Errorf("host %q, want %q", gh, host)
	}
	_, err = g.Do(t.Context(), Request{URL: s.URL, Header: http.Header{"X-Bad": {"a\r\nX-Injected: canary"}}})
	if ClassOf(err) != NotSent || strings.Contains(err.Error(), "canary") {
		t.Errorf("a header with a line break: %v, want not_sent", err)
	}
}
