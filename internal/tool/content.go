package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"unicode/utf8"
)

// DefaultOutputCap is how much of a tool's output a model gets, in bytes
// (behaviour E5).
const DefaultOutputCap = 32 << 10

// Content is what a model is told of a result (behaviour A7): a string as it
// is, no value as "ok", anything else as compact JSON. What is over limit bytes
// (0 or less: [DefaultOutputCap]) is cut between characters and says so; the
// mark is within the limit.
func Content(res Result, limit int) string {
	return Cut(content(res.Value), limit)
}

func content(v json.RawMessage) string {
	v = bytes.TrimSpace(v)
	if len(v) == 0 {
		return "ok"
	}
	if v[0] == '"' {
		var s string
		if json.Unmarshal(v, &s) == nil {
			return s
		}
	}
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return string(v)
	}
	return b.String()
}

// Cut shortens s to limit bytes (0 or less: [DefaultOutputCap]), between
// characters, with a mark that tells the full size.
func Cut(s string, limit int) string {
	if limit <= 0 {
		limit = DefaultOutputCap
	}
	if len(s) <= limit {
		return s
	}
	mark := fmt.Sprintf("\n[cut: the whole is %d bytes]", len(s))
	n := limit - len(mark)
	if n <= 0 {
		n, mark = limit, ""
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}

// Fail is a failed result {"error": code, …}. fields are added to it.
func Fail(code string, fields map[string]any) Result {
	m := map[string]any{}
	maps.Copy(m, fields)
	m["error"] = code
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		b.Reset()
		_ = enc.Encode(map[string]any{"error": code}) // a string always encodes
	}
	return Result{Failed: true, Value: bytes.TrimSpace(b.Bytes())}
}

// Capped shortens a value that is over limit bytes (0 or less:
// [DefaultOutputCap]): it becomes the text that a model would get of it.
func Capped(res Result, limit int) Result {
	if limit <= 0 {
		limit = DefaultOutputCap
	}
	if len(res.Value) <= limit {
		return res
	}
	text := content(res.Value)
	if len(text) <= limit {
		return res
	}
	res.Value = appendString(nil, Cut(text, limit))
	return res
}
