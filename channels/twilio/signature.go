package twilio

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // what Twilio signs with
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"io"
	"maps"
	"net/url"
	"slices"
)

// variants are an address with and without the standard port: Twilio signs one
// or the other.
func variants(u *url.URL) []string {
	out := []string{u.String()}
	standard := map[string]string{"https": "443", "http": "80"}[u.Scheme]
	other := *u
	switch u.Port() {
	case "":
		other.Host += ":" + standard
	case standard:
		other.Host = u.Host[:len(u.Host)-len(standard)-1]
	default:
		return out
	}
	return append(out, other.String())
}

// signed checks the header X-Twilio-Signature of a request. query is as it was
// sent, and form what the body holds where that is a form. Forwarded headers
// have no say: the address is the configured one.
func (a *Adapter) signed(header, query string, form url.Values) bool {
	got, err := base64.StdEncoding.DecodeString(header)
	if err != nil || len(got) == 0 || a.cfg.AuthToken.Empty() {
		return false
	}
	if query != "" {
		query = "?" + query
	}
	ok := 0
	for _, address := range a.signs {
		ok |= subtle.ConstantTimeCompare(got, sign(a.cfg.AuthToken.Reveal(), address+query, form))
	}
	return ok == 1
}

// sign is Twilio's algorithm: the address, and behind it each field's name and
// value without anything between, sorted by name. A name that is repeated is
// written with each of its different values, sorted; an empty value counts.
func sign(token, address string, form url.Values) []byte {
	mac := hmac.New(sha1.New, []byte(token))
	_, _ = io.WriteString(mac, address)
	for _, name := range slices.Sorted(maps.Keys(form)) {
		for _, value := range slices.Compact(slices.Sorted(slices.Values(form[name]))) {
			_, _ = io.WriteString(mac, name+value)
		}
	}
	return mac.Sum(nil)
}

// isDigest tells whether the hex digest that Twilio put into the address is
// that of the body: the signature of a body that is no form is over the
// address only.
func isDigest(sum string, body []byte) bool {
	got, err := hex.DecodeString(sum)
	want := sha256.Sum256(body)
	return err == nil && subtle.ConstantTimeCompare(got, want[:]) == 1
}
