package httpserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

func text(s string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, s+" "+r.URL.Path)
	})
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	notFound := `{"error":{"code":"not_found","message":"There is nothing at this address."}}`
	s := start(t, Config{MaxBody: 10}, Deps{
		Metrics:  text("metrics"),
		Webhooks: map[string]http.Handler{"tg": text("hook"), "big": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })},
		Pages:    []Page{{"/chat/", text("chat")}, {"/admin/", text("admin")}},
		Ready: func(context.Context) Readiness {
			return Readiness{Ready: false, Store: "disk full", Channels: map[string]ChannelState{"web": {Up: true}, "tg": {Detail: "reconnecting"}}}
		},
	})
	for _, tc := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"GET", "/healthz", "", 200, `{"status":"ok"}`},
		{"HEAD", "/healthz", "", 200, ""},
		{"POST", "/healthz", "", 405, `{"error":{"code":"method_not_allowed","message":"This address doesn't take that method."}}`},
		{"GET", "/readyz", "", 503, `{"status":"not_ready","store":"disk full","channels":{"tg":{"up":false,"detail":"reconnecting"},"web":{"up":true}}}`},
		{"HEAD", "/readyz", "", 503, ""},
		{"GET", "/metrics", "", 200, "metrics /metrics"},
		{"GET", "/webhooks/tg", "", 200, "hook /"},
		{"GET", "/webhooks/tg/", "", 200, "hook /"},
		{"POST", "/webhooks/tg/a/b?x=1", "", 200, "hook /a/b"},
		{"PUT", "/webhooks/tg", "", 200, "hook /"},
		{"POST", "/webhooks/no", "", 404, `{"error":{"code":"unknown_channel","message":"No channel of this name takes webhooks."}}`},
		{"POST", "/webhooks/", "", 404, notFound},
		{"POST", "/webhooks/big", "0123456789", 200, "0123456789"},
		{"POST", "/webhooks/big", "0123456789x", 413, `{"error":{"code":"too_large","message":"The body is over 10 bytes."}}`},
		{"GET", "/chat/", "", 200, "chat /chat/"},
		{"POST", "/chat/api/x", "", 200, "chat /chat/api/x"},
		{"GET", "/chat?a=b", "", 308, ""},
		{"GET", "/?lang=es", "", 302, ""},
		{"GET", "/admin/x", "", 200, "admin /admin/x"},
		{"GET", "/nothing", "", 404, notFound},
	} {
		code, header, body := fetch(t, tc.method, url(s, tc.path), tc.body)
		if code != tc.code {
			t.Errorf("%s %s: status %d, want %d", tc.method, tc.path, code, tc.code)
		}
		if code/100 == 3 {
			if want := map[string]string{"/chat?a=b": "/chat/?a=b", "/?lang=es": "/chat/?lang=es"}[tc.path]; header.Get("Location") != want {
				t.Errorf("%s: goes to %q", tc.path, header.Get("Location"))
			}
			continue
		}
		if d := gocmp.Diff(tc.want, strings.TrimSpace(body)); d != "" {
			t.Errorf("%s %s (-want +got):\n%s", tc.method, tc.path, d)
		}
		if header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s: sniffable", tc.method, tc.path)
		}
	}
}

func TestReadyz_G9_StoreTroubleIs503(t *testing.T) {
	t.Parallel()
	trouble := ""
	s, err := New(Config{}, Deps{Ready: func(ctx context.Context) Readiness {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("the question has no deadline")
		}
		return Readiness{Ready: trouble == "", Store: cmp.Or(trouble, "ok")}
	}})
	if err != nil {
		t.Fatal(err)
	}
	// Ready again as soon as the trouble is over: nothing is remembered.
	for _, trouble = range []string{"", "read-only", ""} {
		want := map[bool]int{true: 200, false: 503}[trouble == ""]
		for path, code := range map[string]int{"/readyz": want, "/healthz": 200} {
			w := httptest.NewRecorder()
			s.main.Handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			if w.Code != code || path == "/readyz" && !strings.Contains(w.Body.String(), cmp.Or(trouble, "ok")) {
				t.Errorf("%s with %q: %d %s", path, trouble, w.Code, w.Body)
			}
		}
	}
}

func TestRoutes_NoChatNoRedirect(t *testing.T) {
	t.Parallel()
	s := start(t, Config{}, Deps{})
	if code, _, _ := fetch(t, "GET", url(s, "/"), ""); code != 404 {
		t.Errorf("status %d", code)
	}
}

func TestRoutes_Draining(t *testing.T) {
	t.Parallel()
	s := start(t, Config{}, Deps{})
	s.Drain()
	code, _, body := fetch(t, "GET", url(s, "/readyz"), "")
	if code != 503 || !strings.Contains(body, `"status":"stopping"`) {
		t.Errorf("%d %s", code, body)
	}
	if code, _, _ := fetch(t, "GET", url(s, "/healthz"), ""); code != 200 {
		t.Errorf("a draining process is alive: %d", code)
	}
}

func TestRoutes_MetricsListener(t *testing.T) {
	t.Parallel()
	s := start(t, Config{MetricsListen: "127.0.0.1:0"}, Deps{Metrics: text("metrics")})
	if code, _, _ := fetch(t, "GET", url(s, "/metrics"), ""); code != 404 {
		t.Errorf("main listener: %d", code)
	}
	if code, _, _ := fetch(t, "GET", "http://"+s.MetricsAddr().String()+"/metrics", ""); code != 200 {
		t.Errorf("own listener: %d", code)
	}
	if code, _, _ := fetch(t, "GET", "http://"+s.MetricsAddr().String()+"/healthz", ""); code != 404 {
		t.Errorf("own listener has more than metrics: %d", code)
	}
}

func TestNew_BadPages(t *testing.T) {
	t.Parallel()
	for _, pages := range [][]Page{{{"/chat/", nil}, {"/chat/", nil}}, {{"chat/", nil}}, {{"/chat", nil}}, {{"/", nil}}, {{"/{x}/", nil}}, {{"/webhooks/", nil}}} {
		if _, err := New(Config{}, Deps{Pages: pages}); err == nil {
			t.Errorf("%v was taken", pages)
		}
	}
}

func TestPanics(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	reg := prometheus.NewRegistry()
	srv, err := New(Config{}, Deps{
		Log: slog.New(slog.NewTextHandler(&log, nil)), Registerer: reg,
		Webhooks: map[string]http.Handler{
			"early": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(errors.New("canary-token")) }),
			"late":  http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "half"); panic("canary-token") }),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	srv.main.Handler.ServeHTTP(w, httptest.NewRequest("POST", "/webhooks/early?token=canary-token", nil))
	if w.Code != 500 || !strings.Contains(w.Body.String(), `"code":"internal"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	func() {
		defer func() {
			if v := recover(); v != http.ErrAbortHandler { //nolint:errorlint // compared so by net/http
				t.Errorf("half an answer ended with %v", v)
			}
		}()
		srv.main.Handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/webhooks/late", nil))
	}()
	if out := log.String(); strings.Contains(out, "canary") || !strings.Contains(out, "route=/webhooks/{channel}") || !strings.Contains(out, "routes_test.go") {
		t.Errorf("log: %s", out)
	}
	if got := counters(t, reg)["parley_webhook_requests_total early 500"]; got != 1 {
		t.Errorf("counted %v", got)
	}
}

// counters flattens a registry: "name label label" → value.
func counters(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			key := f.GetName()
			for _, l := range m.GetLabel() {
				key += " " + l.GetValue()
			}
			out[key] = m.GetCounter().GetValue()
		}
	}
	return out
}

func TestWebhookMetrics(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	s, err := New(Config{MaxBody: 5}, Deps{Registerer: reg, Webhooks: map[string]http.Handler{
		"a": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				return
			}
			w.WriteHeader(map[string]int{"": 200, "sig": 401, "bad": 400, "full": 503, "bug": 500, "rate": 429}[r.URL.Query().Get("c")])
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	before := counters(t, reg)
	if v, ok := before["parley_webhook_rejected_total a unauthorized"]; !ok || v != 0 {
		t.Error("the series doesn't begin at zero")
	}
	for _, path := range []string{"/webhooks/a", "/webhooks/a", "/webhooks/a?c=sig", "/webhooks/a?c=bad", "/webhooks/a?c=full", "/webhooks/a?c=bug", "/webhooks/a?c=rate", "/webhooks/%3Cx%3E"} {
		s.main.Handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", path, nil))
	}
	// A body of unknown length is cut off while it is read.
	req := httptest.NewRequest("POST", "/webhooks/a", io.MultiReader(strings.NewReader("0123456789")))
	req.ContentLength = -1
	s.main.Handler.ServeHTTP(httptest.NewRecorder(), req)
	got := counters(t, reg)
	for key, want := range map[string]float64{
		"parley_webhook_requests_total a 200": 2, "parley_webhook_requests_total a 401": 1, "parley_webhook_requests_total a 413": 1,
		"parley_webhook_requests_total unknown 404":    1,
		"parley_webhook_rejected_total a unauthorized": 1, "parley_webhook_rejected_total a invalid": 1, "parley_webhook_rejected_total a unavailable": 1,
		"parley_webhook_rejected_total a error": 1, "parley_webhook_rejected_total a rate": 1, "parley_webhook_rejected_total a too_large": 1,
		"parley_webhook_rejected_total unknown not_found": 1,
	} {
		if got[key] != want {
			t.Errorf("%s: %v, want %v", key, got[key], want)
		}
	}
}

func TestRealIP(t *testing.T) {
	t.Parallel()
	var seen string
	s, err := New(Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}},
		Deps{Pages: []Page{{"/chat/", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.RemoteAddr })}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"no proxy", "192.0.2.1:5", nil, "192.0.2.1:5"},
		{"untrusted peer lies", "192.0.2.1:5", []string{"198.51.100.1"}, "192.0.2.1:5"},
		{"one proxy", "10.0.0.1:5", []string{"198.51.100.1"}, "198.51.100.1:0"},
		{"client's own claim", "10.0.0.1:5", []string{"1.2.3.4, 198.51.100.1"}, "198.51.100.1:0"},
		{"two proxies", "10.0.0.1:5", []string{"1.2.3.4", "198.51.100.1,10.9.9.9"}, "198.51.100.1:0"},
		{"all trusted", "10.0.0.1:5", []string{"10.1.1.1, 10.2.2.2"}, "10.1.1.1:0"},
		{"mapped peer", "[::ffff:10.0.0.1]:5", []string{"::ffff:198.51.100.1"}, "198.51.100.1:0"},
		{"IPv6 and a port", "[::1]:5", []string{"[2001:db8::1]:443"}, "[2001:db8::1]:0"},
		{"rubbish", "10.0.0.1:5", []string{"unknown"}, "10.0.0.1:5"},
		{"rubbish on the left", "10.0.0.1:5", []string{"<script>, 198.51.100.1"}, "198.51.100.1:0"},
		{"trusted proxy without the header", "10.0.0.1:5", nil, "10.0.0.1:5"},
	} {
		r := httptest.NewRequest("GET", "/chat/", nil)
		r.RemoteAddr = tc.peer
		for _, f := range tc.forwarded {
			r.Header.Add("X-Forwarded-For", f)
		}
		s.main.Handler.ServeHTTP(httptest.NewRecorder(), r)
		if seen != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, seen, tc.want)
		}
	}
}
