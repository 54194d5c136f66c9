package render

import (
	"strings"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// maxGrid is the widest table that is shown as one, in columns: what a phone
// has room for.
const maxGrid = 42

// table writes a table as aligned columns in a block of code where the dialect
// has such and it fits, else row by row as "Heading: value".
func (l *layout) table(n *extast.Table) {
	var cells [][]ast.Node
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var line []ast.Node
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			line = append(line, cell)
		}
		cells = append(cells, line)
	}
	if l.traits.grids && l.grid(n, cells) {
		return
	}
	header := cells[0]
	if len(cells) == 1 {
		for i, cell := range header {
			if i > 0 {
				l.write("\n")
			}
			l.inlines(cell)
		}
		return
	}
	for i, row := range cells[1:] {
		if i > 0 {
			l.write("\n\n")
		}
		l.record(header, row)
	}
}

// record writes one row, a line for each value.
func (l *layout) record(header, row []ast.Node) {
	written := false
	for i, cell := range row {
		value, _ := l.cell(cell)
		if value == "" {
			continue
		}
		if written {
			l.write("\n")
		}
		written = true
		if i < len(header) {
			if name, _ := l.cell(header[i]); name != "" {
				closeIt := l.open(&style{kind: bold})
				l.write(name + ":")
				closeIt()
				l.write(" ")
			}
		}
		l.inlines(cell)
	}
}

// grid writes the table as columns; false where that isn't possible.
func (l *layout) grid(n *extast.Table, cells [][]ast.Node) bool {
	texts := make([][]string, len(cells))
	widths := make([]int, len(cells[0]))
	for i, row := range cells {
		texts[i] = make([]string, len(widths))
		for k, cell := range row[:min(len(row), len(widths))] {
			text, links := l.cell(cell)
			if links {
				return false
			}
			texts[i][k] = text
			widths[k] = max(widths[k], uniseg.StringWidth(text))
		}
	}
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	if total > maxGrid {
		return false
	}
	rows := make([]string, 0, len(texts)+1)
	for i, row := range texts {
		rows = append(rows, aligned(row, widths, n.Alignments))
		if i == 0 {
			bars := make([]string, len(widths))
			for k, w := range widths {
				bars[k] = strings.Repeat("-", w)
			}
			rows = append(rows, strings.TrimRight(strings.Join(bars, "  "), " "))
		}
	}
	l.code("", strings.Join(rows, "\n"))
	return true
}

func aligned(row []string, widths []int, alignments []extast.Alignment) string {
	var b strings.Builder
	for k, text := range row {
		if k > 0 {
			b.WriteString("  ")
		}
		pad := strings.Repeat(" ", widths[k]-uniseg.StringWidth(text))
		if k < len(alignments) && alignments[k] == extast.AlignRight {
			b.WriteString(pad + text)
		} else {
			b.WriteString(text + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// cell is a cell's text without styles, in one line, and whether it has links.
func (l *layout) cell(n ast.Node) (text string, links bool) {
	inner := &layout{source: l.source, traits: l.traits}
	inner.traits.links = true
	inner.inlines(n)
	s := inner.done()
	for _, r := range s.runs {
		links = links || has(r.path, link) != nil
	}
	return strings.Join(strings.Fields(s.text), " "), links || len(addresses(s.text)) > 0
}
