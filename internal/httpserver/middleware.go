package httpserver

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
)

// statusWriter remembers the status. It is transparent to
// http.ResponseController, so that handlers can flush and set deadlines.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// Unwrap serves http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *statusWriter) WriteHeader(code int) {
	// 1xx are no answer yet.
	if w.status == 0 && code >= http.StatusOK {
		w.status = code
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Flush lets handlers that ask for an http.Flusher stream too.
func (w *statusWriter) Flush() {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	// A writer that can't flush sends at the end.
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *statusWriter) code() int {
	if w.status == 0 {
		return http.StatusOK
	}
	return w.status
}

// recoverer turns a panic into a 500 and a log line. The line has the route,
// never the URL or the panic's value: both may hold a credential.
func (s *Server) recoverer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &statusWriter{ResponseWriter: w}
		start := time.Now()
		defer func() { //nolint:contextcheck // WriteError takes none
			v := recover()
			route := chi.RouteContext(r.Context()).RoutePattern()
			if v == nil {
				s.deps.Log.DebugContext(r.Context(), "http request", "method", r.Method, "route", route,
					"status", rec.code(), "duration_ms", time.Since(start).Milliseconds())
				return
			}
			if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
				panic(v)
			}
			s.deps.Log.ErrorContext(r.Context(), "panic in an http handler", "method", r.Method, "route", route,
				"panic_type", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
			if rec.status != 0 {
				// Half an answer is out; only a broken connection tells.
				panic(http.ErrAbortHandler)
			}
			WriteError(rec, http.StatusInternalServerError, "internal", "Something went wrong here.")
		}()
		next.ServeHTTP(rec, r)
	})
}

// realIP sets RemoteAddr to the client's address where the peer is a trusted
// proxy: the right-most entry of X-Forwarded-For that no trusted proxy has.
// What stands left of it is the client's own claim.
func (s *Server) realIP(next http.Handler) http.Handler {
	if len(s.cfg.TrustedProxies) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && s.trusted(peer.Addr()) {
			if client, ok := s.client(r.Header.Values("X-Forwarded-For")); ok {
				r.RemoteAddr = net.JoinHostPort(client.String(), "0")
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) client(headers []string) (netip.Addr, bool) {
	var best netip.Addr
	hops := strings.Split(strings.Join(headers, ","), ",")
	for _, hop := range slices.Backward(hops) {
		addr, err := netip.ParseAddr(strings.Trim(strings.TrimSpace(hop), "[]"))
		if err != nil {
			// Some proxies add the port.
			ap, perr := netip.ParseAddrPort(strings.TrimSpace(hop))
			if perr != nil {
				break
			}
			addr = ap.Addr()
		}
		best = addr.Unmap().WithZone("")
		if !s.trusted(best) {
			break
		}
	}
	return best, best.IsValid()
}

func (s *Server) trusted(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(s.cfg.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// limits bounds a request's body and time.
func (s *Server) limits(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.ContentLength > s.cfg.MaxBody {
			w.Header().Set("Connection", "close")
			WriteError(w, http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("The body is over %d bytes.", s.cfg.MaxBody))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, s.cfg.MaxBody)
		rc := http.NewResponseController(w)
		// A writer without deadlines (a test's recorder) goes without.
		if isStream(r) {
			// The read deadline would end the request's context too.
			_ = rc.SetReadDeadline(time.Time{})
			_ = rc.SetWriteDeadline(time.Time{})
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			defer context.AfterFunc(s.stopping, cancel)() //nolint:contextcheck // the server's own life
			r = r.WithContext(ctx)
		} else {
			_ = rc.SetWriteDeadline(time.Now().Add(s.cfg.ReadTimeout + s.cfg.WriteTimeout))
		}
		next.ServeHTTP(w, r)
	})
}

// isStream tells whether the answer is a stream of events without an end.
func isStream(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/api/events")
}
