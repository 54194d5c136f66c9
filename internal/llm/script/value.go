package script

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// quote encodes a string as JSON, < and & as they are.
func quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// asJSON takes what a tool returned: JSON as it is, other text as a string.
func asJSON(content string) json.RawMessage {
	if raw := []byte(content); json.Valid(raw) {
		return bytes.TrimSpace(raw)
	}
	return quote(content)
}

// dig follows keys and indexes into JSON; an index below 0 counts from the
// end. The JSON stays as it was written: the order of keys, long numbers.
func dig(raw json.RawMessage, path []string) (json.RawMessage, bool) {
	for _, step := range path {
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 {
			return nil, false
		}
		switch raw[0] {
		case '{':
			var fields map[string]json.RawMessage
			if json.Unmarshal(raw, &fields) != nil {
				return nil, false
			}
			next, ok := fields[step]
			if !ok {
				return nil, false
			}
			raw = next
		case '[':
			elements, ok := elements(raw)
			n, err := strconv.Atoi(step)
			if n < 0 {
				n += len(elements)
			}
			if !ok || err != nil || n < 0 || n >= len(elements) {
				return nil, false
			}
			raw = elements[n]
		default:
			return nil, false
		}
	}
	return bytes.TrimSpace(raw), true
}

func elements(raw json.RawMessage) ([]json.RawMessage, bool) {
	var out []json.RawMessage
	err := json.Unmarshal(raw, &out)
	return out, err == nil
}

// empty tells that there is nothing in a value.
func empty(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "[]", "{}":
		return true
	}
	if raw[0] == '[' || raw[0] == '{' {
		var b bytes.Buffer
		return json.Compact(&b, raw) == nil && b.Len() == 2
	}
	return false
}

// plain writes a value as text.
func plain(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if raw[0] == '"' {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return s
		}
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
