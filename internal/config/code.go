package config

import (
	"bytes"
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v4"

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

func (c *Code) fromNode(d *decoder, n *node, path string) {
	if n.isNull() {
		return
	}
	if n.kind != yaml.ScalarNode {
		d.rep.addf(problem.WrongType, n.at, "%s must be a text, not %s", path, what(n))
		return
	}
	if strings.TrimSpace(n.value) == "" {
		d.rep.addf(problem.Missing, n.at, "%s is empty", path)
		return
	}
	*c = Code{Text: n.value, At: n.at, indent: n.indent, block: n.block}
	if n.quoted && !n.block {
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

func (v *Body) fromNode(d *decoder, n *node, path string) {
	if n.isNull() {
		return
	}
	var b bytes.Buffer
	if d.json(&b, d.expandAll(n, path), path) {
		*v = b.Bytes()
	}
}

// expandAll copies a tree with the variables in its texts replaced.
func (d *decoder) expandAll(n *node, path string) *node {
	out := *n
	if n.kind == yaml.ScalarNode && strings.Contains(n.value, "${") {
		out.value, _ = d.expanded(n, path)
		out.tag = "!!str"
	}
	out.fields, out.items = nil, nil
	for _, f := range n.fields {
		f.val = d.expandAll(f.val, join(path, f.key))
		out.fields = append(out.fields, f)
	}
	for _, i := range n.items {
		out.items = append(out.items, d.expandAll(i, path))
	}
	return &out
}

// Statuses are what answers of some status mean, in the order of the file.
type Statuses []Status

// Status is what an answer means whose status is Match, 404 or 4xx: an error of
// that text, or a result, JSON.
type Status struct {
	Match, Error string
	Result       json.RawMessage
}

func (s *Statuses) fromNode(d *decoder, n *node, path string) {
	if n.isNull() {
		return
	}
	if n.kind != yaml.MappingNode {
		d.rep.addf(problem.WrongType, n.at, "%s must map statuses such as 404 or 5xx to texts, not %s", path, what(n))
		return
	}
	for _, f := range n.fields {
		st := Status{Match: f.key}
		if f.val.kind == yaml.ScalarNode {
			st.Error, _ = d.text(f.val, join(path, f.key))
		} else {
			var v struct {
				Result Body `yaml:"result" config:"required"`
			}
			d.into(f.val, &v, join(path, f.key))
			st.Result = json.RawMessage(v.Result)
		}
		*s = append(*s, st)
	}
}
