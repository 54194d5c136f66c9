package tree

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/internal/problem"
)

// The bounds of a configuration. A real one is far below them; they keep a
// hostile one, or a wrong path, from eating the memory.
const (
	MaxFileBytes = 1 << 20
	maxNodes     = 200_000 // after aliases are followed, over all files
	maxDepth     = 100
)

// Node is YAML with anchors, aliases and merge keys resolved. Each keeps the
// place it was written at.
type Node struct {
	Kind   yaml.Kind // MappingNode, SequenceNode or ScalarNode
	At     Pos
	Value  string
	Tag    string // of a scalar: !!str, !!int, …
	Quoted bool   // a scalar that was written as a string
	Block  bool   // a scalar whose lines are the file's (|), each after
	Indent int    // that many columns
	Fields []Field
	Items  []*Node
	// Literal values came from the environment or a flag: they are taken
	// as they are, in any type.
	Literal bool
}

// Field is a key of a mapping and its value.
type Field struct {
	Key string
	At  Pos
	Val *Node
	// merged fields came by a merge key; the mapping's own go before.
	merged bool
}

// Get is the field of a key; nil where there is none, or no mapping.
func (n *Node) Get(key string) *Field {
	if n == nil {
		return nil
	}
	if i := slices.IndexFunc(n.Fields, func(f Field) bool { return f.Key == key }); i >= 0 {
		return &n.Fields[i]
	}
	return nil
}

// IsNull tells whether a node is missing, or written as nothing.
func (n *Node) IsNull() bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null" && !n.Literal
}

// Find follows a dotted path as far as it exists; nil if its first key
// doesn't.
func (n *Node) Find(path string) *Field {
	var last *Field
	for key := range strings.SplitSeq(path, ".") {
		f := n.Get(key)
		if f == nil {
			return last
		}
		last, n = f, f.Val
	}
	return last
}

// What names a node's shape in a message.
func What(n *Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.IsNull():
		return "nothing"
	default:
		return "a single value"
	}
}

// builder turns the library's graph into a tree.
type builder struct {
	rep   *Report
	file  string
	lines []string
	nodes int
	full  bool
	open  []*yaml.Node // anchors being followed: an alias to one is a loop
}

// parse reads one file's YAML. Nil means that it was empty or broken, the
// latter with a report.
func (b *builder) parse(data []byte) *Node {
	b.lines = strings.Split(string(data), "\n")
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		b.rep.Addf(problem.Syntax, Pos{File: b.file}, "can't be read as YAML")
		return nil
	}
	var doc, second yaml.Node
	if err := loader.Load(&doc); err != nil {
		if !errors.Is(err, io.EOF) {
			b.syntax(err)
		}
		return nil
	}
	if err := loader.Load(&second); err == nil {
		b.rep.Addf(problem.Document, Pos{File: b.file, Line: second.Line, Col: second.Column}, "a configuration is one YAML document; remove the second (it starts at \"---\")")
	} else if !errors.Is(err, io.EOF) {
		b.syntax(err)
	}
	if len(doc.Content) != 1 {
		return nil
	}
	return b.build(doc.Content[0], 0)
}

func (b *builder) syntax(err error) {
	at := Pos{File: b.file}
	if le, ok := errors.AsType[*yaml.LoadError](err); ok {
		at.Line, at.Col = le.Mark.Line, le.Mark.Column
		if at.Line > 0 && at.Col == 0 {
			at.Col = 1
		}
		b.rep.Addf(problem.Syntax, at, "not valid YAML: %s", le.Message)
		return
	}
	// The library's other errors may quote the input.
	b.rep.Addf(problem.Syntax, at, "not valid YAML")
}

func (b *builder) pos(n *yaml.Node) Pos { return Pos{File: b.file, Line: n.Line, Col: n.Column} }

func (b *builder) build(n *yaml.Node, depth int) *Node {
	if b.full {
		return nil
	}
	if b.nodes++; b.nodes > maxNodes || depth > maxDepth {
		b.full = true
		b.rep.Addf(problem.TooLarge, b.pos(n), "the configuration is too large or too deep once its aliases are followed (at most %d values, %d levels)", maxNodes, maxDepth)
		return nil
	}
	if n.Kind == yaml.AliasNode {
		if n.Alias == nil || slices.Contains(b.open, n.Alias) {
			b.rep.Addf(problem.Feature, b.pos(n), "alias *%s refers to the value it is part of", n.Value)
			return nil
		}
		return b.build(n.Alias, depth+1)
	}
	if n.Anchor != "" {
		b.open = append(b.open, n)
		defer func() { b.open = b.open[:len(b.open)-1] }()
	}
	out := &Node{Kind: n.Kind, At: b.pos(n)}
	switch n.Kind {
	case yaml.MappingNode:
		b.mapping(n, out, depth)
	case yaml.SequenceNode:
		for _, c := range n.Content {
			if item := b.build(c, depth+1); item != nil {
				out.Items = append(out.Items, item)
			}
		}
	default:
		out.Kind = yaml.ScalarNode
		out.Value, out.Tag = n.Value, n.ShortTag()
		out.Quoted = n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
		if out.Block = n.Style&yaml.LiteralStyle != 0; out.Block {
			out.Indent = b.indent(n.Line)
		}
		if strings.HasPrefix(out.Tag, "!") && !strings.HasPrefix(out.Tag, "!!") {
			b.rep.Addf(problem.Feature, out.At, "unknown YAML tag %s", out.Tag)
		}
	}
	return out
}

// indent is that of the first line after a line (from 1) that isn't blank.
func (b *builder) indent(after int) int {
	for _, l := range b.lines[min(after, len(b.lines)):] {
		if text := strings.TrimLeft(l, " "); strings.TrimSpace(text) != "" {
			return len(l) - len(text)
		}
	}
	return 0
}

func (b *builder) mapping(n *yaml.Node, out *Node, depth int) {
	var merges []*yaml.Node
	seen := map[string]Pos{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		at := b.pos(k)
		if k.Kind == yaml.AliasNode && k.Alias != nil {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			b.rep.Addf(problem.Feature, at, "a key must be plain text")
			continue
		}
		if k.Value == "<<" && k.ShortTag() == "!!merge" {
			merges = append(merges, v)
			continue
		}
		if first, dup := seen[k.Value]; dup {
			b.rep.Addf(problem.DuplicateKey, at, "duplicate key %q; it is first given at line %d", Clip(k.Value), first.Line)
			continue
		}
		seen[k.Value] = at
		if val := b.build(v, depth+1); val != nil {
			out.Fields = append(out.Fields, Field{Key: k.Value, At: at, Val: val})
		}
	}
	// The mapping's own keys win over merged ones, earlier merges over later
	// (https://yaml.org/type/merge.html).
	for _, m := range merges {
		b.merge(m, out, seen, depth)
	}
}

func (b *builder) merge(m *yaml.Node, out *Node, seen map[string]Pos, depth int) {
	from := b.build(m, depth+1)
	if from == nil {
		return
	}
	maps := []*Node{from}
	if from.Kind == yaml.SequenceNode {
		maps = from.Items
	}
	for _, one := range maps {
		if one.Kind != yaml.MappingNode {
			b.rep.Addf(problem.Feature, b.pos(m), "<< merges a mapping or a list of mappings")
			return
		}
		for _, f := range one.Fields {
			if _, have := seen[f.Key]; !have {
				seen[f.Key] = f.At
				f.merged = true
				out.Fields = append(out.Fields, f)
			}
		}
	}
}

// Clip bounds what of a file is quoted in a message.
func Clip(s string) string {
	const longest = 60
	if r := []rune(s); len(r) > longest {
		return string(r[:longest]) + "…"
	}
	return s
}
