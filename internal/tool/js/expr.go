package js

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/parley-bot/parley/internal/tool"
)

// Code is a JavaScript expression; an empty Text is none.
type Code struct {
	Text string
	// Place tells where a line and column of Text, both from 1, are written,
	// for messages; nil: nobody knows.
	Place func(line, column int) (file string, fileLine, fileColumn int)
}

func (c Code) given() bool { return strings.TrimSpace(c.Text) != "" }

// Expr are the expressions over args and ctx that a tool declared in YAML may
// have (behaviour E2). One that gives a function is called with args and ctx.
type Expr struct {
	ConfirmWhen  Code // truthy asks a person first
	ConfirmLines Code // a list of strings, or one text
	// ConfirmMessage gives a text, or is one: see IsExpression. In a text
	// {name} is that argument, as the default question writes it.
	ConfirmMessage Code
	// Result makes a result of an answer; it sees body, status and headers too.
	Result Code
	// Labels are the tool's: ctx.labels, and what {name} reads.
	Labels map[string]map[string]string
}

// IsExpression tells a confirm_message that is JavaScript from one that is
// prose: JavaScript begins with a quote or names args or ctx.
func IsExpression(message string) bool {
	return regexp.MustCompile("^\\s*[\"'`]|\\b(args|ctx)\\s*(\\.|\\[|\\?\\.)\\s*[\\w$\"'`\\[]|\\bargs\\b[^=]*=>").MatchString(message)
}

// Asker is the side of a tool that questions are made from.
type Asker interface {
	tool.Predicate
	tool.Liner
	tool.Messager
}

// Answered is an Asker that also makes results of answers.
type Answered interface {
	Asker
	// Result runs the expression of that name over an answer, the JSON
	// object {args, body, status, headers}. A nil value is none ("ok").
	Result(ctx context.Context, call tool.Call, answer json.RawMessage) (value json.RawMessage, err error)
}

type expression struct{ *runner }

var _ Answered = expression{}

func (e expression) Result(ctx context.Context, call tool.Call, answer json.RawMessage) (json.RawMessage, error) {
	call.Args, call.Raw = answer, nil
	v, err := e.ask(ctx, "handler", "result", call)
	if err != nil || v == "" {
		return nil, err
	}
	return json.RawMessage(v), nil
}

// Expressions makes a module of the expressions of all declared tools, by the
// tools' names, and what asks with each. A broken expression is an [*Error] at
// its place, or whose File names tool and key where that isn't known. The
// module must be closed.
func Expressions(ctx context.Context, exprs map[string]Expr, opts Options) (*Module, map[string]Answered, error) {
	w := &exprWriter{}
	w.line(owner{}, "import { argLines, money, summarize } from 'parley'")
	w.line(owner{}, "const __value = (v, ...a) => typeof v === 'function' ? v(...a) : v")
	w.line(owner{}, "export const tools = {")
	for _, name := range slices.Sorted(maps.Keys(exprs)) {
		if err := w.tool(name, exprs[name]); err != nil {
			return nil, nil, err
		}
	}
	w.line(owner{}, "}")
	const file = "expressions.js"
	m, err := load(ctx, Source{path: file, text: w.text.String()}, opts, w.place)
	if err != nil {
		return nil, nil, err
	}
	askers := map[string]Answered{}
	for _, t := range m.Tools() {
		if r, ok := t.Runner.(*runner); ok {
			askers[t.Name] = expression{r}
		}
	}
	return m, askers, nil
}

// owner is whose a line of the module is.
type owner struct {
	key  string // TOOL.KEY; "" is nobody's
	code Code
	line int // of the code, from 1; 0 is around it
}

// exprWriter writes the module and remembers whose each line is.
type exprWriter struct {
	text   strings.Builder
	owners []owner
}

func (w *exprWriter) line(o owner, text string) {
	w.text.WriteString(text + "\n")
	w.owners = append(w.owners, o)
}

func (w *exprWriter) tool(name string, e Expr) error {
	key, err := json.Marshal(name)
	if err != nil {
		return fmt.Errorf("tool %s: %w", name, err)
	}
	labels, err := json.Marshal(e.Labels)
	if err != nil {
		return fmt.Errorf("tool %s: %w", name, err)
	}
	w.line(owner{}, fmt.Sprintf("%s: { schema: {}, labels: %s ?? undefined,", key, labels))
	w.code(name+".confirm_when", "confirm", "args, ctx", e.ConfirmWhen)
	w.code(name+".confirm_lines", "confirmLines", "args, ctx", e.ConfirmLines)
	if IsExpression(e.ConfirmMessage.Text) {
		w.code(name+".confirm_message", "confirmMessage", "args, ctx", e.ConfirmMessage)
	} else if e.ConfirmMessage.given() {
		w.line(owner{}, "confirmMessage: (args, ctx) => "+template(e.ConfirmMessage.Text)+",")
	}
	if e.Result.given() {
		w.code(name+".result", "handler", "{ args, body, status, headers }, ctx", e.Result)
	} else {
		w.line(owner{}, "handler() {},")
	}
	w.line(owner{}, "},")
	return nil
}

func (w *exprWriter) code(key, field, params string, c Code) {
	if !c.given() {
		return
	}
	o := owner{key: key, code: c}
	w.line(o, fmt.Sprintf("%s: (%s) => __value((", field, params))
	for i, line := range strings.Split(c.Text, "\n") {
		w.line(owner{key, c, i + 1}, line)
	}
	// On a line of its own: a comment may end the expression.
	w.line(o, "), args, ctx),")
}

// template makes an expression of a text with {name} placeholders.
func template(text string) string {
	parts := []string{`""`}
	for _, p := range tool.LoosePieces(text) {
		if p.Name == "" {
			lit, _ := json.Marshal(p.Text) // a string always encodes
			parts = append(parts, string(lit))
			continue
		}
		name, _ := json.Marshal(p.Name) // likewise
		// summarize finds an argument's labels by its key, which it isn't told.
		parts = append(parts, fmt.Sprintf("summarize(args[%[1]s], ctx, { ...ctx.labels, '': ctx.labels?.[%[1]s] })", name))
	}
	return strings.Join(parts, " + ")
}

// place says which expression is wrong instead of a line of a file that
// nobody wrote.
func (w *exprWriter) place(e *Error) *Error {
	if e.Line < 1 || e.Line > len(w.owners) || w.owners[e.Line-1].key == "" {
		return w.culprit(e)
	}
	o := w.owners[e.Line-1]
	out := &Error{File: "tools." + o.key, Message: e.Message}
	if o.code.Place == nil {
		return out
	}
	line, column := o.line, e.Column
	if line == 0 { // around the expression: it begins or ends wrongly
		line, column = 1, 1
		if e.Line > 1 && w.owners[e.Line-2].key == o.key && w.owners[e.Line-2].line > 0 {
			line = w.owners[e.Line-2].line
		}
	}
	out.File, out.Line, out.Column = o.code.Place(line, cmp.Or(column, 1))
	out.Message = "tools." + o.key + ": " + e.Message
	return out
}

// culprit finds the expression that doesn't end, such as an open template, so
// that the mistake was met in lines that are nobody's.
func (w *exprWriter) culprit(e *Error) *Error {
	for _, o := range w.owners {
		if o.line != 1 {
			continue
		}
		r := api.Transform("(\n"+o.code.Text+"\n)", api.TransformOptions{Loader: api.LoaderTS, LogLevel: api.LogLevelSilent})
		if len(r.Errors) == 0 {
			continue
		}
		out := &Error{File: "tools." + o.key, Message: r.Errors[0].Text}
		if o.code.Place != nil {
			line, column := 1, 1
			if at := r.Errors[0].Location; at != nil && at.Line >= 2 && at.Line-1 <= strings.Count(o.code.Text, "\n")+1 {
				line, column = at.Line-1, at.Column+1
			}
			out.File, out.Line, out.Column = o.code.Place(line, column)
			out.Message = "tools." + o.key + ": " + out.Message
		}
		return out
	}
	return e
}

// placed applies place to each part of an error that has one.
func placed(err error, place func(*Error) *Error) error {
	if err == nil || place == nil {
		return err
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if e, ok := errors.AsType[*Error](err); ok {
			return place(e)
		}
		return err
	}
	var out []error
	for _, one := range joined.Unwrap() {
		out = append(out, placed(one, place))
	}
	return errors.Join(out...)
}
