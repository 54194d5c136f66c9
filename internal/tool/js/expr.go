package js

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/parley-bot/parley/internal/tool"
)

// Expr are the JavaScript expressions over args and ctx that a tool declared
// in YAML may have (behaviour E2); "" is none.
type Expr struct {
	ConfirmWhen    string // truthy asks a person first
	ConfirmLines   string // a list of strings, or one text
	ConfirmMessage string // a text
}

// Asker is the side of a tool that questions are made from.
type Asker interface {
	tool.Predicate
	tool.Liner
	tool.Messager
}

// Expressions makes a module of the expressions of all declared tools, by the
// tools' names, and what asks with each. A broken expression is an [*Error]
// whose File names tool and key. The module must be closed.
func Expressions(ctx context.Context, exprs map[string]Expr, opts Options) (*Module, map[string]Asker, error) {
	var b strings.Builder
	var owners []string // of each line of the module
	line := func(owner, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		b.WriteString(text + "\n")
		for range 1 + strings.Count(text, "\n") {
			owners = append(owners, owner)
		}
	}
	line("", "export const tools = {")
	for _, name := range slices.Sorted(maps.Keys(exprs)) {
		e := exprs[name]
		key, err := json.Marshal(name)
		if err != nil {
			return nil, nil, fmt.Errorf("tool %s: %w", name, err)
		}
		line("", "%s: { schema: {}, handler() {},", key)
		for _, part := range []struct{ key, field, text string }{
			{"confirm_when", "confirm", e.ConfirmWhen},
			{"confirm_lines", "confirmLines", e.ConfirmLines},
			{"confirm_message", "confirmMessage", e.ConfirmMessage},
		} {
			if strings.TrimSpace(part.text) != "" {
				// The line break ends a comment at the end of the expression.
				line(name+"."+part.key, "%s: (args, ctx) => (\n%s\n),", part.field, part.text)
			}
		}
		line("", "},")
	}
	line("", "}")
	const file = "expressions.js"
	m, err := Load(ctx, Source{path: file, text: b.String()}, opts)
	if err != nil {
		return nil, nil, ownErrors(err, owners)
	}
	askers := map[string]Asker{}
	for _, t := range m.Tools() {
		if a, ok := t.Runner.(Asker); ok {
			askers[t.Name] = a
		}
	}
	return m, askers, nil
}

// ownErrors says which expression is wrong instead of a line of a file that
// nobody wrote.
func ownErrors(err error, owners []string) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		joined = singleError{err}
	}
	var out []error
	for _, one := range joined.Unwrap() {
		if e, ok := errors.AsType[*Error](one); ok && e.Line > 0 && e.Line <= len(owners) && owners[e.Line-1] != "" {
			one = &Error{File: "tools." + owners[e.Line-1], Message: e.Message}
		}
		out = append(out, one)
	}
	return errors.Join(out...)
}

type singleError struct{ err error }

func (s singleError) Unwrap() []error { return []error{s.err} }
