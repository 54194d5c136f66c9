package js

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"unicode/utf8"
)

// wireRequest is a fetch as the runtime's JavaScript writes it.
type wireRequest struct {
	Method string      `json:"method"`
	URL    string      `json:"url"`
	Header [][2]string `json:"headers"`
	Text   string      `json:"text"`
	Base64 string      `json:"base64"`
}

type wireResponse struct {
	Status     int         `json:"status"`
	StatusText string      `json:"statusText"`
	URL        string      `json:"url"`
	Header     [][2]string `json:"headers"`
	// The body is text where it is UTF-8.
	Text   *string `json:"text,omitempty"`
	Base64 string  `json:"base64,omitempty"`
	Error  *string `json:"error,omitempty"`
}

// outcomeUnknown is an error of Options.Fetch that may hide a request that
// took effect.
type outcomeUnknown interface {
	error
	OutcomeUnknown() bool
}

// fetch starts a request; its answer arrives in the call's loop. The n-th one
// that may have an effect carries the key CALLID.n (behaviour E6).
func (r *run) fetch(id, text string) error {
	if r.m.opts.Fetch == nil {
		return errors.New("fetch: no hosts are allowed")
	}
	if len(r.fetches) >= maxFetches {
		return fmt.Errorf("fetch: more than %d requests at once", maxFetches)
	}
	var w wireRequest
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return fmt.Errorf("fetch: %w", err)
	}
	req := Request{Method: w.Method, URL: w.URL, Header: http.Header{}, Body: []byte(w.Text)}
	if w.Base64 != "" {
		body, err := base64.StdEncoding.DecodeString(w.Base64)
		if err != nil {
			return fmt.Errorf("fetch: %w", err)
		}
		req.Body = body
	}
	for _, h := range w.Header {
		req.Header.Add(h[0], h[1])
	}
	effect := w.Method != http.MethodGet && w.Method != http.MethodHead
	if effect {
		r.sent++
		if req.Header.Get("Idempotency-Key") == "" {
			req.Header.Set("Idempotency-Key", fmt.Sprintf("%s.%d", r.call.ID, r.sent))
		}
	}
	r.fetched, r.effects = true, r.effects || effect
	ctx, stop := context.WithCancel(r.ctx)
	r.fetches[id] = request{stop, effect}
	r.m.calls.Go(func() {
		defer stop()
		res, err := r.m.fetchSafely(ctx, req)
		a := arrival{id: id, text: wire(res, err, r.m.masks.mask)}
		if unknown, ok := errors.AsType[outcomeUnknown](err); ok && effect && unknown.OutcomeUnknown() {
			a.unknown = true
		}
		select {
		case r.arrived <- a:
		case <-ctx.Done():
		}
	})
	return nil
}

func (m *Module) fetchSafely(ctx context.Context, req Request) (res Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			m.log.Error("script fetch failed", "error", fmt.Sprint(p))
			err = errors.New("the request could not be made")
		}
	}()
	return m.opts.Fetch(ctx, req)
}

func wire(res Response, err error, mask func(string) string) string {
	w := wireResponse{Status: res.Status, StatusText: http.StatusText(res.Status), URL: res.URL}
	if err != nil {
		text := mask("fetch failed: " + err.Error())
		w = wireResponse{Error: &text}
	} else {
		for k, vs := range res.Header {
			for _, v := range vs {
				w.Header = append(w.Header, [2]string{k, v})
			}
		}
		if utf8.Valid(res.Body) {
			text := string(res.Body)
			w.Text = &text
		} else {
			w.Base64 = base64.StdEncoding.EncodeToString(res.Body)
		}
	}
	b, _ := json.Marshal(w) // strings and numbers always encode
	return string(b)
}
