package httpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
)

// Readiness is the state of the process, as /readyz shows it.
type Readiness struct {
	Ready bool
	// Store is "ok" or, in a few words, why it can't be used. No secrets.
	Store string
	// Channels maps a channel's name to its state.
	Channels map[string]ChannelState
}

// ChannelState is one channel's connection.
type ChannelState struct {
	Up bool `json:"up"`
	// State is a word for it, such as connecting or refused.
	State string `json:"state,omitempty"`
	// Detail says more, in a few words; no secrets.
	Detail string `json:"detail,omitempty"`
	// ConnectedSince is when it came up last; zero while it isn't. What its
	// platform calls is up while it is served.
	ConnectedSince time.Time `json:"connected_since,omitzero"`
	// LastInbound is when something was accepted last, LastOutbound when the
	// platform took something last; zero: not since the start.
	LastInbound  time.Time `json:"last_inbound,omitzero"`
	LastOutbound time.Time `json:"last_outbound,omitzero"`
	// LastError is the last one since the start, also where it is over.
	LastError *ChannelError `json:"last_error,omitempty"`
	// Pairing is linked or needed, or "" where no device is to be linked or
	// nobody knows yet.
	Pairing string `json:"pairing,omitempty"`
}

// ChannelError tells of a failure without its text: that may quote somebody.
type ChannelError struct {
	At time.Time `json:"at"`
	// Doing is receive or send.
	Doing string `json:"doing"`
	// Class is a channels.SendClass, or of receiving a channels.LinkState.
	Class string `json:"class"`
}

// readyTimeout bounds the question whether the process is ready.
const readyTimeout = 5 * time.Second

func (s *Server) router() (http.Handler, error) {
	r := chi.NewRouter()
	r.Use(s.recoverer, s.realIP, s.limits)
	r.NotFound(func(w http.ResponseWriter, _ *http.Request) {
		WriteError(w, http.StatusNotFound, "not_found", "There is nothing at this address.")
	})
	r.MethodNotAllowed(func(w http.ResponseWriter, _ *http.Request) {
		WriteError(w, http.StatusMethodNotAllowed, "method_not_allowed", "This address doesn't take that method.")
	})
	probe(r, "/healthz", s.healthz)
	probe(r, "/readyz", s.readyz)
	if s.deps.Metrics != nil && s.cfg.MetricsListen == "" {
		probe(r, "/metrics", s.deps.Metrics.ServeHTTP)
	}
	r.HandleFunc("/webhooks/{channel}", s.webhook)
	r.HandleFunc("/webhooks/{channel}/*", s.webhook)
	r.Route("/api/v1", s.api)
	return r, s.pages(r)
}

// probe routes GET and HEAD.
func probe(r chi.Router, path string, h http.HandlerFunc) {
	r.Get(path, h)
	r.Head(path, h)
}

func (s *Server) metricsRouter() http.Handler {
	r := chi.NewRouter()
	r.Use(s.recoverer, s.limits)
	probe(r, "/metrics", s.deps.Metrics.ServeHTTP)
	return r
}

func (s *Server) pages(r chi.Router) error {
	seen := map[string]bool{"/webhooks/": true, "/api/": true}
	for _, p := range s.deps.Pages {
		if len(p.Prefix) < 3 || !strings.HasPrefix(p.Prefix, "/") || !strings.HasSuffix(p.Prefix, "/") || strings.ContainsAny(p.Prefix, "{}*") {
			return fmt.Errorf("page prefix %q must start and end in a slash", p.Prefix)
		}
		if seen[p.Prefix] {
			return fmt.Errorf("two pages want the prefix %s", p.Prefix)
		}
		seen[p.Prefix] = true
		r.Handle(p.Prefix+"*", p.Handler)
		probe(r, strings.TrimSuffix(p.Prefix, "/"), redirect(p.Prefix, http.StatusPermanentRedirect))
	}
	if seen["/chat/"] {
		probe(r, "/", redirect("/chat/", http.StatusFound))
	}
	return nil
}

func redirect(to string, code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		u := *r.URL
		u.Scheme, u.Host, u.Path, u.RawPath = "", "", to, ""
		http.Redirect(w, r, u.String(), code) //nolint:gosec // to is ours, the query can't change the host
	}
}

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	WriteJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	state := Readiness{Ready: true, Store: "ok"}
	if s.deps.Ready != nil {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		state = s.deps.Ready(ctx)
	}
	body := struct {
		Status   string                  `json:"status"`
		Store    string                  `json:"store"`
		Channels map[string]ChannelState `json:"channels"`
	}{"ready", state.Store, state.Channels}
	if body.Channels == nil {
		body.Channels = map[string]ChannelState{}
	}
	code := http.StatusOK
	switch {
	case s.draining.Load():
		body.Status, code = "stopping", http.StatusServiceUnavailable
	case !state.Ready:
		body.Status, code = "not_ready", http.StatusServiceUnavailable
	}
	WriteJSON(w, code, body)
}

// webhook hands a platform's request to its adapter.
func (s *Server) webhook(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "channel")
	h, ok := s.deps.Webhooks[name]
	if !ok {
		// The name is the caller's, so it is no label.
		s.metrics.webhook(unknownChannel, http.StatusNotFound)
		WriteError(w, http.StatusNotFound, "unknown_channel", "No channel of this name takes webhooks.")
		return
	}
	rec := &statusWriter{ResponseWriter: w}
	defer func() {
		if v := recover(); v != nil {
			s.metrics.webhook(name, http.StatusInternalServerError)
			panic(v)
		}
		s.metrics.webhook(name, rec.code())
	}()
	inner := r.Clone(r.Context())
	inner.URL.RawPath = ""
	inner.URL.Path = "/" + strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/webhooks/"+name), "/")
	h.ServeHTTP(rec, inner)
}

// WriteJSON answers with v as JSON.
func WriteJSON(w http.ResponseWriter, code int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		WriteError(w, http.StatusInternalServerError, "internal", "The answer could not be written.")
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	// A client that is gone needs no answer.
	_, _ = w.Write(append(body, '\n'))
}

// WriteError answers {"error": {"code", "message"}}: the shape of every error
// of parley's own addresses. message is for a person and holds no secret.
func WriteError(w http.ResponseWriter, status int, code, message string) {
	type detail struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	WriteJSON(w, status, map[string]detail{"error": {code, message}})
}
