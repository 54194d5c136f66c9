package httptool

import (
	"fmt"
	"net/http"
	"net/http/httptest"
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
