package render

import (
	"bytes"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// parsers are made once: they are big, and safe to use from many goroutines.
type parsers struct {
	full parser.Parser
	// noRefs takes definitions of references for text.
	noRefs parser.Parser
}

// theParsers is CommonMark with tables, strikethrough and bare addresses.
// Blocks of HTML are left out: what stands in them is text like any other.
//
//nolint:gochecknoglobals // made once, never changed
var theParsers = sync.OnceValue(func() parsers {
	var blocks []util.PrioritizedValue
	for _, p := range parser.DefaultBlockParsers() {
		if p.Priority != htmlBlocks {
			blocks = append(blocks, p)
		}
	}
	inlines := append(parser.DefaultInlineParsers(),
		util.Prioritized(extension.NewStrikethroughParser(), 500),
		util.Prioritized(extension.NewLinkifyParser(), 999))
	table := util.Prioritized(extension.NewTableParagraphTransformer(), 200)
	build := func(paragraphs ...util.PrioritizedValue) parser.Parser {
		return parser.NewParser(
			parser.WithBlockParsers(blocks...), parser.WithInlineParsers(inlines...),
			parser.WithParagraphTransformers(paragraphs...),
			parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
		)
	}
	return parsers{
		full:   build(append(parser.DefaultParagraphTransformers(), table)...),
		noRefs: build(table),
	}
})

// htmlBlocks is the priority by which goldmark lists its parser of HTML.
const htmlBlocks = 900

// parse reads a model's text. A definition such as "[1]: https://…" that no
// link refers to isn't swallowed: it may be what was to be said.
func parse(source []byte) ast.Node {
	p := theParsers()
	ctx := parser.NewContext()
	doc := p.full.Parse(text.NewReader(source), parser.WithContext(ctx))
	refs := ctx.References()
	if len(refs) == 0 {
		return doc
	}
	used := map[string]bool{}
	_ = ast.Walk(doc, func(n ast.Node, _ bool) (ast.WalkStatus, error) { // never fails
		switch n := n.(type) {
		case *ast.Link:
			used[string(n.Destination)] = true
		case *ast.Image:
			used[string(n.Destination)] = true
		}
		return ast.WalkContinue, nil
	})
	for _, r := range refs {
		if !used[string(bytes.TrimSpace(r.Destination()))] {
			return p.noRefs.Parse(text.NewReader(source))
		}
	}
	return doc
}

// bare tells that text surely has nothing that Markdown or a dialect would
// take for markup. It is quick, since most messages are.
func bare(text string) bool {
	start := true // only white space in this line so far
	digits := 0
	for i := range len(text) {
		switch c := text[i]; c {
		case '*', '_', '`', '~', '[', ']', '<', '&', '\\', '|':
			return false
		case '\n':
			start, digits = true, 0
		case ' ', '\t':
			digits = 0
		case '#', '>', '-', '+', '=':
			if start {
				return false
			}
		case '.', ')':
			if digits > 0 {
				return false
			}
			start = false
		default:
			if start && c >= '0' && c <= '9' {
				digits++
				continue
			}
			if digits > 0 && c >= '0' && c <= '9' {
				continue
			}
			start, digits = false, 0
		}
	}
	return true
}
