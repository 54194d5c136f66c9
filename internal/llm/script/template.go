package script

import (
	"fmt"
	"regexp"
	"strings"
)

// ref is what a placeholder names.
type ref struct {
	text     string // as written, for errors
	root     root
	index    int    // of a group, an extractor or a list
	tool     string // of last and args
	path     []string
	optional bool
	// field is the whole path of a name in a line, where an element's own
	// field comes first.
	field []string
}

type root int

const (
	rootNone root = iota // only an element's field
	rootGroup
	rootUser
	rootResult
	rootLast
	rootArgs
	rootExtractor
	rootList
	rootCount // {n} in a line
	rootElement
)

// names is what placeholders may name where a text stands.
type names struct {
	extractors map[string]int
	lists      map[string]int
	groups     map[string]int // by number and by name
	line       bool           // within a line of a list
}

// parseRef reads a.b.c; the error says what may stand there.
func (n names) parseRef(text string) (ref, error) {
	r := ref{text: text}
	name, optional := strings.CutSuffix(text, "?")
	r.optional = optional
	steps := strings.Split(name, ".")
	if n.line {
		r.field = steps
	}
	rest := steps[1:]
	switch head := steps[0]; {
	case head == "user":
		r.root = rootUser
	case head == "result":
		r.root = rootResult
	case head == "last" || head == "args":
		if len(rest) == 0 {
			return r, fmt.Errorf("{%s}: which tool? {%s.TOOL}", text, head)
		}
		r.root, r.tool, rest = rootLast, rest[0], rest[1:]
		if head == "args" {
			r.root = rootArgs
		}
	case n.line && head == "n":
		r.root = rootCount
	case n.line && head == "it":
		r.root = rootElement
	default:
		if i, ok := n.extractors[head]; ok {
			r.root, r.index = rootExtractor, i
		} else if i, ok := n.lists[head]; ok {
			r.root, r.index = rootList, i
		} else if i, ok := n.groups[head]; ok {
			r.root, r.index = rootGroup, i
		} else if !n.line {
			return r, fmt.Errorf("{%s}: no group of this rule, no extractor and no list is called %q", text, head)
		}
	}
	r.path = rest
	return r, nil
}

// template is a text with placeholders: literals and refs in turn.
type template struct {
	literals []string // one more than refs
	refs     []ref
}

// single returns the ref of a text that is one placeholder and nothing else.
func (t template) single() (ref, bool) {
	if len(t.refs) == 1 && t.literals[0] == "" && t.literals[1] == "" {
		return t.refs[0], true
	}
	return ref{}, false
}

// parser reads templates. It holds the one expression for placeholders.
type parser struct{ placeholder *regexp.Regexp }

func newParser() parser {
	return parser{regexp.MustCompile(`^\{([\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*\??)\}`)}
}

func (p parser) parse(text string, n names) (template, error) {
	var t template
	var literal strings.Builder
	for i := 0; i < len(text); {
		switch {
		case strings.HasPrefix(text[i:], "{{"), strings.HasPrefix(text[i:], "}}"):
			literal.WriteByte(text[i])
			i += 2
		case text[i] == '{':
			found := p.placeholder.FindStringSubmatch(text[i:])
			if found == nil {
				literal.WriteByte('{')
				i++
				continue
			}
			r, err := n.parseRef(found[1])
			if err != nil {
				return template{}, err
			}
			t.literals = append(t.literals, literal.String())
			t.refs = append(t.refs, r)
			literal.Reset()
			i += len(found[0])
		default:
			literal.WriteByte(text[i])
			i++
		}
	}
	t.literals = append(t.literals, literal.String())
	return t, nil
}

// texts is a template by language; the first is for the others.
type texts []struct {
	lang string
	template
}

func (t texts) in(lang string) template {
	for _, text := range t {
		if text.lang == lang {
			return text.template
		}
	}
	return t[0].template
}
