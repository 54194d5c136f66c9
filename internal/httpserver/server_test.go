package httpserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// start serves deps on a free loopback port until the test ends.
func start(t *testing.T, cfg Config, deps Deps) *Server {
	t.Helper()
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	s, err := New(cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		// A test that stopped the server itself has looked at the error.
		_ = s.Stop(ctx)
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return s
}

func url(s *Server, path string) string { return "http://" + s.Addr().String() + path }

func fetch(t *testing.T, method, url, body string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(out)
}

func TestServer_Listen_PortInUse(t *testing.T) {
	t.Parallel()
	first := start(t, Config{}, Deps{})
	addr := first.Addr().String()
	second, err := New(Config{Listen: addr}, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	err = second.Listen(t.Context())
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), addr+": the address is in use") {
		t.Errorf("got %v", err)
	}
	if err := second.Stop(t.Context()); err != nil {
		t.Errorf("stop of a server that never listened: %v", err)
	}
}

func TestServer_Listen_MetricsPortInUse(t *testing.T) {
	t.Parallel()
	first := start(t, Config{}, Deps{})
	s, err := New(Config{Listen: "127.0.0.1:0", MetricsListen: first.Addr().String()}, Deps{Metrics: http.NotFoundHandler()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(t.Context()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Fatalf("got %v", err)
	}
	// The other listener is free again.
	again := start(t, Config{Listen: s.Addr().String()}, Deps{})
	if again.Addr() == nil {
		t.Error("not listening")
	}
}

func TestServer_IPv6AndHTTP10(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		s := start(t, Config{Listen: addr}, Deps{})
		for _, method := range []string{"GET", "HEAD"} {
			conn, err := net.Dial("tcp", s.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "%s /readyz HTTP/1.0\r\n\r\n", method)
			out, err := io.ReadAll(conn) // HTTP/1.0: the server closes
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(out), "HTTP/1.0 200 OK\r\n") {
				t.Errorf("%s %s: %q", method, addr, out)
			}
			if hasBody := strings.Contains(string(out), `"ready"`); hasBody != (method == "GET") {
				t.Errorf("%s: body %v", method, hasBody)
			}
		}
	}
}

func TestServer_G7_StopWaitsForRequests(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	s := start(t, Config{}, Deps{Webhooks: map[string]http.Handler{"a": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-leave
		if r.Context().Err() != nil {
			t.Error("the request was cancelled by the stop")
		}
		w.WriteHeader(http.StatusAccepted)
	})}})
	code := make(chan int, 1)
	go func() {
		resp, err := http.Post(url(s, "/webhooks/a"), "text/plain", nil)
		if err != nil {
			code <- 0
			return
		}
		code <- resp.StatusCode
		_ = resp.Body.Close()
	}()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(context.Background()) }()
	select {
	case err := <-stopped:
		t.Fatalf("stopped with a request under way: %v", err)
	case <-s.stopping.Done():
	}
	close(leave)
	if err := <-stopped; err != nil {
		t.Errorf("stop: %v", err)
	}
	if got := <-code; got != http.StatusAccepted {
		t.Errorf("status %d", got)
	}
	if err := s.Stop(context.Background()); err != nil {
		t.Errorf("second stop: %v", err)
	}
	if _, err := net.Dial("tcp", s.Addr().String()); err == nil {
		t.Error("still listening")
	}
}

func TestServer_G7_StopIsBounded(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	s := start(t, Config{}, Deps{Webhooks: map[string]http.Handler{"a": http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done() // until it is cut off
	})}})
	go func() {
		resp, err := http.Post(url(s, "/webhooks/a"), "text/plain", nil)
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Stop(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("got %v", err)
	}
}

func TestServer_Stop_BeforeServe(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Listen: "127.0.0.1:0"}, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Serve(); err != nil {
		t.Errorf("serve after stop: %v", err)
	}
	if _, err := net.Dial("tcp", s.Addr().String()); err == nil {
		t.Error("still listening")
	}
}

func TestServer_Stream(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	more := make(chan struct{})
	// Deadlines far shorter than the stream lives.
	cfg := Config{ReadTimeout: 400 * time.Millisecond, WriteTimeout: time.Millisecond, HeaderTimeout: 400 * time.Millisecond}
	s := start(t, cfg, Deps{Pages: []Page{{"/chat/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		write := func(s string) {
			_, err := io.WriteString(w, s)
			if err = errors.Join(err, rc.Flush()); err != nil {
				t.Errorf("stream: %v", err)
			}
		}
		write("data: 1\n\n")
		<-more
		write("data: 2\n\n")
		<-r.Context().Done()
		ended <- context.Cause(r.Context())
	})}}})
	resp, err := http.Get(url(s, "/chat/api/events"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() || lines.Text() != "data: 1" {
		t.Fatalf("first event: %q", lines.Text())
	}
	// Past every deadline of an ordinary request.
	<-time.After(500 * time.Millisecond)
	select {
	case err := <-ended:
		t.Fatalf("the stream ended by itself: %v", err)
	default:
	}
	close(more)
	lines.Scan() // the empty line between events
	if !lines.Scan() || lines.Text() != "data: 2" {
		t.Errorf("second event: %q", lines.Text())
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("a stream holds up the stop: %v", err)
	}
	<-ended
}
