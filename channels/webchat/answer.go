package webchat

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parley-bot/parley/channels"
)

// problem is an answer that isn't a success.
type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// answer writes v as JSON.
func answer(w http.ResponseWriter, status int, v any) {
	body, err := encode(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"the answer can't be written"}}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

// encode writes JSON on one line, without escapes that only HTML needs.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

func fail(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, map[string]problem{"error": {code, message}})
}

// failAfter tells the caller when to come again, in whole seconds.
func failAfter(w http.ResponseWriter, status int, after time.Duration, code, message string) {
	secs := max(1, int(math.Ceil(after.Seconds())))
	w.Header().Set("Retry-After", strconv.Itoa(secs))
	fail(w, status, code, message)
}

// unavailableAfter is when to come again where the store is away.
const unavailableAfter = 5 * time.Second

// refused answers for an Accept that didn't take a message.
func (a *Adapter) refused(w http.ResponseWriter, r *http.Request, err error) {
	re, ok := errors.AsType[*channels.RefusedError](err)
	if !ok {
		a.log.ErrorContext(r.Context(), "message not taken", "err", err)
		failAfter(w, http.StatusServiceUnavailable, unavailableAfter, "unavailable", "the message can't be taken now; send it again")
		return
	}
	switch re.Reason {
	case channels.RefusedBlank:
		fail(w, http.StatusUnprocessableEntity, "blank", "the text is blank")
	case channels.RefusedTooLarge:
		fail(w, http.StatusRequestEntityTooLarge, "too_large", "the text is too long")
	case channels.RefusedInvalid:
		fail(w, http.StatusUnprocessableEntity, "invalid", "the message is invalid")
	case channels.RefusedQueueFull:
		failAfter(w, http.StatusTooManyRequests, re.After, "queue_full", "too many messages are waiting; send it again later")
	case channels.RefusedRate:
		failAfter(w, http.StatusTooManyRequests, re.After, "rate", "too many messages in a short time; send it again later")
	case channels.RefusedUnavailable:
		failAfter(w, http.StatusServiceUnavailable, max(re.After, time.Second), "unavailable", "the message can't be taken now; send it again")
	default:
		fail(w, http.StatusUnprocessableEntity, "refused", "the message was refused")
	}
}

// unauthorized answers for a request whose session wasn't found.
func (a *Adapter) unauthorized(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, errCrossSite):
		fail(w, http.StatusForbidden, "forbidden", "the cookie only counts for the chat's own page")
	case errors.Is(err, errNoToken), errors.Is(err, errWrongToken):
		w.Header().Set("WWW-Authenticate", `Bearer realm="chat"`)
		fail(w, http.StatusUnauthorized, "unauthorized", "the token is missing or wrong; begin a session")
	default:
		a.log.ErrorContext(r.Context(), "session not read", "err", err)
		failAfter(w, http.StatusServiceUnavailable, unavailableAfter, "unavailable", "the chat isn't available now")
	}
}

// decode reads a JSON object into v, or answers and returns false. A body that
// is no JSON is 400; JSON of the wrong shape is 422.
func (a *Adapter) decode(w http.ResponseWriter, r *http.Request, v any) bool {
	// JSON may spell each byte of a text as six (\u0041).
	limit := int64(6*a.cfg.MaxText + 4096)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		fail(w, http.StatusRequestEntityTooLarge, "too_large", "the body is too long")
		return false
	}
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid_json", "the body can't be read")
		return false
	}
	if !utf8.Valid(body) {
		fail(w, http.StatusBadRequest, "invalid_json", "the body isn't UTF-8")
		return false
	}
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}")
	}
	err = json.Unmarshal(body, v)
	if _, shape := errors.AsType[*json.UnmarshalTypeError](err); shape {
		fail(w, http.StatusUnprocessableEntity, "invalid", "a field has the wrong type")
		return false
	}
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid_json", "the body is no JSON")
		return false
	}
	return true
}

// methods serves one path by the method; HEAD is a GET without a body.
type methods map[string]http.HandlerFunc

func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if h, ok := m[method]; ok {
		h(w, r)
		return
	}
	allow := []string{http.MethodOptions}
	for name := range m {
		allow = append(allow, name)
		if name == http.MethodGet {
			allow = append(allow, http.MethodHead)
		}
	}
	slices.Sort(allow)
	w.Header().Set("Allow", strings.Join(allow, ", "))
	if method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	fail(w, http.StatusMethodNotAllowed, "method_not_allowed", "the method isn't allowed here")
}
