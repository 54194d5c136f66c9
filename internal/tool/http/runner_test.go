package httptool

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/secret"
	"github.com/parley-bot/parley/internal/tool"
)

// seen is what reached the server.
type seen struct{ Method, URI, Body, Key, Type, Auth string }

func recorder(t *testing.T, status int, body string) (url string, got chan seen) {
	t.Helper()
	got = make(chan seen, 8)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- seen{r.Method, r.RequestURI, string(b), r.Header.Get("Idempotency-Key"), r.Header.Get("Content-Type"), r.Header.Get("Authorization")}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

func newRunner(t *testing.T, c Config, allow ...string) *Runner {
	t.Helper()
	r, err := New(c, testGuard(t, allow...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func hostOf(url string) string { return strings.TrimPrefix(url, "http://") }

func ana() tool.Identity {
	return tool.Identity{ChatKey: "web:s1", Channel: "web", UserID: "u/1", Name: "Ana", Claims: map[string]string{"phone": "+57 1", "a.b": "c"}}
}

const anyArgs = `{"type":"object","properties":{"id":{},"q":{},"items":{},"n":{}}}`

func TestRun_E1_RequestByMethod(t *testing.T) {
	t.Parallel()
	const args = `{"q":"pan & té","id":"P-1","n":9007199254740993,"items":[{"z":1.50,"a":null}]}`
	bind := map[string]string{"customer": "user.id", "who": "user.name", "tel": "user.claims.phone", "dot": "user.claims.a.b", "chat": "chat.key", "via": "channel"}
	boundQuery := "&chat=web%3As1&customer=u%2F1&dot=c&tel=%2B57+1&via=web&who=Ana"
	boundBody := `,"chat":"web:s1","customer":"u/1","dot":"c","tel":"+57 1","via":"web","who":"Ana"}`
	query := `/o/P-1?fix=1&q=pan+%26+t%C3%A9&n=9007199254740993&items=%5B%7B%22z%22%3A1.50%2C%22a%22%3Anull%7D%5D` + boundQuery
	body := `{"q":"pan & té","n":9007199254740993,"items":[{"z":1.50,"a":null}]` + boundBody
	for method, want := range map[string]seen{
		"GET":    {"GET", query, "", "", "", "Bearer canary"},
		"HEAD":   {"HEAD", query, "", "", "", "Bearer canary"},
		"DELETE": {"DELETE", query, "", "t1.2.1", "", "Bearer canary"},
		"POST":   {"POST", "/o/P-1?fix=1", body, "t1.2.1", "application/json", "Bearer canary"},
		"PUT":    {"PUT", "/o/P-1?fix=1", body, "t1.2.1", "application/json", "Bearer canary"},
		"PATCH":  {"PATCH", "/o/P-1?fix=1", body, "t1.2.1", "application/json", "Bearer canary"},
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			url, got := recorder(t, 200, "")
			r := newRunner(t, Config{
				Method: method, URL: url + "/o/{id}?fix=1", Schema: json.RawMessage(anyArgs), Bind: bind,
				Headers: map[string]secret.String{"authorization": secret.New("Bearer canary")},
			}, hostOf(url))
			res, err := r.Run(t.Context(), tool.Call{ID: "t1.2.1", Args: json.RawMessage(args), Identity: ana()})
			if err != nil || res.Failed || res.Value != nil {
				t.Fatalf("%v %+v", err, res)
			}
			if d := cmp.Diff(want, <-got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestRun_E1_IdentityIsNeverAnArgument(t *testing.T) {
	t.Parallel()
	url, got := recorder(t, 200, "")
	r := newRunner(t, Config{Method: "POST", URL: url, Schema: json.RawMessage(anyArgs), Bind: map[string]string{"customer": "user.id"}}, hostOf(url))
	_, err := r.Run(t.Context(), tool.Call{Args: json.RawMessage(`{"customer":"evil","Customer":"evil","q":1,"CUSTOMER":{"a":1}}`), Identity: ana()})
	if err != nil {
		t.Fatal(err)
	}
	if b := (<-got).Body; b != `{"q":1,"customer":"u/1"}` {
		t.Errorf("body %s", b)
	}
	for name, id := range map[string]tool.Identity{"no user": {ChatKey: "api:1"}, "no claim": {UserID: "u"}} {
		bind := map[string]string{"no user": "user.id", "no claim": "user.claims.phone"}[name]
		r := newRunner(t, Config{Method: "DELETE", URL: url + "/{who}", Bind: map[string]string{"who": bind}}, hostOf(url))
		res, err := r.Run(t.Context(), tool.Call{Identity: id})
		if err != nil || !res.Failed || !strings.Contains(string(res.Value), "identity_missing") {
			t.Errorf("%s: %v %s", name, err, res.Value)
		}
	}
	if len(got) != 0 {
		t.Error("a request was made in nobody's name")
	}
}

func TestRun_InvalidPlaceholderMakesNoRequest(t *testing.T) {
	t.Parallel()
	url, got := recorder(t, 200, "")
	r := newRunner(t, Config{Method: "DELETE", URL: url + "/orders/{id}", Schema: json.RawMessage(anyArgs)}, hostOf(url))
	for _, args := range []string{`{}`, `{"id":""}`, `{"id":".."}`, `{"id":null}`, `{"id":[1]}`} {
		res, err := r.Run(t.Context(), tool.Call{Args: json.RawMessage(args)})
		if err != nil || !res.Failed || res.Unknown || !strings.Contains(string(res.Value), `"path":"/id"`) {
			t.Errorf("%s: %v %s", args, err, res.Value)
		}
	}
	for _, args := range []string{`[]`, `{`, `{"id":1,"id":2}`, `{"id":1`} {
		if _, err := r.Run(t.Context(), tool.Call{Args: json.RawMessage(args)}); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
	if len(got) != 0 {
		t.Error("a request was made")
	}
}

func TestRun_E6_HostFromAnArgumentIsAFailedResult(t *testing.T) {
	t.Parallel()
	url, got := recorder(t, 200, "hi")
	var log bytes.Buffer
	r := newRunner(t, Config{
		Name: "look", URL: "http://{id}/x", Schema: json.RawMessage(anyArgs), Effect: tool.Unsafe,
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	}, hostOf(url))
	for _, host := range []string{"127.0.0.1", "169.254.169.254", "evil.example", "2130706433", hostOf(url) + "@evil.example", hostOf(url) + "/", "a b"} {
		res, err := r.Run(t.Context(), tool.Call{Args: []byte(`{"id":` + string(quote(host)) + `}`)})
		if err != nil || !res.Failed || res.Unknown || !strings.Contains(string(res.Value), `"error":"host_not_allowed"`) {
			t.Errorf("%s: %v %s", host, err, res.Value)
		}
		call := tool.Call{Args: []byte(`{"id":` + string(quote(host)) + `}`)}
		if fail := r.Ready(t.Context(), call); fail == nil || string(fail.Value) != string(res.Value) {
			t.Errorf("%s: a person would be asked: %+v", host, fail)
		}
		if strings.Contains(string(res.Value), "127.0.0.1") {
			t.Errorf("the model is told the address: %s", res.Value)
		}
	}
	if !strings.Contains(log.String(), "fetch.allow") || !strings.Contains(log.String(), "tool=look") {
		t.Errorf("the operator isn't told why: %s", log.String())
	}
	res, err := r.Run(t.Context(), tool.Call{Args: []byte(`{"id":"` + hostOf(url) + `"}`)})
	if err != nil || tool.Content(res, 0) != "hi" {
		t.Errorf("the listed host: %v %s", err, res.Value)
	}
	if len(got) != 1 {
		t.Errorf("%d requests, want 1", len(got))
	}
}

func TestRun_StatusOutside2xxFails(t *testing.T) {
	t.Parallel()
	for status, failed := range map[int]bool{200: false, 201: false, 299: false, 300: true, 404: true, 409: true, 500: true} {
		url, _ := recorder(t, status, `{"a":1}`)
		r := newRunner(t, Config{Method: "POST", URL: url}, hostOf(url))
		res, err := r.Run(t.Context(), tool.Call{})
		if err != nil || res.Failed != failed || res.Unknown {
			t.Errorf("%d: %v %+v", status, err, res)
		}
	}
}

func TestRun_G4_OutcomeByEffect(t *testing.T) {
	t.Parallel()
	aborting := func(t *testing.T) string {
		s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
		s.Config.ErrorLog = nil
		t.Cleanup(s.Close)
		return s.URL
	}
	closed := func(*testing.T) string {
		s := httptest.NewServer(nil)
		s.Close()
		return s.URL
	}
	lateFailure := func(t *testing.T) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/done" {
				w.WriteHeader(500)
				return
			}
			http.Redirect(w, r, "/done", http.StatusSeeOther)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	for name, tc := range map[string]struct {
		server  func(*testing.T) string
		method  string
		effect  tool.Effect
		unknown bool
		code    string
	}{
		"a POST that is lost":           {aborting, "POST", "", true, "connection_lost"},
		"a DELETE that is lost":         {aborting, "DELETE", "", true, "connection_lost"},
		"an idempotent PUT that's lost": {aborting, "PUT", tool.Idempotent, true, "connection_lost"},
		"a GET that is lost":            {aborting, "GET", "", false, "connection_lost"},
		"a GET with effects":            {aborting, "GET", tool.Unsafe, true, "connection_lost"},
		"a POST that only reads":        {aborting, "POST", tool.Read, false, "connection_lost"},
		"nobody there":                  {closed, "POST", "", false, "connection_failed"},
		"done, then a broken page":      {lateFailure, "POST", "", true, "http_status"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := tc.server(t)
			r := newRunner(t, Config{Method: tc.method, URL: url, Effect: tc.effect}, hostOf(url))
			res, err := r.Run(t.Context(), tool.Call{ID: "t.1.1"})
			if err != nil || !res.Failed || res.Unknown != tc.unknown || !strings.Contains(string(res.Value), `"error":"`+tc.code+`"`) {
				t.Errorf("%v %+v %s, want %s, unknown %v", err, res, res.Value, tc.code, tc.unknown)
			}
			if strings.Contains(string(res.Value), "127.0.0.1") {
				t.Errorf("the model is told the address: %s", res.Value)
			}
		})
	}
}

func TestRun_G4_TimeoutAndAbortAfterSending(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cause    error
		method   string
		timedOut bool
		unknown  bool
		code     string
	}{
		"timeout of a POST":           {tool.ErrTimeout, "POST", true, true, "timeout"},
		"timeout of a GET":            {tool.ErrTimeout, "GET", true, false, "timeout"},
		"deadline of a POST":          {context.DeadlineExceeded, "POST", true, true, "timeout"},
		"abort of a POST":             {context.Canceled, "POST", false, true, "aborted"},
		"abort of a GET, not unknown": {context.Canceled, "GET", false, false, "aborted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrived, release := make(chan struct{}), make(chan struct{})
			s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(arrived); <-release }))
			t.Cleanup(s.Close)
			defer close(release)
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { <-arrived; cancel(tc.cause) }()
			r := newRunner(t, Config{Method: tc.method, URL: s.URL}, hostOf(s.URL))
			res, err := r.Run(ctx, tool.Call{ID: "t.1.1"})
			if err != nil || res.TimedOut != tc.timedOut || res.Unknown != tc.unknown || !strings.Contains(string(res.Value), `"error":"`+tc.code+`"`) {
				t.Errorf("%v %+v %s", err, res, res.Value)
			}
		})
	}
}

func TestRun_E5_CapWhileReading(t *testing.T) {
	t.Parallel()
	url, _ := recorder(t, 200, strings.Repeat("x", 1<<20))
	r := newRunner(t, Config{URL: url}, hostOf(url))
	res, err := r.Run(t.Context(), tool.Call{})
	if got := tool.Content(res, 0); err != nil || len(got) > tool.DefaultOutputCap || !strings.HasSuffix(got, "[cut: only the first 32768 bytes were read]") {
		t.Errorf("%v, %d bytes, …%q", err, len(got), got[len(got)-60:])
	}
}

func TestRun_G4_GetWithEffectsIsSentOnce(t *testing.T) {
	t.Parallel()
	var lost atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/lost" {
			lost.Add(1)
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(s.Close)
	g := testGuard(t, hostOf(s.URL))
	reads, err := New(Config{URL: s.URL + "/ok"}, g)
	if err != nil {
		t.Fatal(err)
	}
	acts, err := New(Config{URL: s.URL + "/lost", Effect: tool.Unsafe}, g)
	if err != nil {
		t.Fatal(err)
	}
	// A kept connection that dies would make net/http send again.
	if _, err := reads.Run(t.Context(), tool.Call{}); err != nil {
		t.Fatal(err)
	}
	if res, err := acts.Run(t.Context(), tool.Call{ID: "t.1.1"}); err != nil || !res.Unknown {
		t.Errorf("%v %+v", err, res)
	}
	if n := lost.Load(); n != 1 {
		t.Errorf("sent %d times", n)
	}
}
