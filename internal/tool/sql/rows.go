package sqltool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Limits bound what is read of an answer; reading ends there.
type Limits struct {
	Rows  int
	Bytes int // of JSON; the first row is kept whatever its size
}

// Answer is what a statement gave.
type Answer struct {
	// Columns are the names of the columns, made unique; nil where the
	// statement has none.
	Columns []string
	// Rows have a JSON value for each column.
	Rows [][]json.RawMessage
	// Cut: there was more than the limits.
	Cut bool
	// Affected is how many rows a statement that writes has changed.
	Affected int64
}

// collector keeps rows until a limit is reached.
type collector struct {
	answer Answer
	limits Limits
	size   int
}

func (c *collector) columns(names []string) {
	c.answer.Columns = make([]string, 0, len(names))
	for _, n := range names {
		unique := n
		for i := 2; slices.Contains(c.answer.Columns, unique); i++ {
			unique = fmt.Sprintf("%s_%d", n, i)
		}
		c.answer.Columns = append(c.answer.Columns, unique)
	}
}

// add takes a row, and tells whether there may be another one.
func (c *collector) add(row []json.RawMessage) (more bool) {
	size := 2
	for i, v := range row {
		size += len(v) + len(c.answer.Columns[i]) + 4
	}
	if len(c.answer.Rows) >= c.limits.Rows || len(c.answer.Rows) > 0 && c.size+size > c.limits.Bytes {
		c.answer.Cut = true
		return false
	}
	c.size += size
	c.answer.Rows = append(c.answer.Rows, row)
	return true
}

// Object writes a row as an object, its keys in the order of the columns.
func (a Answer) Object(row []json.RawMessage) json.RawMessage {
	b := []byte{'{'}
	for i, v := range row {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, quote(a.Columns[i])...), ':'), v...)
	}
	return append(b, '}')
}

// Objects writes all rows as a list.
func (a Answer) Objects() json.RawMessage {
	items := make([][]byte, len(a.Rows))
	for i, row := range a.Rows {
		items[i] = a.Object(row)
	}
	return slices.Concat([]byte("["), bytes.Join(items, []byte(",")), []byte("]"))
}

func quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimSpace(b.Bytes())
}
