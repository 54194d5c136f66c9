package llmtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/secret"
)

// canary is a key that must never be seen outside a request.
const canary = "sk-canary/0123+456789=abcdef"

// Run proves that the providers of factory keep the contract.
func Run(t *testing.T, b Backend, factory Factory) {
	t.Helper()
	s := suite{b, factory}
	for _, stream := range []bool{false, true} {
		name := "whole"
		if stream {
			name = "stream"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.answers(t, stream)
			s.failures(t, stream)
		})
	}
	t.Run("cuts", s.cuts)
	t.Run("requests", s.requests)
	t.Run("goldens", s.goldens)
	t.Run("secrets", s.secrets)
	t.Run("time", s.time)
}

type suite struct {
	b       Backend
	factory Factory
}

// server is a fake API that keeps the requests it gets.
type server struct {
	*httptest.Server

	mu   sync.Mutex
	seen []Seen
	raw  []raw
}

// first is the first request since forget, as it came.
func (s *server) first() raw {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw[0]
}

func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw = nil
}

func (s *server) requests() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Seen(nil), s.seen...)
}

// serve starts a fake API and a provider that calls it.
func (s suite) serve(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, body []byte)) (*server, llm.Provider) {
	t.Helper()
	srv := &server{}
	srv.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the provider gave up
		}
		seen, err := s.b.Read(r, body)
		if err != nil {
			t.Errorf("the API can't read the request: %v\n%s", err, body)
		}
		srv.mu.Lock()
		srv.seen = append(srv.seen, seen)
		srv.raw = append(srv.raw, raw{r.Method + " " + r.URL.String(), r.Header.Clone(), body})
		srv.mu.Unlock()
		handle(w, r, body)
	}))
	t.Cleanup(srv.Close)
	return srv, s.provider(t, srv.URL, 20*time.Second)
}

func (s suite) provider(t *testing.T, url string, timeout time.Duration) llm.Provider {
	t.Helper()
	return s.factory(t, Setup{URL: url, Key: secret.New(canary), Model: "model-1", Timeout: timeout})
}

// answering serves one answer for ever.
func (s suite) answering(t *testing.T, a Answer) (*server, llm.Provider) {
	t.Helper()
	return s.serve(t, func(w http.ResponseWriter, r *http.Request, body []byte) { s.b.Answer(w, r, body, a) })
}

func ask() llm.Request {
	return llm.Request{
		System:   []string{"You are a bakery."},
		Messages: []llm.Message{{Role: llm.RoleUser, Text: "hi"}},
		Tools:    []llm.Card{card()},
	}
}

// collector keeps what onText was given; nil where the call isn't streamed.
type collector struct{ texts []string }

func (c *collector) onText(stream bool) func(string) {
	if !stream {
		return nil
	}
	return func(text string) { c.texts = append(c.texts, text) }
}

// check proves that the growing texts grew to want.
func (c *collector) check(t *testing.T, want string) {
	t.Helper()
	for i := 1; i < len(c.texts); i++ {
		if !strings.HasPrefix(c.texts[i], c.texts[i-1]) || c.texts[i] == c.texts[i-1] {
			t.Errorf("the text didn't grow: %q, then %q", c.texts[i-1], c.texts[i])
		}
	}
	if want != "" && (len(c.texts) == 0 || c.texts[len(c.texts)-1] != want) {
		t.Errorf("streamed %q, want to end at %q", c.texts, want)
	}
}

// mustFail checks a failure's class, and that it is told without the key.
func mustFail(t *testing.T, p llm.Provider, err error, class llm.Class) *llm.Error {
	t.Helper()
	failure, ok := errors.AsType[*llm.Error](err)
	if !ok {
		t.Fatalf("not an *llm.Error: %v", err)
	}
	if failure.Class != class {
		t.Errorf("class %s, want %s: %v", failure.Class, class, err)
	}
	if failure.Provider != p.Name() || failure.Model != p.Model() {
		t.Errorf("of %s/%s, want %s/%s", failure.Provider, failure.Model, p.Name(), p.Model())
	}
	noSecret(t, err)
	return failure
}

// noSecret looks for the key in an error and in all that it wraps.
func noSecret(t *testing.T, err error) {
	t.Helper()
	for e := err; e != nil; e = errors.Unwrap(e) {
		for _, shown := range []string{e.Error(), fmt.Sprintf("%+v", e), fmt.Sprintf("%#v", e)} {
			if strings.Contains(shown, "canary") || strings.Contains(shown, "456789") {
				t.Fatalf("the key is shown: %s", shown)
			}
		}
	}
}

func generate(ctx context.Context, p llm.Provider, stream bool) (llm.Response, error) {
	return p.Generate(ctx, ask(), new(collector).onText(stream))
}
