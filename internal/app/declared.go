package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/egress"
	"github.com/parley-bot/parley/internal/tool"
	httptool "github.com/parley-bot/parley/internal/tool/http"
	"github.com/parley-bot/parley/internal/tool/js"
)

// expressions compiles those of all declared tools, into one module of the
// set: none where there are none.
func expressions(ctx context.Context, cfg *config.Config, set *toolset, opts js.Options) (map[string]js.Answered, error) {
	exprs := map[string]js.Expr{}
	var errs []error
	for _, c := range cfg.Tools.Named {
		e := js.Expr{
			ConfirmWhen: code(c.ConfirmWhen), ConfirmLines: code(c.ConfirmLines), ConfirmMessage: code(c.ConfirmMessage), Labels: c.Labels,
		}
		if e.ConfirmWhen.Text == "" && e.ConfirmLines.Text == "" && e.ConfirmMessage.Text == "" {
			continue
		}
		errs = append(errs, placeholders(c))
		exprs[c.Name] = e
	}
	if len(exprs) == 0 {
		return nil, nil
	}
	m, asked, err := js.Expressions(ctx, exprs, opts)
	if err != nil {
		return nil, errors.Join(append(errs, err)...)
	}
	set.modules = append(set.modules, m)
	return asked, errors.Join(errs...)
}

func code(c config.Code) js.Code {
	return js.Code{Text: c.Text, Place: func(line, column int) (string, int, int) {
		p := c.Place(line, column)
		return p.File, p.Line, p.Col
	}}
}

// placeholders checks those of a confirm_message that is a text.
func placeholders(c config.Tool) error {
	if js.IsExpression(c.ConfirmMessage.Text) {
		return nil
	}
	args, open := tool.ArgumentNames(c.Schema)
	for _, p := range tool.LoosePieces(c.ConfirmMessage.Text) {
		if p.Name != "" && !open && !slices.Contains(args, p.Name) {
			return fmt.Errorf("%s: tools.%s.confirm_message: the placeholder {%s} is no argument in the schema", c.ConfirmMessage.At, c.Name, p.Name)
		}
	}
	return nil
}

// questioned is a declared tool with expressions for its question.
type questioned struct {
	tool.Runner
	js.Asker
}

// declared makes a tool that the configuration describes; asked is nil where it
// has no expressions.
func declared(c config.Tool, guard *egress.Guard, asked js.Answered, log *slog.Logger) (tool.Tool, error) {
	t := tool.Tool{
		Name: c.Name, Kind: "http", Title: c.Title, Description: c.Description, Schema: c.Schema, Labels: c.Labels,
		Confirm: c.Confirm, Timeout: c.Timeout, Effect: tool.Effect(c.Effect),
	}
	t.Dedupe = time.Duration(c.Dedupe)
	if c.HTTP == nil {
		return t, errors.New("needs the section http")
	}
	hc := httptool.Config{
		Name: c.Name, Method: c.HTTP.Method, URL: c.HTTP.URL, Headers: c.HTTP.Headers, Bind: c.HTTP.Bind,
		Schema: c.Schema, Effect: t.Effect, Log: log,
	}
	r, err := httptool.New(hc, guard)
	if err != nil {
		return t, err
	}
	t.Runner, t.Effect = r, r.Effect()
	if asked != nil {
		t.Runner = questioned{r, asked}
	}
	t.Digest = tool.Digest(&t, slices.Concat(hc.Code(), questions(c))...)
	return t, nil
}

// questions are the expressions that a person's approval rests on; none where
// there are none.
func questions(c config.Tool) []string {
	if c.ConfirmWhen.Text+c.ConfirmLines.Text+c.ConfirmMessage.Text == "" {
		return nil
	}
	return []string{"confirm", c.ConfirmWhen.Text, c.ConfirmLines.Text, c.ConfirmMessage.Text}
}
