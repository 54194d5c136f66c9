package script

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v4"
)

// document is a script as it is written.
type document struct {
	Rules     []ruleDoc                `yaml:"rules"`
	Extract   map[string]*extractorDoc `yaml:"extract"`
	Lists     map[string]*listDoc      `yaml:"lists"`
	Languages []languageDoc            `yaml:"languages"`
}

type ruleDoc struct {
	pos
	ruleFields
}

type ruleFields struct {
	When  whenDoc   `yaml:"when"`
	Say   textsDoc  `yaml:"say"`
	Call  *callDoc  `yaml:"call"`
	Calls []callDoc `yaml:"calls"`
	Stop  scalar    `yaml:"stop"`
	Error scalar    `yaml:"error"`
	After scalar    `yaml:"after"`
	Delay scalar    `yaml:"delay"`
	Pace  scalar    `yaml:"pace"`
}

func (d *ruleDoc) UnmarshalYAML(n *yaml.Node) error {
	d.pos = at(n)
	return n.Load(&d.ruleFields, yaml.WithKnownFields())
}

type whenDoc struct {
	Last      scalar  `yaml:"last"`
	Text      scalar  `yaml:"text"`
	AllText   scalar  `yaml:"all_text"`
	Assistant scalar  `yaml:"assistant"`
	System    scalar  `yaml:"system"`
	Tool      scalar  `yaml:"tool"`
	Result    scalar  `yaml:"result"`
	Failed    *bool   `yaml:"failed"`
	Has       scalars `yaml:"has"`
	Lacks     scalars `yaml:"lacks"`
	Lang      scalar  `yaml:"lang"`
}

type callDoc struct {
	Tool scalar    `yaml:"tool"`
	Args yaml.Node `yaml:"args"`
}

type extractorDoc struct {
	pos
	extractorFields
}

type extractorFields struct {
	From     scalar             `yaml:"from"`
	Words    map[string]scalars `yaml:"words"`
	Numbers  scalars            `yaml:"numbers"`
	Key      scalar             `yaml:"key"`
	Quantity scalar             `yaml:"quantity"`
	Default  *int               `yaml:"default"`
	Pattern  scalar             `yaml:"pattern"`
	Numeric  bool               `yaml:"numeric"`
}

func (d *extractorDoc) UnmarshalYAML(n *yaml.Node) error {
	d.pos = at(n)
	return n.Load(&d.extractorFields, yaml.WithKnownFields())
}

type listDoc struct {
	pos
	listFields
}

type listFields struct {
	Each   scalar            `yaml:"each"`
	Line   textsDoc          `yaml:"line"`
	Join   scalar            `yaml:"join"`
	Empty  textsDoc          `yaml:"empty"`
	Labels map[string]scalar `yaml:"labels"`
}

func (d *listDoc) UnmarshalYAML(n *yaml.Node) error {
	d.pos = at(n)
	return n.Load(&d.listFields, yaml.WithKnownFields())
}

type languageDoc struct {
	Lang    scalar `yaml:"lang"`
	Text    scalar `yaml:"text"`
	AllText scalar `yaml:"all_text"`
	System  scalar `yaml:"system"`
}

// pos is where something stands in the file.
type pos struct{ line, column int }

func at(n *yaml.Node) pos { return pos{n.Line, n.Column} }

// placedError is what is wrong, and where.
type placedError struct {
	pos
	err error
}

func (e *placedError) Error() string { return e.err.Error() }
func (e *placedError) Unwrap() error { return e.err }

func (p pos) errorf(format string, args ...any) error {
	return &placedError{p, fmt.Errorf(format, args...)}
}

// scalar is a text that knows where it stands. A number or a bool is the text
// it is written as.
type scalar struct {
	pos
	text string
	set  bool
}

func (s *scalar) UnmarshalYAML(n *yaml.Node) error {
	s.pos = at(n)
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return s.errorf("a text is wanted here")
	}
	s.text, s.set = n.Value, true
	return nil
}

// scalars is one text or a list of them.
type scalars []scalar

func (s *scalars) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		var list []scalar
		err := n.Load(&list)
		*s = list
		return err
	}
	var one scalar
	err := one.UnmarshalYAML(n)
	*s = scalars{one}
	return err
}

// textsDoc is one text, or texts by language in their order.
type textsDoc struct {
	pos
	langs []string
	texts []scalar
}

func (d *textsDoc) UnmarshalYAML(n *yaml.Node) error {
	d.pos = at(n)
	if n.Kind != yaml.MappingNode {
		var one scalar
		err := one.UnmarshalYAML(n)
		d.langs, d.texts = []string{""}, []scalar{one}
		return err
	}
	var byLang map[string]scalar // catches keys that are there twice
	if err := n.Load(&byLang); err != nil {
		return err
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		lang := n.Content[i].Value
		text, ok := byLang[lang]
		if !ok {
			return at(n.Content[i]).errorf("a text by language is wanted here")
		}
		d.langs, d.texts = append(d.langs, lang), append(d.texts, text)
	}
	if len(d.texts) == 0 {
		return d.errorf("a text, or texts by language, are wanted here")
	}
	return nil
}

func (d textsDoc) set() bool { return len(d.texts) > 0 }

// parse reads the file's YAML. Each error begins with FILE:LINE:COLUMN.
func parse(data []byte, file string) (*document, error) {
	var node yaml.Node
	if err := yaml.Load(data, &node); err != nil {
		return nil, located(file, err)
	}
	var doc document
	var into any = &doc
	if len(node.Content) == 1 && node.Content[0].Kind == yaml.SequenceNode {
		into = &doc.Rules
	}
	if err := node.Load(into, yaml.WithKnownFields()); err != nil {
		return nil, located(file, err)
	}
	return &doc, nil
}

// located puts the place in front of each error.
func located(file string, err error) error {
	if many, ok := errors.AsType[*yaml.LoadErrors](err); ok {
		var all []error
		for _, one := range many.Errors {
			all = append(all, place(file, one))
		}
		return errors.Join(all...)
	}
	return place(file, err)
}

func place(file string, err error) error {
	if placed, ok := errors.AsType[*placedError](err); ok {
		return fmt.Errorf("%s:%d:%d: %w", file, placed.line, placed.column, placed.err)
	}
	if load, ok := errors.AsType[*yaml.LoadError](err); ok && load.Mark.Line > 0 {
		return fmt.Errorf("%s:%d:%d: %s", file, load.Mark.Line, load.Mark.Column, load.Message)
	}
	return fmt.Errorf("%s: %w", file, err)
}
