package sqltool

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// pgParam writes a JSON value as the text that PostgreSQL reads for a type; nil
// is null.
func pgParam(raw json.RawMessage, oid uint32) []byte {
	if raw == nil {
		return nil
	}
	if oid == pgtype.JSONOID || oid == pgtype.JSONBOID {
		return []byte(compact(raw))
	}
	if element, ok := elementOID(oid); ok && raw[0] == '[' {
		return []byte(arrayLiteral(raw, element == pgtype.JSONOID || element == pgtype.JSONBOID))
	}
	switch oid {
	case pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID, pgtype.UnknownOID, pgtype.NameOID:
		return []byte(plain(raw, false))
	}
	return []byte(plain(raw, true))
}

// plain is a value without quotes: a number as it was written, or normalized.
func plain(raw json.RawMessage, normalize bool) string {
	switch c := raw[0]; {
	case c == '"':
		var s string
		_ = json.Unmarshal(raw, &s) // it is valid JSON
		// PostgreSQL's texts can't hold it, and its error would quote the text.
		return strings.ReplaceAll(s, "\x00", "\ufffd")
	case c == '{' || c == '[':
		return compact(raw)
	case normalize && (c == '-' || c >= '0' && c <= '9'):
		return exact(raw)
	default:
		return string(raw)
	}
}

// pgJSON makes JSON of a value as PostgreSQL writes it; nil is null.
func pgJSON(text []byte, oid uint32) json.RawMessage {
	s := string(text)
	switch {
	case text == nil:
		return json.RawMessage("null")
	case oid == pgtype.BoolOID:
		return json.RawMessage(map[string]string{"t": "true", "f": "false"}[s])
	case oid == pgtype.JSONOID || oid == pgtype.JSONBOID:
		return json.RawMessage(compact(text))
	case oid == pgtype.ByteaOID:
		if b, err := hex.DecodeString(strings.TrimPrefix(s, `\x`)); err == nil {
			return quote(base64.StdEncoding.EncodeToString(b))
		}
		return quote(s)
	case isNumberOID(oid) && json.Valid(text): // not NaN, not Infinity
		return json.RawMessage(s)
	case oid == pgtype.TimestampOID:
		return quote(strings.Replace(s, " ", "T", 1))
	case oid == pgtype.TimestamptzOID:
		for _, zone := range []string{"-07", "-07:00", "-07:00:00"} {
			if t, err := time.Parse("2006-01-02 15:04:05.999999999"+zone, s); err == nil {
				return quote(t.Format(time.RFC3339Nano))
			}
		}
		return quote(s) // infinity, or before our era
	}
	if element, ok := elementOID(oid); ok {
		return arrayJSON(s, oid, element)
	}
	return quote(strings.ToValidUTF8(s, "\ufffd"))
}

// isNumberOID tells types that JSON has a number for. Decimals of any length
// aren't: readers of JSON would round them.
func isNumberOID(oid uint32) bool {
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID, pgtype.Float4OID, pgtype.Float8OID:
		return true
	default:
		return false
	}
}
