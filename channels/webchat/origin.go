package webchat

import (
	"net/http"
	"slices"
	"strings"
)

// fromOwnPage tells whether a browser sent r from a page of this very origin,
// or no browser sent it. Sec-Fetch-Site says so for reads too; where it is
// missing, Origin is compared with the host (net/http.CrossOriginProtection).
func fromOwnPage(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return false
	}
	return http.NewCrossOriginProtection().Check(r) == nil
}

// allowed tells whether a site may call the API.
func (a *Adapter) allowed(origin string) bool {
	return slices.Contains(a.cfg.Origins, "*") || slices.Contains(a.cfg.Origins, strings.ToLower(origin))
}

// cors answers preflights and lets the configured sites read answers. It
// never allows credentials: other sites carry a token, not the cookie.
func (a *Adapter) cors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		h := w.Header()
		h.Add("Vary", "Origin")
		ok := origin != "" && a.allowed(origin)
		if ok {
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Expose-Headers", "Retry-After")
		}
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		if !ok {
			fail(w, http.StatusForbidden, "forbidden", "this site may not call the chat")
			return
		}
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID")
		h.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	})
}

// shield sets the headers that every answer has.
func (a *Adapter) shield(next http.Handler) http.Handler {
	ancestors := strings.Join(append([]string{"'self'"}, a.cfg.Origins...), " ")
	csp := "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors " + ancestors
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", csp)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}
