package httptool

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/tool/tooltest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch tooltest.Behaviour(strings.TrimPrefix(r.URL.Path, "/")) {
		case tooltest.Echo, tooltest.WhoAmI:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.Copy(w, r.Body)
		case tooltest.Text:
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "hola")
		case tooltest.Nothing:
			w.WriteHeader(http.StatusNoContent)
		case tooltest.Fails:
			w.WriteHeader(http.StatusInternalServerError)
		case tooltest.Hangs:
			// The server sees that a client is gone only once it has read
			// the body.
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		case tooltest.Barred:
			t.Error("a request was made that can't be")
		case tooltest.Large:
			_, _ = io.WriteString(w, strings.Repeat("é", 100<<10))
		}
	}))
	t.Cleanup(s.Close)
	tooltest.Run(t, func(t *testing.T, b tooltest.Behaviour) (tool.Runner, bool) {
		c := Config{Method: "POST", URL: s.URL + "/" + string(b)}
		if b == tooltest.WhoAmI {
			c.Bind = map[string]string{"user": "user.id", "chat": "chat.key"}
		}
		if b == tooltest.Barred {
			c.Bind = map[string]string{"tier": "user.claims.tier"}
		}
		r, err := New(c, testGuard(t, hostOf(s.URL)))
		if err != nil {
			t.Fatal(err)
		}
		return r, true
	})
}
