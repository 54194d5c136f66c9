package webchat_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/webchat"
)

type sinkFunc func(ctx context.Context, in channels.Inbound) error

func (f sinkFunc) Accept(ctx context.Context, in channels.Inbound) error { return f(ctx, in) }

// chat is an adapter behind a server on loopback.
type chat struct {
	t       *testing.T
	host    *channeltest.Host
	adapter *webchat.Adapter
	url     string

	mu     sync.Mutex
	answer func(ctx context.Context, in channels.Inbound) error
	got    []channels.Inbound
}

func newChat(t *testing.T, cfg webchat.Config) *chat {
	t.Helper()
	c := &chat{t: t, host: channeltest.NewHost()}
	a, err := webchat.New(cfg, webchat.Deps{Host: c.host, Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	c.adapter = a
	_, h := a.Pages(sinkFunc(c.accept))
	srv := httptest.NewServer(h)
	c.url = srv.URL
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx, sinkFunc(c.accept)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		srv.Close() // waits for requests under way
	})
	return c
}

func (c *chat) accept(ctx context.Context, in channels.Inbound) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answer != nil {
		if err := c.answer(ctx, in); err != nil {
			return err
		}
	}
	c.got = append(c.got, in)
	return nil
}

func (c *chat) onAccept(f func(ctx context.Context, in channels.Inbound) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = f
}

func (c *chat) accepted() []channels.Inbound {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.got
}

// req is one request; header pairs follow.
func (c *chat) req(method, path, body string, header ...string) *http.Request {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// do makes the request and returns status, headers and body.
func (c *chat) do(method, path, body string, header ...string) (int, http.Header, string) {
	c.t.Helper()
	res, err := http.DefaultTransport.RoundTrip(c.req(method, path, body, header...))
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(b)
}

// visitor is one session.
type visitor struct {
	*chat
	session, token string
}

func (c *chat) begin(lang string) visitor {
	c.t.Helper()
	status, _, body := c.do("POST", "/chat/api/sessions", `{"lang":"`+lang+`"}`)
	var out struct{ Session, Token string }
	if err := json.Unmarshal([]byte(body), &out); err != nil || status != http.StatusCreated {
		c.t.Fatalf("beginning a session: %d %s", status, body)
	}
	return visitor{c, out.Session, out.Token}
}

func (v visitor) at() channels.Chat { return channels.Chat{ID: channels.ChatID(v.session)} }

func (v visitor) call(method, path, body string) (int, string) {
	v.t.Helper()
	status, _, out := v.do(method, path, body, "Authorization", "Bearer "+v.token)
	return status, strings.TrimSpace(out)
}

// sse is an open stream.
type sse struct {
	t     *testing.T
	res   *http.Response
	lines *bufio.Scanner
	stop  func()
}

// open begins a stream after the given header pairs; the test's end closes it.
func (v visitor) open(path string, header ...string) *sse {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), channeltest.Patience)
	r := v.req("GET", path, "", append(header, "Authorization", "Bearer "+v.token)...).WithContext(ctx)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		cancel()
		v.t.Fatal(err)
	}
	s := &sse{v.t, res, bufio.NewScanner(res.Body), sync.OnceFunc(func() { cancel(); res.Body.Close() })}
	v.t.Cleanup(s.stop)
	return s
}

// block reads up to the next empty line; "" is the end of the stream.
func (s *sse) block() string {
	var lines []string
	for s.lines.Scan() {
		if s.lines.Text() == "" {
			return strings.Join(lines, "\n")
		}
		lines = append(lines, s.lines.Text())
	}
	return ""
}

// event reads the next event of that name.
func (s *sse) event(name string) string {
	s.t.Helper()
	for {
		b := s.block()
		if b == "" {
			s.t.Fatalf("the stream ended before an event %q", name)
		}
		if strings.Contains(b, "event: "+name+"\n") {
			return b
		}
	}
}

func fixed() time.Time { return time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC) }
