package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-bot/parley/internal/tool/js"
	sqltool "github.com/parley-bot/parley/internal/tool/sql"
)

var _ js.Databases = databases(nil)

// databases are ctx.db of scripts: the data sources of SQL tools.
type databases map[string]*sqltool.Source

func (d databases) Has(name string) bool { return d[name] != nil }

// Run makes one statement. Unlike a tool's, its rows are never cut: a script
// that computes with a part of them would be wrong without knowing.
func (d databases) Run(ctx context.Context, name, statement string, params map[string]json.RawMessage, write bool) (js.Rows, error) {
	const maxRows, maxBytes = 10_000, 4 << 20 // within a runtime's memory
	s := d[name]
	q, err := sqltool.Parse(s.Dialect(), statement)
	if err != nil {
		return js.Rows{}, &statementError{"ctx.db." + name + ": " + err.Error(), &sqltool.Error{Kind: sqltool.Refused, Err: err}}
	}
	for _, p := range q.Names {
		if _, ok := params[p]; !ok {
			err := fmt.Errorf("the parameter :%s has no value", p)
			return js.Rows{}, &statementError{"ctx.db." + name + ": " + err.Error(), &sqltool.Error{Kind: sqltool.Refused, Err: err}}
		}
	}
	a, err := s.Run(ctx, sqltool.Statement{Query: q, Params: params, Write: write, Limits: sqltool.Limits{Rows: maxRows, Bytes: maxBytes}})
	if e, ok := errors.AsType[*sqltool.Error](err); ok {
		return js.Rows{}, &statementError{e.Told(), e}
	} else if err != nil {
		return js.Rows{}, err
	}
	if a.Cut && !write {
		err := fmt.Errorf("ctx.db.%s: more than %d rows or %d MiB: narrow the statement", name, maxRows, maxBytes>>20)
		return js.Rows{}, &statementError{err.Error(), &sqltool.Error{Kind: sqltool.TooLarge, Err: err}}
	}
	return js.Rows{Columns: a.Columns, Rows: a.Rows, Affected: a.Affected}, nil
}

// statementError is what a script catches; the operator's log has the cause.
type statementError struct {
	text  string
	cause *sqltool.Error
}

func (e *statementError) Error() string { return e.text }

func (e *statementError) Unwrap() error { return e.cause }

// Code is the kind, for scripts that go by it.
func (e *statementError) Code() string { return string(e.cause.Kind) }

// OutcomeUnknown is the cause's.
func (e *statementError) OutcomeUnknown() bool { return e.cause.OutcomeUnknown() }
