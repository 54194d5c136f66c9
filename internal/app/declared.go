package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/problem"
	"github.com/parley-bot/parley/internal/tool"
	httptool "github.com/parley-bot/parley/internal/tool/http"
	"github.com/parley-bot/parley/internal/tool/js"
	sqltool "github.com/parley-bot/parley/internal/tool/sql"
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
		if c.HTTP != nil && !c.HTTP.Result.Pointer() {
			e.Result = code(c.HTTP.Result)
		}
		if e.Result.Text == "" && e.ConfirmWhen.Text == "" && e.ConfirmLines.Text == "" && e.ConfirmMessage.Text == "" {
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

// kind is a declared tool of some kind.
type kind interface {
	tool.Runner
	Effect() tool.Effect
}

// declared makes a tool that the configuration describes; asked is nil where it
// has no expressions.
func declared(c config.Tool, set *toolset, asked js.Answered, log *slog.Logger) (tool.Tool, error) {
	t := tool.Tool{
		Name: c.Name, Title: c.Title, Description: c.Description, Schema: c.Schema, Labels: c.Labels,
		Confirm: c.Confirm, Dedupe: time.Duration(c.Dedupe), Timeout: c.Timeout,
	}
	var r kind
	var code []string
	var err error
	switch {
	case c.HTTP != nil:
		t.Kind = "http"
		hc := httpConfig(c, asked)
		hc.Log, code = log, hc.Code()
		r, err = httptool.New(hc, set.guard)
	case c.SQL != nil:
		t.Kind = "sql"
		name := c.SQL.Source
		if name == "" && len(set.sources) == 1 {
			name = slices.Collect(maps.Keys(set.sources))[0]
		}
		s, ok := set.sources[name]
		if !ok {
			return t, fmt.Errorf("there is no data source %q", name)
		}
		sc := sqlConfig(c)
		sc.Log, code = log, sc.Code(name)
		r, err = sqltool.NewTool(sc, s)
	default:
		err = errors.New("needs the section http or sql")
	}
	if err != nil {
		return t, err
	}
	t.Runner, t.Effect = r, r.Effect()
	if asked != nil {
		t.Runner = questioned{r, asked}
	}
	t.Digest = tool.Digest(&t, slices.Concat(code, questions(c))...)
	return t, nil
}

// placed tells each mistake of a declared tool at its key.
func placed(c config.Tool, err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var each []error
		for _, one := range many.Unwrap() {
			each = append(each, placed(c, one))
		}
		return errors.Join(each...)
	}
	at := c.Pos
	if k, ok := errors.AsType[*tool.KeyError](err); ok {
		at = c.Place(map[bool]string{true: "http.", false: "sql."}[c.HTTP != nil] + k.Key())
	}
	return problem.Tool.Errorf("%s: tool %s: %w", at, c.Name, err)
}

func sqlConfig(c config.Tool) sqltool.Config {
	return sqltool.Config{
		Name: c.Name, Query: c.SQL.Query, Bind: c.SQL.Bind, Result: c.SQL.Result, MaxRows: c.SQL.MaxRows,
		Schema: c.Schema, Effect: tool.Effect(c.Effect),
	}
}

func httpConfig(c config.Tool, asked js.Answered) httptool.Config {
	h := c.HTTP
	out := httptool.Config{
		Name: c.Name, Method: h.Method, URL: h.URL, Headers: h.Headers, Body: json.RawMessage(h.Body), Form: h.Encoding == "form",
		Bind: h.Bind, Schema: c.Schema, Effect: tool.Effect(c.Effect), Auth: httptool.Auth{Bearer: h.Auth.Bearer},
	}
	if b := h.Auth.Basic; b != nil {
		out.Auth.User, out.Auth.Password = b.User, b.Password
	}
	if m := h.Auth.HMAC; m != nil {
		out.Auth.HMAC, out.Auth.Header, out.Auth.Prefix = m.Secret, m.Header, m.Prefix
	}
	if h.Result.Pointer() {
		out.Pointer = strings.TrimSpace(h.Result.Text)
	} else if h.Result.Text != "" {
		out.Map = asked
	}
	for _, st := range h.Status {
		out.Status = append(out.Status, httptool.Status{Match: st.Match, Error: st.Error, Result: st.Result})
	}
	return out
}

// questions are the expressions that a person's approval rests on; none where
// there are none.
func questions(c config.Tool) []string {
	var result string
	if c.HTTP != nil && !c.HTTP.Result.Pointer() {
		result = c.HTTP.Result.Text
	}
	if c.ConfirmWhen.Text+c.ConfirmLines.Text+c.ConfirmMessage.Text+result == "" {
		return nil
	}
	return []string{"confirm", c.ConfirmWhen.Text, c.ConfirmLines.Text, c.ConfirmMessage.Text, "result", result}
}
