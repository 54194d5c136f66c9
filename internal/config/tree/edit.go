package tree

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Put sets the value at path in a copy of the tree. The other form of a secret
// goes: an override replaces the credential, wherever the file had it from.
func (n *Node) Put(path []string, leaf *Node) *Node {
	if len(path) == 0 {
		return leaf
	}
	out := Node{Kind: yaml.MappingNode, At: leaf.At}
	if !n.IsNull() {
		if n.Kind != yaml.MappingNode {
			return n // reported when it is decoded
		}
		out = *n
		out.Fields = slices.Clone(n.Fields)
	}
	key := path[0]
	val := leaf
	if len(path) > 1 {
		var below *Node
		if f := out.Get(key); f != nil {
			below = f.Val
		}
		val = below.Put(path[1:], leaf)
	} else {
		twin := key + "_file"
		if base, ok := strings.CutSuffix(key, "_file"); ok {
			twin = base
		}
		// A twin that is an override too stays, to be reported.
		out.Fields = slices.DeleteFunc(out.Fields, func(f Field) bool { return f.Key == twin && !f.Val.Literal })
	}
	if f := out.Get(key); f != nil {
		f.Val = val
	} else {
		out.Fields = append(out.Fields, Field{Key: key, At: leaf.At, Val: val})
	}
	return &out
}

// Equal compares what is written, the order of keys aside.
func (n *Node) Equal(b *Node) bool {
	if n.IsNull() || b.IsNull() {
		return n.IsNull() == b.IsNull()
	}
	if n.Kind != b.Kind || n.Value != b.Value || n.Tag != b.Tag || len(n.Fields) != len(b.Fields) {
		return false
	}
	for _, f := range n.Fields {
		g := b.Get(f.Key)
		if g == nil || !f.Val.Equal(g.Val) {
			return false
		}
	}
	return slices.EqualFunc(n.Items, b.Items, (*Node).Equal)
}
