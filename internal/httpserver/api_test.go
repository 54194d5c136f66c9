package httpserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/secret"
)

func TestAPI_WantsTheToken(t *testing.T) {
	t.Parallel()
	const token = "canary-admin-token"
	called := 0
	deps := Deps{API: []Endpoint{{http.MethodPost, "/reload", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		called++
		WriteJSON(w, http.StatusOK, "done")
	})}}}
	for name, tc := range map[string]struct {
		token, method, path, header string
		code                        int
		want                        string
	}{
		"with it":          {token, "POST", "/api/v1/reload", "Bearer " + token, 200, "done"},
		"lower case":       {token, "POST", "/api/v1/reload", "bearer  " + token, 200, "done"},
		"without":          {token, "POST", "/api/v1/reload", "", 401, "unauthorized"},
		"another":          {token, "POST", "/api/v1/reload", "Bearer canary", 401, "unauthorized"},
		"another scheme":   {token, "POST", "/api/v1/reload", "Basic " + token, 401, "unauthorized"},
		"no call at all":   {token, "POST", "/api/v1/nothing", "", 401, "unauthorized"},
		"unknown, with it": {token, "POST", "/api/v1/nothing", "Bearer " + token, 404, "not_found"},
		"another method":   {token, "GET", "/api/v1/reload", "Bearer " + token, 405, "method_not_allowed"},
		"off":              {"", "POST", "/api/v1/reload", "Bearer ", 404, "api_off"},
		"off, without":     {"", "POST", "/api/v1/reload", "", 404, "api_off"},
	} {
		s, err := New(Config{AdminToken: secret.New(tc.token)}, deps)
		if err != nil {
			t.Fatal(err)
		}
		before := called
		r := httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, nil)
		if tc.header != "" {
			r.Header.Set("Authorization", tc.header)
		}
		rec := httptest.NewRecorder()
		s.main.Handler.ServeHTTP(rec, r)
		body := rec.Body.String()
		if rec.Code != tc.code || !strings.Contains(body, tc.want) {
			t.Errorf("%s: %d %s, want %d %s", name, rec.Code, body, tc.code, tc.want)
		}
		if (called > before) != (tc.code == http.StatusOK) {
			t.Errorf("%s: called %v", name, called > before)
		}
		if strings.Contains(body, token) {
			t.Errorf("%s: the answer has the token", name)
		}
	}
}
