package whatsappcloud

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/parley-bot/parley/channels"
)

// bodyMax bounds a batch. Meta's are 3 MB at the most; the server's own bound
// may be tighter.
const bodyMax = 4 << 20

// handshake answers Meta's check of a new address. It carries no signature, so
// it stands outside of that check.
func (a *Adapter) handshake(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	want := a.cfg.VerifyToken.Reveal()
	if q.Get("hub.mode") != "subscribe" || want == "" || subtle.ConstantTimeCompare([]byte(q.Get("hub.verify_token")), []byte(want)) != 1 {
		a.log.Warn("handshake refused: hub.verify_token is not the configured verify_token")
		w.WriteHeader(http.StatusForbidden)
		return
	}
	// It is echoed as plain text, never as something that a browser runs.
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = io.WriteString(w, q.Get("hub.challenge")) //nolint:gosec // plain text, and whoever asks knows the token
}

// events takes a batch: all of it, or Meta delivers it again.
func (a *Adapter) events(w http.ResponseWriter, r *http.Request, sink channels.Sink) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMax))
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if !signed(body, r.Header.Get("X-Hub-Signature-256"), a.cfg.AppSecret.Reveal()) {
		a.log.Warn("webhook refused: its signature is missing or wrong; is app_secret that of the app which has this address?")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	changes, strange, err := parse(body)
	if err != nil {
		a.log.Warn("signed webhook could not be read", "err", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if strange > 0 {
		// Delivered again they would be no better.
		a.log.Error("changes of an unknown shape were left out", "count", strange)
	}
	for _, c := range changes {
		if err := a.take(r.Context(), sink, c); err != nil {
			// What was taken already is recognized when the batch comes again.
			unavailable(w, err)
			return
		}
	}
	w.WriteHeader(http.StatusOK)
}

func unavailable(w http.ResponseWriter, err error) {
	if refused, ok := errors.AsType[*channels.RefusedError](err); ok && refused.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(refused.After.Seconds()))))
	}
	w.WriteHeader(http.StatusServiceUnavailable)
}

// signed checks "sha256=HEX", the HMAC of the raw body. An empty secret signs
// nothing.
func signed(body []byte, header, key string) bool {
	sum, ok := strings.CutPrefix(header, "sha256=")
	got, err := hex.DecodeString(sum)
	if !ok || err != nil || key == "" {
		return false
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(body)
	return hmac.Equal(got, mac.Sum(nil))
}
