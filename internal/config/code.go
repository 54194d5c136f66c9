package config

import (
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
