package httptool

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/parley-bot/parley/internal/egress"
	"github.com/parley-bot/parley/internal/secret"
	"github.com/parley-bot/parley/internal/tool"
)

// Auth is how a request proves whose it is; one of the three at the most.
type Auth struct {
	// Bearer is sent as Authorization: Bearer ….
	Bearer secret.String
	// Basic is user and password (RFC 7617).
	User     string
	Password secret.String
	// HMAC signs the body: Header is Prefix and the hex HMAC-SHA256. Header
	// "" is X-Signature.
	HMAC   secret.String
	Header string
	Prefix string
}

// kind is bearer, basic, hmac, or "" where there is none.
func (a Auth) kind() (string, error) {
	var kinds []string
	if !a.Bearer.Empty() {
		kinds = append(kinds, "bearer")
	}
	if a.User != "" || !a.Password.Empty() {
		kinds = append(kinds, "basic")
	}
	if !a.HMAC.Empty() {
		kinds = append(kinds, "hmac")
	}
	switch len(kinds) {
	case 0:
		return "", nil
	case 1:
		return kinds[0], nil
	default:
		return "", tool.At("auth", fmt.Errorf("auth: %s are given; one proof is enough", strings.Join(kinds, " and ")))
	}
}

// setAuth checks the proof and puts what is the same for each request into the
// headers.
func (r *Runner) setAuth(a Auth) error {
	kind, err := a.kind()
	switch kind {
	case "":
		return err
	case "hmac":
		if !r.body {
			return tool.At("auth.hmac", errors.New("auth: hmac signs a body, and this method has none"))
		}
		if a.Header == "" {
			a.Header = "X-Signature"
		}
		if strings.Trim(a.Header, tokenChars) != "" || egress.OwnHeader(a.Header) || strings.EqualFold(a.Header, idempotencyKey) || hasControl(a.Prefix) {
			return tool.At("auth.hmac.header", fmt.Errorf("auth: hmac: %q can't be the header of a signature", a.Header))
		}
		if r.hasHeader(a.Header) {
			return tool.At("auth.hmac.header", fmt.Errorf("auth: hmac: %s is given under headers too", a.Header))
		}
		r.sign = a
		return nil
	}
	if r.hasHeader("Authorization") {
		return tool.At("auth."+kind, errors.New("auth: Authorization is given under headers too"))
	}
	if hasControl(a.Bearer.Reveal() + a.User + a.Password.Reveal()) {
		return tool.At("auth."+kind, errors.New("auth: it holds a line break or another control character"))
	}
	if kind == "bearer" {
		r.header.Set("Authorization", "Bearer "+a.Bearer.Reveal())
		return nil
	}
	if strings.Contains(a.User, ":") {
		return tool.At("auth.basic.user", errors.New("auth: basic: a user name can't hold a colon"))
	}
	req := http.Request{Header: r.header}
	req.SetBasicAuth(a.User, a.Password.Reveal())
	r.secrets = append(r.secrets, a.Password.Reveal())
	return nil
}

// signature is the value of the header over that body.
func (a Auth) signature(body []byte) string {
	mac := hmac.New(sha256.New, []byte(a.HMAC.Reveal()))
	_, _ = mac.Write(body) // never fails
	return a.Prefix + hex.EncodeToString(mac.Sum(nil))
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}
