package httptool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/parley-bot/parley/internal/egress"
	"github.com/parley-bot/parley/internal/tool"
)

// maxFailedBody bounds the body within a failed result, in bytes: an error
// page is long and says little.
const maxFailedBody = 8 << 10

// result makes an answer what the model is told: JSON as JSON, text as it is,
// an empty body as no value, within limit bytes.
func result(resp egress.Response, limit int) tool.Result {
	if resp.Status >= 200 && resp.Status <= 299 {
		return tool.Result{Value: value(resp, limit)}
	}
	fields := map[string]any{"status": resp.Status}
	if v := value(resp, min(limit, maxFailedBody)); v != nil {
		fields["body"] = v
	}
	return tool.Fail("http_status", fields)
}

func value(resp egress.Response, limit int) json.RawMessage {
	mediaType, params, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		mediaType = ""
	}
	body := bytes.TrimPrefix(resp.Body, []byte("\ufeff"))
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	whole := !resp.Truncated && len(body) <= limit
	if whole && isJSON(mediaType, body) {
		return bytes.ToValidUTF8(bytes.TrimSpace(body), []byte("\ufffd"))
	}
	text, ok := decode(body, params["charset"], resp.Truncated)
	if !ok {
		return quote(fmt.Sprintf("[%d bytes of %s, which is no text]", len(body), cmp.Or(mediaType, "an unknown type")))
	}
	if whole && len(text) <= limit {
		return quote(text)
	}
	return quote(cut(text, limit, resp.Truncated, len(body)))
}

// isJSON goes by the type, and by the look where the server has named none or
// has left it to a guess (Go's and others' guess text/plain).
func isJSON(mediaType string, body []byte) bool {
	switch {
	case mediaType == "application/json", mediaType == "text/json", strings.HasSuffix(mediaType, "+json"):
		return json.Valid(body)
	case mediaType == "" || mediaType == "text/plain":
		b := bytes.TrimSpace(body)
		return (b[0] == '{' || b[0] == '[') && json.Valid(body)
	default:
		return false
	}
}

// decode gives the text of a body. Western one-byte encodings are read where
// they are named; whatever else isn't UTF-8 is no text.
func decode(body []byte, charset string, truncated bool) (string, bool) {
	switch strings.ToLower(charset) {
	case "iso-8859-1", "latin1", "windows-1252", "cp1252":
		return windows1252(body), true
	}
	if truncated { // in the middle of a character, maybe
		for i := 0; i < utf8.UTFMax && !utf8.Valid(body) && len(body) > 0; i++ {
			body = body[:len(body)-1]
		}
	}
	return string(body), utf8.Valid(body) && !bytes.ContainsRune(body, 0)
}

// western are the characters of windows-1252 where it differs from Latin-1,
// from 0x80 on (https://encoding.spec.whatwg.org/index-windows-1252.txt); five
// aren't there. x/text's charmap would bring all its encodings: 90 KB.
const western = "€\ufffd‚ƒ„…†‡ˆ‰Š‹Œ\ufffdŽ\ufffd\ufffd‘’“”•–—˜™š›œ\ufffdžŸ"

func windows1252(body []byte) string {
	table := []rune(western)
	var out strings.Builder
	out.Grow(len(body))
	for _, c := range body {
		if r := rune(c); r < 0x80 || r >= 0xa0 {
			out.WriteRune(r)
		} else {
			out.WriteRune(table[r-0x80])
		}
	}
	return out.String()
}

// cut shortens between characters; the mark is within the limit.
func cut(s string, limit int, truncated bool, size int) string {
	mark := fmt.Sprintf("\n[cut: the whole is %d bytes]", size)
	if truncated {
		mark = fmt.Sprintf("\n[cut: only the first %d bytes were read]", size)
	}
	n := limit - len(mark)
	if n <= 0 {
		return strings.TrimSpace(mark)
	}
	n = min(n, len(s))
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}
