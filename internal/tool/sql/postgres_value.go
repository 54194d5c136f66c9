package sqltool

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// param writes a JSON value as the text that PostgreSQL reads for a type; nil
// is null.
func (d *pgDriver) param(raw json.RawMessage, oid uint32) []byte {
	if raw == nil {
		return nil
	}
	if oid == pgtype.JSONOID || oid == pgtype.JSONBOID {
		return []byte(compact(raw))
	}
	if t, ok := d.types.TypeForOID(oid); ok && raw[0] == '[' {
		if array, ok := t.Codec.(*pgtype.ArrayCodec); ok {
			isJSON := array.ElementType.OID == pgtype.JSONOID || array.ElementType.OID == pgtype.JSONBOID
			return []byte(arrayLiteral(raw, isJSON))
		}
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

// arrayLiteral writes a list as PostgreSQL reads arrays: {"a",NULL,{"b"}}.
func arrayLiteral(raw json.RawMessage, elementsAreJSON bool) string {
	var items []json.RawMessage
	_ = json.Unmarshal(raw, &items) // it is a valid list
	parts := make([]string, len(items))
	for i, it := range items {
		switch {
		case string(it) == "null":
			parts[i] = "NULL"
		case elementsAreJSON:
			parts[i] = quoteElement(compact(it))
		case it[0] == '[':
			parts[i] = arrayLiteral(it, false)
		default:
			parts[i] = quoteElement(plain(it, true))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func quoteElement(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// json makes JSON of a value as PostgreSQL writes it; nil is null.
func (d *pgDriver) json(text []byte, oid uint32) json.RawMessage {
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
	if t, ok := d.types.TypeForOID(oid); ok {
		if array, ok := t.Codec.(*pgtype.ArrayCodec); ok {
			return d.array(text, oid, array.ElementType.OID)
		}
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

// array makes nested lists of an array. One that can't be read stays a text.
func (d *pgDriver) array(text []byte, oid, element uint32) json.RawMessage {
	var a pgtype.Array[*string]
	if err := d.types.Scan(oid, pgtype.TextFormatCode, text, &a); err != nil {
		return quote(string(text))
	}
	if len(a.Elements) == 0 {
		return json.RawMessage("[]")
	}
	items := make([]json.RawMessage, len(a.Elements))
	for i, e := range a.Elements {
		if items[i] = json.RawMessage("null"); e != nil {
			items[i] = d.json([]byte(*e), element)
		}
	}
	for _, dim := range slices.Backward(a.Dims) {
		items = group(items, int(dim.Length))
	}
	return items[0]
}

// group makes lists of n items each.
func group(items []json.RawMessage, n int) (out []json.RawMessage) {
	for len(items) > 0 {
		b := []byte{'['}
		for i, it := range items[:min(n, len(items))] {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, it...)
		}
		out = append(out, append(b, ']'))
		items = items[min(n, len(items)):]
	}
	return out
}
