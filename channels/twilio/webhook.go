package twilio

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strconv"

	"github.com/parley-bot/parley/channels"
)

// bodyMax bounds a request; Twilio's are a few KB.
const bodyMax = 1 << 20

// keyParam carries the key of a message in the address of its status callback.
const keyParam = "k"

var (
	errBody    = errors.New("the body could not be read")
	errLarge   = errors.New("the body is too large")
	errUnknown = errors.New("the signature is missing or wrong")
)

// Webhook takes messages and reports of delivery. Its answers never hold text:
// Twilio would send that to the person.
func (a *Adapter) Webhook(sink channels.Sink) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/":
			w.WriteHeader(http.StatusNotFound)
			return
		case r.Method != http.MethodPost && r.Method != http.MethodGet:
			w.Header().Set("Allow", "GET, POST")
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		fields, err := a.read(w, r)
		if err != nil {
			a.log.Warn("webhook refused; are auth_token and server.public_url those that Twilio has?", "err", err)
			w.WriteHeader(statusOf(err))
			return
		}
		if fields.Get("MessageStatus") != "" {
			err = a.status(r.Context(), sink, fields, r.URL.Query().Get(keyParam))
		} else {
			err = a.message(r.Context(), sink, fields)
		}
		if err != nil {
			if refused, ok := errors.AsType[*channels.RefusedError](err); ok && refused.After > 0 {
				w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(refused.After.Seconds()))))
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/xml; charset=utf-8")
		_, _ = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?><Response></Response>`)
	})
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, errUnknown):
		return http.StatusUnauthorized
	case errors.Is(err, errLarge):
		return http.StatusRequestEntityTooLarge
	default:
		return http.StatusBadRequest
	}
}

// read verifies the request and returns its fields: a form, the query of a
// GET, or a flat JSON object.
func (a *Adapter) read(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	signature, query := r.Header.Get("X-Twilio-Signature"), r.URL.RawQuery
	if r.Method == http.MethodGet {
		if !a.signed(signature, query, nil) {
			return nil, errUnknown
		}
		return r.URL.Query(), nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMax))
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, errLarge
		}
		return nil, errBody
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, errBody
		}
		if !a.signed(signature, query, form) {
			return nil, errUnknown
		}
		return form, nil
	}
	// The address alone is signed, so that it must vouch for the body.
	if !a.signed(signature, query, nil) || !isDigest(r.URL.Query().Get("bodySHA256"), body) {
		return nil, errUnknown
	}
	return flat(body)
}

// flat reads a JSON object as if it were a form. Values that are no texts are
// written as they stand.
func flat(body []byte) (url.Values, error) {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return nil, errBody
	}
	out := url.Values{}
	for name, raw := range object {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		out.Set(name, text)
	}
	return out, nil
}

// callback is the address that reports of a message go to. The key is encoded
// so that nothing in it is written anew on the way.
func (a *Adapter) callback(key string) string {
	if key == "" {
		return a.webhook
	}
	return a.webhook + "?" + keyParam + "=" + base64.RawURLEncoding.EncodeToString([]byte(key))
}
