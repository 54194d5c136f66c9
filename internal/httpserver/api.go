package httpserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
)

// api routes the calls that want the operator's token. Whoever has none isn't
// told which of them there are.
func (s *Server) api(r chi.Router) {
	r.Use(s.bearer)
	for _, e := range s.deps.API {
		r.Method(e.Method, e.Path, e.Handler)
	}
	r.NotFound(func(w http.ResponseWriter, _ *http.Request) {
		WriteError(w, http.StatusNotFound, "not_found", "The API has no such call.")
	})
}

// bearer lets pass who has the token.
func (s *Server) bearer(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(s.cfg.AdminToken.Reveal()))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if s.cfg.AdminToken.Empty() {
			WriteError(w, http.StatusNotFound, "api_off", "The API is off: server.admin_token isn't set.")
			return
		}
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		// Of equal length, so that the time tells nothing of the token's.
		got := sha256.Sum256([]byte(strings.TrimSpace(token)))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			WriteError(w, http.StatusUnauthorized, "unauthorized", "This call wants the token of server.admin_token: Authorization: Bearer TOKEN.")
			return
		}
		next.ServeHTTP(w, r)
	})
}
