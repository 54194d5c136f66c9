package sqltool

import (
	"encoding/json"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

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

// maxDimensions is PostgreSQL's MAXDIM.
const maxDimensions = 6

// arrayJSON makes nested lists of an array as PostgreSQL writes it: the same,
// with or without its bounds before it ([0:1]={…}). One that can't be read
// stays a text.
func arrayJSON(text string, oid, element uint32) json.RawMessage {
	r := arrayReader{rest: text, element: element, delimiter: ','}
	if oid == pgtype.BoxArrayOID {
		r.delimiter = ';' // the one type whose typdelim isn't a comma
	}
	if strings.HasPrefix(text, "[") {
		_, r.rest, _ = strings.Cut(text, "=")
	}
	if list, ok := r.list(maxDimensions); ok && r.rest == "" {
		return list
	}
	return quote(strings.ToValidUTF8(text, "\ufffd"))
}

type arrayReader struct {
	rest      string
	element   uint32
	delimiter byte
}

func (r *arrayReader) list(depth int) (json.RawMessage, bool) {
	if depth == 0 || !strings.HasPrefix(r.rest, "{") {
		return nil, false
	}
	if rest, empty := strings.CutPrefix(r.rest, "{}"); empty {
		r.rest = rest
		return json.RawMessage("[]"), true
	}
	list := []byte{'['}
	for {
		r.rest = r.rest[1:] // the brace, or the delimiter
		item, ok := r.item(depth)
		if !ok || r.rest == "" {
			return nil, false
		}
		list = append(list, item...)
		switch r.rest[0] {
		case '}':
			r.rest = r.rest[1:]
			return append(list, ']'), true
		case r.delimiter:
			list = append(list, ',')
		default:
			return nil, false
		}
	}
}

func (r *arrayReader) item(depth int) (json.RawMessage, bool) {
	switch {
	case strings.HasPrefix(r.rest, "{"):
		return r.list(depth - 1)
	case strings.HasPrefix(r.rest, `"`):
		return r.quoted()
	}
	end := strings.IndexAny(r.rest, `{}"`+string(r.delimiter))
	if end <= 0 {
		return nil, false
	}
	text := r.rest[:end]
	r.rest = r.rest[end:]
	if text == "NULL" { // the word itself would be in quotes
		return json.RawMessage("null"), true
	}
	return pgJSON([]byte(text), r.element), true
}

// quoted reads "…", in which a backslash is before what is meant as it is.
func (r *arrayReader) quoted() (json.RawMessage, bool) {
	text := []byte{}
	for i := 1; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case c == '"':
			r.rest = r.rest[i+1:]
			return pgJSON(text, r.element), true
		case c == '\\' && i+1 < len(r.rest):
			i++
			text = append(text, r.rest[i])
		default:
			text = append(text, c)
		}
	}
	return nil, false
}

// elementOID is the type of an array's elements, for the types that every
// server has. Those whose values are texts here are all told as text.
func elementOID(array uint32) (uint32, bool) {
	switch array {
	case pgtype.BoolArrayOID:
		return pgtype.BoolOID, true
	case pgtype.ByteaArrayOID:
		return pgtype.ByteaOID, true
	case pgtype.JSONArrayOID:
		return pgtype.JSONOID, true
	case pgtype.JSONBArrayOID:
		return pgtype.JSONBOID, true
	case pgtype.Int2ArrayOID:
		return pgtype.Int2OID, true
	case pgtype.Int4ArrayOID:
		return pgtype.Int4OID, true
	case pgtype.Int8ArrayOID:
		return pgtype.Int8OID, true
	case pgtype.OIDArrayOID:
		return pgtype.OIDOID, true
	case pgtype.Float4ArrayOID:
		return pgtype.Float4OID, true
	case pgtype.Float8ArrayOID:
		return pgtype.Float8OID, true
	case pgtype.TimestampArrayOID:
		return pgtype.TimestampOID, true
	case pgtype.TimestamptzArrayOID:
		return pgtype.TimestamptzOID, true
	case pgtype.ACLItemArrayOID, pgtype.BitArrayOID, pgtype.BoxArrayOID, pgtype.BPCharArrayOID, pgtype.QCharArrayOID,
		pgtype.CIDArrayOID, pgtype.CIDRArrayOID, pgtype.CircleArrayOID, pgtype.DateArrayOID, pgtype.DaterangeArrayOID,
		pgtype.InetArrayOID, pgtype.Int4rangeArrayOID, pgtype.Int8rangeArrayOID, pgtype.IntervalArrayOID,
		pgtype.JSONPathArrayOID, pgtype.LineArrayOID, pgtype.LsegArrayOID, pgtype.MacaddrArrayOID, pgtype.NameArrayOID,
		pgtype.NumericArrayOID, pgtype.NumrangeArrayOID, pgtype.OID8ArrayOID, pgtype.PathArrayOID, pgtype.PointArrayOID,
		pgtype.PolygonArrayOID, pgtype.RecordArrayOID, pgtype.TextArrayOID, pgtype.TIDArrayOID, pgtype.TSVectorArrayOID,
		pgtype.TimeArrayOID, pgtype.TsrangeArrayOID, pgtype.TstzrangeArrayOID, pgtype.UUIDArrayOID, pgtype.VarbitArrayOID,
		pgtype.VarcharArrayOID, pgtype.XIDArrayOID, pgtype.XID8ArrayOID, pgtype.XMLArrayOID:
		return pgtype.TextOID, true
	default:
		return 0, false
	}
}
