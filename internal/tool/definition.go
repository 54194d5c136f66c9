package tool

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Digest is the digest of a tool's definition (behaviour B28), in hex. code
// adds what the definition doesn't show: the hash of a bundle, a URL, a query.
func Digest(t *Tool, code ...string) string {
	schema, err := Canonical(t.Schema)
	if err != nil {
		schema = t.Schema
	}
	// A struct of fixed order; map keys are sorted by encoding/json.
	def, _ := json.Marshal(struct { //nolint:musttag // only hashed; plain strings, bools and maps of strings always encode
		Name, Kind, Title, Description, Schema string
		Titles                                 map[string]string `json:",omitempty"`
		Labels                                 map[string]map[string]string
		Confirm                                bool
		Dedupe                                 time.Duration
		Timeout                                *time.Duration
		Effect                                 Effect
		Code                                   []string
	}{t.Name, t.Kind, t.Title, t.Description, string(schema), t.Titles, t.Labels, t.Confirm, t.Dedupe, t.Timeout, t.Effect, code})
	sum := sha256.Sum256(def)
	return hex.EncodeToString(sum[:])
}

// TitleIn is the tool's title in a language.
func (t *Tool) TitleIn(lang string) string {
	if title := t.Titles[lang]; title != "" {
		return title
	}
	return cmp.Or(t.Title, Humanize(t.Name))
}

// Humanize makes a key readable: place_order, placeOrder and place-order are
// "Place order". What has no letters or digits stays as it is.
func Humanize(key string) string {
	var b strings.Builder
	var prev rune
	runes := []rune(key)
	for i, r := range runes {
		switch {
		case r == '_' || r == '-' || unicode.IsSpace(r):
			r = ' '
			if prev == ' ' || b.Len() == 0 {
				continue
			}
			b.WriteRune(' ')
		case unicode.IsUpper(r) && unicode.IsLower(prev):
			b.WriteRune(' ')
			// An abbreviation keeps its capitals.
			if i+1 == len(runes) || !unicode.IsUpper(runes[i+1]) {
				r = unicode.ToLower(r)
			}
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
		prev = r
	}
	s := strings.TrimSpace(b.String())
	if s == "" {
		return key
	}
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}
