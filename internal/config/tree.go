package config

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
	maxFileBytes = 1 << 20
	maxNodes     = 200_000 // after aliases are followed, over all files
	maxDepth     = 100
)

// node is YAML with anchors, aliases and merge keys resolved. Each keeps the
// place it was written at.
type node struct {
	kind   yaml.Kind // MappingNode, SequenceNode or ScalarNode
	at     Pos
	value  string
	tag    string // of a scalar: !!str, !!int, …
	quoted bool   // a scalar that was written as a string
	block  bool   // a scalar whose lines are the file's (|), each after
	indent int    // that many columns
	fields []field
	items  []*node
	// literal values came from the environment or a flag: they are taken
	// as they are, in any type.
	literal bool
}

type field struct {
	key string
	at  Pos
	val *node
	// merged fields came by a merge key; the mapping's own go before.
	merged bool
}

func (n *node) get(key string) *field {
	if n == nil {
		return nil
	}
	if i := slices.IndexFunc(n.fields, func(f field) bool { return f.key == key }); i >= 0 {
		return &n.fields[i]
	}
	return nil
}

func (n *node) isNull() bool {
	return n == nil || n.kind == yaml.ScalarNode && n.tag == "!!null" && !n.literal
}

// builder turns the library's graph into a tree.
type builder struct {
	rep   *report
	file  string
	lines []string
	nodes int
	full  bool
	open  []*yaml.Node // anchors being followed: an alias to one is a loop
}

// parse reads one file's YAML. Nil means that it was empty or broken, the
// latter with a report.
func (b *builder) parse(data []byte) *node {
	b.lines = strings.Split(string(data), "\n")
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		b.rep.addf(problem.Syntax, Pos{File: b.file}, "can't be read as YAML")
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
		b.rep.addf(problem.Document, Pos{File: b.file, Line: second.Line, Col: second.Column}, "a configuration is one YAML document; remove the second (it starts at \"---\")")
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
		b.rep.addf(problem.Syntax, at, "not valid YAML: %s", le.Message)
		return
	}
	// The library's other errors may quote the input.
	b.rep.addf(problem.Syntax, at, "not valid YAML")
}

func (b *builder) pos(n *yaml.Node) Pos { return Pos{File: b.file, Line: n.Line, Col: n.Column} }

func (b *builder) build(n *yaml.Node, depth int) *node {
	if b.full {
		return nil
	}
	if b.nodes++; b.nodes > maxNodes || depth > maxDepth {
		b.full = true
		b.rep.addf(problem.TooLarge, b.pos(n), "the configuration is too large or too deep once its aliases are followed (at most %d values, %d levels)", maxNodes, maxDepth)
		return nil
	}
	if n.Kind == yaml.AliasNode {
		if n.Alias == nil || slices.Contains(b.open, n.Alias) {
			b.rep.addf(problem.Feature, b.pos(n), "alias *%s refers to the value it is part of", n.Value)
			return nil
		}
		return b.build(n.Alias, depth+1)
	}
	if n.Anchor != "" {
		b.open = append(b.open, n)
		defer func() { b.open = b.open[:len(b.open)-1] }()
	}
	out := &node{kind: n.Kind, at: b.pos(n)}
	switch n.Kind {
	case yaml.MappingNode:
		b.mapping(n, out, depth)
	case yaml.SequenceNode:
		for _, c := range n.Content {
			if item := b.build(c, depth+1); item != nil {
				out.items = append(out.items, item)
			}
		}
	default:
		out.kind = yaml.ScalarNode
		out.value, out.tag = n.Value, n.ShortTag()
		out.quoted = n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
		if out.block = n.Style&yaml.LiteralStyle != 0; out.block {
			out.indent = b.indent(n.Line)
		}
		if strings.HasPrefix(out.tag, "!") && !strings.HasPrefix(out.tag, "!!") {
			b.rep.addf(problem.Feature, out.at, "unknown YAML tag %s", out.tag)
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

func (b *builder) mapping(n *yaml.Node, out *node, depth int) {
	var merges []*yaml.Node
	seen := map[string]Pos{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		at := b.pos(k)
		if k.Kind == yaml.AliasNode && k.Alias != nil {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			b.rep.addf(problem.Feature, at, "a key must be plain text")
			continue
		}
		if k.Value == "<<" && k.ShortTag() == "!!merge" {
			merges = append(merges, v)
			continue
		}
		if first, dup := seen[k.Value]; dup {
			b.rep.addf(problem.DuplicateKey, at, "duplicate key %q; it is first given at line %d", clip(k.Value), first.Line)
			continue
		}
		seen[k.Value] = at
		if val := b.build(v, depth+1); val != nil {
			out.fields = append(out.fields, field{key: k.Value, at: at, val: val})
		}
	}
	// The mapping's own keys win over merged ones, earlier merges over later
	// (https://yaml.org/type/merge.html).
	for _, m := range merges {
		b.merge(m, out, seen, depth)
	}
}

func (b *builder) merge(m *yaml.Node, out *node, seen map[string]Pos, depth int) {
	from := b.build(m, depth+1)
	if from == nil {
		return
	}
	maps := []*node{from}
	if from.kind == yaml.SequenceNode {
		maps = from.items
	}
	for _, one := range maps {
		if one.kind != yaml.MappingNode {
			b.rep.addf(problem.Feature, b.pos(m), "<< merges a mapping or a list of mappings")
			return
		}
		for _, f := range one.fields {
			if _, have := seen[f.key]; !have {
				seen[f.key] = f.at
				f.merged = true
				out.fields = append(out.fields, f)
			}
		}
	}
}

// clip bounds what of a file is quoted in a message.
func clip(s string) string {
	const longest = 60
	if r := []rune(s); len(r) > longest {
		return string(r[:longest]) + "…"
	}
	return s
}
