package tree

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/parley-bot/parley/internal/problem"
)

const maxIncludes = 64

// Load reads the main file of src and what it includes. Its own error is that
// the file can't be read; everything else is reported. The tree is nil where
// the file is empty or broken.
func Load(src Source, rep *Report, env func(string) (string, bool)) (*Node, error) {
	l := includer{src: src, rep: rep, env: env}
	return l.load(src.Main)
}

// Parse makes a tree of one file's text, without what it includes.
func Parse(rep *Report, file string, data []byte) *Node {
	b := builder{rep: rep, file: file}
	return b.parse(data)
}

// includer reads a file and what it includes into one tree.
type includer struct {
	src   Source
	rep   *Report
	env   func(string) (string, bool)
	build builder
	open  []string // files being read, outermost first
	count int
}

// load reads name. The first file's own error is returned, those of included
// ones are reported where they are included.
func (l *includer) load(name string) (*Node, error) {
	data, err := l.src.Read(name, MaxFileBytes)
	if err != nil {
		return nil, err
	}
	l.open = append(l.open, name)
	defer func() { l.open = l.open[:len(l.open)-1] }()
	l.build.rep, l.build.file = l.rep, name
	root := l.build.parse(data)
	if root.IsNull() {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		l.rep.Addf(problem.Document, root.At, "a configuration is a mapping of sections, such as \"server:\"")
		return nil, nil
	}
	inc := root.Get("include")
	if inc == nil {
		return root, nil
	}
	var base *Node
	for _, one := range l.list(inc) {
		base = overlay(base, l.include(one))
	}
	root.Fields = slices.DeleteFunc(root.Fields, func(f Field) bool { return f.Key == "include" })
	return overlay(base, root), nil
}

func (l *includer) list(inc *Field) []*Node {
	if inc.Val.Kind == yaml.SequenceNode {
		return inc.Val.Items
	}
	return []*Node{inc.Val}
}

func (l *includer) include(n *Node) *Node {
	if n.Kind != yaml.ScalarNode || n.IsNull() {
		l.rep.Addf(problem.Include, n.At, "include takes a file name or a list of file names")
		return nil
	}
	name, bad := Expand(n.Value, l.env)
	if bad != "" {
		l.rep.Addf(problem.Variable, n.At, "include: %s", bad)
		return nil
	}
	full := l.src.Resolve(name, n.At)
	names := []string{full}
	if strings.ContainsAny(name, "*?[") {
		var err error
		if names, err = l.src.glob(full); err != nil {
			l.rep.Addf(problem.Include, n.At, "include: %q is no file pattern", Clip(n.Value))
			return nil
		}
	}
	var out *Node
	for _, one := range names {
		if slices.Contains(l.open, one) {
			l.rep.Addf(problem.Include, n.At, "include: %s includes itself", one)
			continue
		}
		if l.count++; l.count > maxIncludes {
			l.rep.Addf(problem.TooLarge, n.At, "include: more than %d files", maxIncludes)
			return out
		}
		root, err := l.load(one)
		if err != nil {
			l.rep.Addf(problem.FileMissing, n.At, "include: can't read %s: %s", one, Reason(err))
		}
		out = overlay(out, root)
	}
	return out
}

// overlay puts over onto base: mappings key by key, anything else whole.
func overlay(base, over *Node) *Node {
	if base == nil || over == nil || base.Kind != yaml.MappingNode || over.Kind != yaml.MappingNode {
		if over == nil {
			return base
		}
		return over
	}
	out := *base
	out.Fields = slices.Clone(base.Fields)
	for _, f := range over.Fields {
		if have := out.Get(f.Key); have != nil {
			f.Val = overlay(have.Val, f.Val)
			*have = f
		} else {
			out.Fields = append(out.Fields, f)
		}
	}
	return &out
}
