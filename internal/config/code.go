package config

import (
	"bytes"
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/internal/config/decode"
	"github.com/parley-bot/parley/internal/config/tree"
	"github.com/parley-bot/parley/internal/problem"
)

// Code is an expression, or a text that a person is shown; never expanded. The
// zero value is none.
type Code struct {
	Text string
	At   Pos
	// indent is the column before the lines of a block (|), first how far
	// behind At the text of any other begins; both are 0 where lines and
	// columns of the text say nothing about the file.
	indent, first int
	block         bool
}

// FromNode implements decode.Unmarshaler.
func (c *Code) FromNode(d *decode.Decoder, n *tree.Node, path string) {
	if n.IsNull() {
		return
	}
	if n.Kind != yaml.ScalarNode {
		d.Rep.Addf(problem.WrongType, n.At, "%s must be a text, not %s", path, tree.What(n))
		return
	}
	if strings.TrimSpace(n.Value) == "" {
		d.Rep.Addf(problem.Missing, n.At, "%s is empty", path)
		return
	}
	*c = Code{Text: n.Value, At: n.At, indent: n.Indent, block: n.Block}
	if n.Quoted && !n.Block {
		c.first = 1
	}
}

// Place is where a line and column of Text, both from 1, are in the file, as
// far as that can be told: YAML folds and escapes.
func (c Code) Place(line, column int) Pos {
	at := c.At
	switch {
	case at.Line == 0 || strings.Contains(c.Text, "\n") && !c.block:
	case c.block:
		at.Line += line
		at.Col = c.indent + column
	default:
		at.Col += c.first + column - 1
	}
	return at
}

// Pointer tells whether the code is a JSON pointer instead: it begins with a
// slash.
func (c Code) Pointer() bool { return strings.HasPrefix(strings.TrimSpace(c.Text), "/") }

// Body is any value as JSON; nil is none. Its texts are expanded.
type Body json.RawMessage

// FromNode implements decode.Unmarshaler.
func (v *Body) FromNode(d *decode.Decoder, n *tree.Node, path string) {
	if n.IsNull() {
		return
	}
	var b bytes.Buffer
	if d.JSON(&b, d.ExpandAll(n, path), path) {
		*v = b.Bytes()
	}
}

// Statuses are what answers of some status mean, in the order of the file.
type Statuses []Status

// Status is what an answer means whose status is Match, 404 or 4xx: an error of
// that text, or a result, JSON.
type Status struct {
	Match, Error string
	Result       json.RawMessage
}

// FromNode implements decode.Unmarshaler.
func (s *Statuses) FromNode(d *decode.Decoder, n *tree.Node, path string) {
	if n.IsNull() {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.Rep.Addf(problem.WrongType, n.At, "%s must map statuses such as 404 or 5xx to texts, not %s", path, tree.What(n))
		return
	}
	for _, f := range n.Fields {
		st := Status{Match: f.Key}
		if f.Val.Kind == yaml.ScalarNode {
			st.Error, _ = d.Text(f.Val, decode.Join(path, f.Key))
		} else {
			var v struct {
				Result Body `yaml:"result" config:"required"`
			}
			d.Into(f.Val, &v, decode.Join(path, f.Key))
			st.Result = json.RawMessage(v.Result)
		}
		*s = append(*s, st)
	}
}
