package httptool

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/secret"
	"github.com/parley-bot/parley/internal/tool"
)

// A server that says what it was sent tells the model no credential.
func TestRun_A12_EchoedCredentialsAreMasked(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusOK, http.StatusInternalServerError} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			_, bare, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			_, _ = fmt.Fprintf(w, "%v, and %s, in a word: %s", r.Header, bare, r.Header.Get("X-Lang"))
		}))
		t.Cleanup(s.Close)
		r := newRunner(t, Config{Method: "GET", URL: s.URL, Headers: map[string]secret.String{
			"Authorization": secret.New("Bearer canary-header"), "X-Api-Key": secret.New("canary-key"), "X-Token": secret.New("word"),
			"X-Lang": secret.New("es-CO-valencia"),
		}}, hostOf(s.URL))
		res, err := r.Run(t.Context(), tool.Call{ID: "t1.1.1", Identity: ana()})
		if err != nil {
			t.Fatal(err)
		}
		got := string(res.Value)
		if strings.Contains(got, "canary") || strings.Count(got, "***") != 3 {
			t.Errorf("status %d: a credential came back: %s", status, got)
		}
		if !strings.Contains(got, "es-CO-valencia") || !strings.Contains(got, "in a word") {
			t.Errorf("status %d: too much was masked: %s", status, got)
		}
	}
}

// Nor does an answer whose headers an expression sees, or that escapes what it
// says.
func TestRun_A12_CredentialsInHeadersAndEscapesAreMasked(t *testing.T) {
	t.Parallel()
	const key = `canary/"key`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Seen", r.Header.Get("X-Api-Key"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"php":%s,"url":%q,"n":12345678}`, strings.ReplaceAll(strconv.Quote(r.Header.Get("X-Api-Key")), "/", `\/`), url.QueryEscape(r.Header.Get("X-Api-Key")))
	}))
	t.Cleanup(s.Close)
	var seen json.RawMessage
	r := newRunner(t, Config{Method: "GET", URL: s.URL, Map: mapper(func(answer json.RawMessage) (json.RawMessage, error) { seen = answer; return answer, nil }), Headers: map[string]secret.String{
		"X-Api-Key": secret.New(key), "X-Token": secret.New("12345678"),
	}}, hostOf(s.URL))
	res, err := r.Run(t.Context(), tool.Call{ID: "t1.1.1", Identity: ana()})
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{string(res.Value), string(seen)} {
		if strings.Contains(got, "canary") || strings.Contains(got, "12345678") || !strings.Contains(got, `"n":"***"`) {
			t.Errorf("a credential came back: %s", got)
		}
	}
	if !strings.Contains(string(seen), `"x-seen":"***"`) {
		t.Errorf("headers: %s", seen)
	}
}
