package httptool

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
)

// minMasked is the shortest credential that is masked: shorter ones are found
// in what has nothing to do with them.
const minMasked = 8

// credentials are the values of headers that hold them, and others, the longest
// first: whole, and without the scheme before them (Bearer).
func credentials(h http.Header, others []string) (out [][]byte) {
	for _, o := range others {
		if len(o) >= minMasked {
			out = append(out, []byte(o))
		}
	}
	for name, values := range h {
		if name == idempotencyKey {
			continue
		}
		name = strings.ToLower(name)
		if !slices.ContainsFunc([]string{"auth", "cookie", "key", "token", "secret", "password", "signature"}, func(word string) bool {
			return strings.Contains(name, word)
		}) {
			continue
		}
		for _, v := range values {
			bare := v[strings.LastIndexByte(v, ' ')+1:]
			for _, form := range []string{v, bare} {
				if len(form) >= minMasked {
					out = append(out, []byte(form))
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b []byte) int { return len(b) - len(a) })
	return out
}

// mask takes credentials out of an answer: a server that says what it was sent,
// as some do where they fail, must not tell the model (behaviour A12).
func mask(body []byte, credentials [][]byte) []byte {
	for _, c := range credentials {
		body = bytes.ReplaceAll(body, c, []byte("***"))
	}
	return body
}
