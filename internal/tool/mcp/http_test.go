package mcptool

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-bot/parley/internal/secret"
)

// webServer is a remote behind a URL, with a door in front of it.
func webServer(t *testing.T, remote *mcp.Server, door func(w http.ResponseWriter, r *http.Request, next http.Handler)) string {
	t.Helper()
	next := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return remote }, nil)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if door != nil {
			door(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

func TestHTTP_HeadersGoAlongAndNothingIsEchoed(t *testing.T) {
	t.Parallel()
	const token = "canary-token-of-the-server"
	remote := newRemote()
	remote.AddTool(remoteTool("whoami", "Tells."), func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said("you sent " + r.Extra.Header.Get("Authorization")), nil
	})
	url := webServer(t, remote, nil)
	b := pinned(t, nil, Server{
		Name: "web", URL: secret.New(url + "/mcp"), Headers: secrets("Authorization", "Bearer "+token), Allow: allow("whoami"),
	})
	res := b.call("web_whoami", `{}`, enough)
	if string(res.Value) != `"you sent ***"` {
		t.Errorf("result %s", res.Value)
	}
}

// A server that was restarted knows no sessions: it turns the call away, which
// is made on a new one.
func TestHTTP_ALostSessionIsOpenedAnewAndTheCallIsMadeOnce(t *testing.T) {
	t.Parallel()
	var runs atomic.Int64
	var forgotten sync.Map
	var current atomic.Value
	remote := newRemote()
	remote.AddTool(remoteTool("t", "Does it."), func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		runs.Add(1)
		return said("done"), nil
	})
	url := webServer(t, remote, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		id := r.Header.Get("Mcp-Session-Id")
		if _, gone := forgotten.Load(id); gone {
			http.Error(w, "session not found", http.StatusNotFound)
			return
		}
		if id != "" {
			current.Store(id)
		}
		next.ServeHTTP(w, r)
	})
	b := pinned(t, nil, Server{Name: "web", URL: secret.New(url), Allow: allow("t")})
	for n := range 3 {
		if res := b.call("web_t", `{}`, enough); res.Failed {
			t.Fatalf("call %d: %s; log:\n%s", n, res.Value, b.log)
		}
		forgotten.Store(current.Load(), true)
	}
	if res := b.call("web_t", `{}`, enough); res.Failed || runs.Load() != 4 {
		t.Errorf("result %s, %d runs; log:\n%s", res.Value, runs.Load(), b.log)
	}
}

func TestHTTP_G4_WhatIsKnownOfAFailedCall(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer  func(w http.ResponseWriter)
		code    string
		unknown bool
	}{
		"refused":    {func(w http.ResponseWriter) { http.Error(w, "no", http.StatusForbidden) }, "server_unavailable", false},
		"failed":     {func(w http.ResponseWriter) { http.Error(w, "oops", http.StatusInternalServerError) }, "connection_lost", true},
		"broken off": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "connection_lost", true},
		"not json": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{]")
		}, "connection_lost", true},
		"too large": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`)
			x := strings.Repeat("x", 1<<20)
			for range 5 {
				if _, err := io.WriteString(w, x); err != nil {
					return
				}
			}
			_, _ = io.WriteString(w, `"}]}}`)
		}, "connection_lost", true},
		"too large a stream": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: ")
			x := strings.Repeat("x", 1<<20)
			for range 5 {
				if _, err := io.WriteString(w, x); err != nil {
					return
				}
			}
		}, "connection_lost", true},
		"no answer": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }, "connection_lost", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := newRemote()
			remote.AddTool(remoteTool("t", "Does it."), says("done"))
			var bad atomic.Bool
			url := webServer(t, remote, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				if bad.Load() && strings.Contains(string(body), `"tools/call"`) {
					tc.answer(w)
					return
				}
				next.ServeHTTP(w, r)
			})
			b := pinned(t, nil, Server{Name: "web", URL: secret.New(url + "/mcp?key=canary-in-the-url"), Allow: allow("t")})
			bad.Store(true)
			res := b.call("web_t", `{}`, 10*time.Second)
			if code(res) != tc.code || res.Unknown != tc.unknown || res.TimedOut {
				t.Errorf("result %s, unknown %v, timed out %v", res.Value, res.Unknown, res.TimedOut)
			}
			bad.Store(false)
			if res := b.call("web_t", `{}`, enough); res.Failed {
				t.Errorf("afterwards: %s; log:\n%s", res.Value, b.log)
			}
			if strings.Contains(b.log.String(), "canary") {
				t.Errorf("the log holds the URL: %s", b.log)
			}
		})
	}
}

// A redirect to another host would carry the credentials there.
func TestHTTP_E6_RedirectsStayWithTheServer(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	t.Cleanup(other.Close)
	url := webServer(t, newRemote(), func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	b := newBed(t, Lock{}, nil, Server{Name: "web", URL: secret.New(url), Headers: secrets("X-Key", "canary-of-the-header"), Allow: allow("t")})
	seen, err := b.Look(t.Context(), Lock{}, nil)
	problems := seen.Problems
	if err != nil || len(problems) != 1 || reached.Load() {
		t.Errorf("problems %v, error %v, reached %v", problems, err, reached.Load())
	}
}

// A server that takes the request for a stream and never begins it is used
// without one.
func TestHTTP_AStreamThatNeverBeginsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	remote := newRemote()
	remote.AddTool(remoteTool("t", "Does it."), says("done"))
	url := webServer(t, remote, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodGet {
			<-r.Context().Done()
			return
		}
		next.ServeHTTP(w, r)
	})
	b := pinned(t, nil, Server{Name: "web", URL: secret.New(url), Allow: allow("t")})
	if res := b.call("web_t", `{}`, enough); res.Failed {
		t.Errorf("result %s; log:\n%s", res.Value, b.log)
	}
}

func TestHTTP_E4_AChangeIsSeenOverHTTPToo(t *testing.T) {
	t.Parallel()
	remote := newRemote()
	remote.AddTool(remoteTool("t", "Does it."), says("done"))
	b := pinned(t, nil, Server{Name: "web", URL: secret.New(webServer(t, remote, nil)), Allow: allow("t")})
	if res := b.call("web_t", `{}`, enough); res.Failed {
		t.Fatalf("result %s", res.Value)
	}
	remote.AddTool(remoteTool("t", "Does something else."), says("done"))
	b.until(map[string]Reason{"web/t": Changed})
}
