package secret

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Least is the length in bytes from which a credential is masked in what
// others say: shorter ones are found in what has nothing to do with them.
const Least = 8

// Masks take credentials out of texts, in every form in which they are sent or
// echoed: as they are, escaped for JSON or a URL, in Base64 alone or as a part
// of something longer (user:password). The zero value masks nothing. It is
// safe for use by many goroutines once it is made.
type Masks struct {
	values []string
	forms  []form // the longest first
}

// form is one spelling of a credential. In Base64 its first and last
// characters may be shared with what is beside it.
type form struct {
	text         string
	before, tail bool
}

// NewMasks masks the values that have least bytes or more.
func NewMasks(least int, values ...string) Masks {
	var m Masks
	for _, v := range values {
		if v == "" || len(v) < least || slices.Contains(m.values, v) {
			continue
		}
		m.values = append(m.values, v)
		for _, f := range formsOf(v) {
			if !slices.Contains(m.forms, f) {
				m.forms = append(m.forms, f)
			}
		}
	}
	slices.SortStableFunc(m.forms, func(a, b form) int { return cmp.Compare(len(b.text), len(a.text)) })
	return m
}

// Has tells whether v is masked.
func (m Masks) Has(v string) bool { return slices.Contains(m.values, v) }

// With are the masks of m and of one more value, which has least bytes or more.
func (m Masks) With(least int, v string) Masks {
	return NewMasks(least, append(slices.Clip(m.values), v)...)
}

// Text masks a text.
func (m Masks) Text(s string) string {
	for _, f := range m.forms {
		s = f.mask(s)
	}
	return s
}

// JSON masks the strings, keys and numbers of a JSON text, which stays one;
// nothing else of it changes. What isn't JSON is masked as a text.
func (m Masks) JSON(b []byte) []byte {
	if len(m.forms) == 0 {
		return b
	}
	if !json.Valid(b) {
		return []byte(m.Text(string(b)))
	}
	var out bytes.Buffer
	for len(b) > 0 {
		n := tokenLen(b)
		out.Write(m.token(b[:n]))
		b = b[n:]
	}
	return out.Bytes()
}

// token masks a piece of JSON: one string, one number or word, or one other
// character.
func (m Masks) token(b []byte) []byte {
	s := string(b)
	if b[0] == '"' && json.Unmarshal(b, &s) != nil {
		return b
	}
	masked := m.Text(s)
	if masked == s {
		return b
	}
	return quoted(masked)
}

// tokenLen is the length of the first piece of valid JSON.
func tokenLen(b []byte) int {
	if b[0] != '"' {
		if n := bytes.IndexAny(b, "\" \t\r\n,:[]{}"); n != 0 {
			return cmp.Or(max(n, 0), len(b))
		}
		return 1
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

func quoted(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimSpace(b.Bytes())
}

func formsOf(v string) (out []form) {
	html, _ := json.Marshal(v) // a string always encodes
	inJSON := inner(string(quoted(v)))
	query := url.QueryEscape(v)
	component := strings.ReplaceAll(query, "+", "%20")
	for _, s := range []string{
		v, inJSON, inner(string(html)), strings.ReplaceAll(inJSON, "/", `\/`), inner(strconv.Quote(v)),
		query, component, url.PathEscape(v),
		// encodeURIComponent leaves these.
		strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(component),
	} {
		out = append(out, form{text: s})
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			out = append(out, within(enc, v, before)...)
			out = append(out, within(enc, latin1(v), before)...)
		}
	}
	return out
}

// latin1 is v in the encoding that btoa takes; "" where it has none.
func latin1(v string) string {
	var b []byte
	for _, r := range v {
		if r > 0xff {
			return ""
		}
		b = append(b, byte(r))
	}
	return string(b)
}

// inner is a quoted text without its quotes.
func inner(q string) string { return q[1 : len(q)-1] }

// leastBase64 bounds the part that is looked for, in characters.
const leastBase64 = 6

// within is what of a text's Base64 is the same whatever stands around v, where
// it begins so many bytes after a multiple of three.
func within(enc *base64.Encoding, v string, before int) []form {
	s := enc.EncodeToString([]byte(strings.Repeat("\x00", before) + v))
	first, bits := (before*8+5)/6, (before+len(v))*8
	s = s[first : bits/6]
	if len(s) < leastBase64 {
		return nil
	}
	return []form{{text: s, before: before > 0, tail: bits%6 != 0}}
}

func (f form) mask(s string) string {
	i := strings.Index(s, f.text)
	if i < 0 {
		return s
	}
	var b strings.Builder
	for ; i >= 0; i = strings.Index(s, f.text) {
		end := i + len(f.text)
		if f.before && i > 0 && isBase64(s[i-1]) {
			i--
		}
		if f.tail && end < len(s) && isBase64(s[end]) {
			end++
		}
		b.WriteString(s[:i])
		b.WriteString(mask)
		s = s[end:]
	}
	b.WriteString(s)
	return b.String()
}

func isBase64(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("+/-_", c) >= 0
}
