package httptool

import (
	"net/http"
	"slices"
	"strings"

	"github.com/parley-bot/parley/internal/egress"
	"github.com/parley-bot/parley/internal/secret"
)

// credentials mask the values of headers that hold them, and others: whole, and
// without the scheme before them (Bearer).
func credentials(h http.Header, others []string) secret.Masks {
	values := slices.Clone(others)
	for name, sent := range h {
		if name == idempotencyKey {
			continue
		}
		name = strings.ToLower(name)
		if !slices.ContainsFunc([]string{"auth", "cookie", "key", "token", "secret", "password", "signature"}, func(word string) bool {
			return strings.Contains(name, word)
		}) {
			continue
		}
		for _, v := range sent {
			values = append(values, v, v[strings.LastIndexByte(v, ' ')+1:])
		}
	}
	return secret.NewMasks(secret.Least, values...)
}

// mask takes credentials out of an answer: a server that says what it was sent,
// as some do where they fail, must not tell the model (behaviour A12).
func mask(resp *egress.Response, credentials secret.Masks) {
	resp.Body = credentials.JSON(resp.Body)
	resp.Header = resp.Header.Clone()
	for _, values := range resp.Header {
		for i, v := range values {
			values[i] = credentials.Text(v)
		}
	}
}
