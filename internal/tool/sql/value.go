package sqltool

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/parley-bot/parley/internal/tool"
)

// exact writes a JSON number without exponent and needless zeros, 1.0 as 1, so
// that a database takes a whole number as one.
func exact(number json.RawMessage) string {
	canonical, err := tool.Canonical(number)
	if err != nil {
		return string(number) // too long to be written out
	}
	return string(canonical)
}

// sameNumber tells whether a double has the exact value of the text.
func sameNumber(text string, f float64) bool {
	return tool.SameNumber(text, strconv.FormatFloat(f, 'g', -1, 64))
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
