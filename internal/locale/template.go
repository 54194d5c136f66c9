package locale

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Arg is a value for a placeholder.
type Arg struct {
	Name  string // without braces
	Value string
}

// template is a text taken apart at its placeholders, so that braces in
// values can't be taken for placeholders.
type template []segment

// segment is literal text, or a placeholder where name isn't "".
type segment struct {
	literal string
	name    string
}

// parse takes text apart. Only {letters} is a placeholder; other braces are
// themselves.
func parse(text string, allowed []string) (template, error) {
	var t template
	last := 0
	for _, m := range regexp.MustCompile(`\{([A-Za-z_]+)\}`).FindAllStringSubmatchIndex(text, -1) {
		name := text[m[2]:m[3]]
		if !slices.Contains(allowed, name) {
			return nil, unknownPlaceholder(name, allowed)
		}
		if m[0] > last {
			t = append(t, segment{literal: text[last:m[0]]})
		}
		t = append(t, segment{name: name})
		last = m[1]
	}
	if last < len(text) {
		t = append(t, segment{literal: text[last:]})
	}
	return t, nil
}

func unknownPlaceholder(name string, allowed []string) error {
	if len(allowed) == 0 {
		return fmt.Errorf("unknown placeholder {%s}: this text has none", name)
	}
	return fmt.Errorf("unknown placeholder {%s}: this text has {%s}", name, strings.Join(allowed, "} {"))
}

// expand puts values in. A placeholder without a value is left out.
func (t template) expand(args []Arg) string {
	var b strings.Builder
	for _, s := range t {
		if s.name == "" {
			b.WriteString(s.literal)
			continue
		}
		if i := slices.IndexFunc(args, func(a Arg) bool { return a.Name == s.name }); i >= 0 {
			b.WriteString(args[i].Value)
		}
	}
	return b.String()
}
