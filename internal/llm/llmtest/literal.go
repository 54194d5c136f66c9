package llmtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/secret"
)

// Sent is one request that a [Literal] got.
type Sent struct {
	// Target is the method and the path with its query.
	Target string
	Header http.Header
	Body   string
}

// Literal is a fake server that answers every request with one literal body.
type Literal struct {
	// URL is the server's root, without a path.
	URL string

	mu   sync.Mutex
	sent []Sent
}

// Sent are the requests so far.
func (l *Literal) Sent() []Sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Sent(nil), l.sent...)
}

// NewLiteral starts a server that ends with the test.
func NewLiteral(t *testing.T, status int, body string) *Literal {
	t.Helper()
	l := &Literal{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body) // the provider gave up
		l.mu.Lock()
		l.sent = append(l.sent, Sent{Target: r.Method + " " + r.URL.String(), Header: r.Header.Clone(), Body: strings.TrimSuffix(string(raw), "\n")})
		l.mu.Unlock()
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(srv.Close)
	l.URL = srv.URL
	return l
}

// Build makes the provider under test of model m, which calls a server.
type Build func(t *testing.T, root string) llm.Provider

// Refused is a failed answer and the class it has.
type Refused struct {
	Status int
	Body   string
	Want   llm.Class
}

// RunRefused proves the classes of errors that only one API has. Where Status
// is 200 the error is also looked for within a stream, as the event of it that
// event makes (nil leaves that out).
func RunRefused(t *testing.T, build Build, event func(body string) string, cases map[string]Refused) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := build(t, NewLiteral(t, tc.Status, tc.Body).URL).Generate(t.Context(), hi(), nil)
			if !llm.HasClass(err, tc.Want) {
				t.Errorf("got %v, want %s", err, tc.Want)
			}
			if tc.Status != http.StatusOK || event == nil {
				return
			}
			_, err = build(t, NewLiteral(t, tc.Status, event(tc.Body)).URL).Generate(t.Context(), hi(), func(string) {})
			if !llm.HasClass(err, tc.Want) {
				t.Errorf("streamed: got %v, want %s", err, tc.Want)
			}
		})
	}
}

// Read is a literal answer and what is made of it.
type Read struct {
	Stream bool
	Body   string
	// Want is without From.
	Want llm.Response
}

// RunRead proves what is made of answers that only one API, or a server that
// copies it, has.
func RunRead(t *testing.T, build Build, cases map[string]Read) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := build(t, NewLiteral(t, http.StatusOK, tc.Body).URL)
			var texts collector
			got, err := p.Generate(t.Context(), hi(), texts.onText(tc.Stream))
			if err != nil {
				t.Fatal(err)
			}
			tc.Want.From = p.Name() + "/" + p.Model()
			if diff := cmp.Diff(tc.Want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			texts.check(t, "")
		})
	}
}

func hi() llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "hi"}}}
}

// RunSettings proves that wrong settings are refused without showing the key,
// and that the model's name alone is enough.
func RunSettings(t *testing.T, try func(model, base string, key secret.String) (llm.Provider, error)) {
	t.Helper()
	for name, tc := range map[string]struct{ model, base string }{
		"no model":       {"", ""},
		"no scheme":      {"m", "api.example.com"},
		"another scheme": {"m", "ftp://x"},
		"a password":     {"m", "http://u:" + canary + "@x"},
		"not a URL":      {"m", "http://" + canary + "\x7f/"},
	} {
		_, err := try(tc.model, tc.base, secret.New(canary))
		if err == nil {
			t.Errorf("%s: taken", name)
			continue
		}
		noSecret(t, err)
	}
	if p, err := try("m", "", secret.String{}); err != nil || p.Model() != "m" {
		t.Errorf("the defaults aren't enough: %v", err)
	}
}
