package js

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-bot/parley/internal/tool"
)

// Databases are the named data sources of ctx.db.
type Databases interface {
	// Has tells whether there is one of that name.
	Has(name string) bool
	// Run makes one statement in a transaction of its own, read-only unless
	// write. An error with a method Code() string tells its kind to the
	// script; its text is told to the model, as what a script throws is. One
	// with OutcomeUnknown() bool that says true marks a statement that may
	// have taken effect.
	Run(ctx context.Context, name, statement string, params map[string]json.RawMessage, write bool) (Rows, error)
}

// Rows answer a statement.
type Rows struct {
	Columns  []string // nil where it gives no rows
	Rows     [][]json.RawMessage
	Affected int64
}

// wireStatement is a statement as the runtime's JavaScript writes it.
type wireStatement struct {
	Source string                     `json:"source"`
	SQL    string                     `json:"sql"`
	Params map[string]json.RawMessage `json:"params"`
	Write  bool                       `json:"write"`
}

type wireRows struct {
	Rows     []json.RawMessage `json:"rows"`
	Affected int64             `json:"affected"`
	Error    *string           `json:"error,omitempty"`
	Code     string            `json:"code,omitempty"`
}

// hasSource refuses a name that isn't configured, at once.
func (m *Module) hasSource(name string) error {
	if m.opts.DB == nil || !m.opts.DB.Has(name) {
		return fmt.Errorf("ctx.db: there is no data source named %q", name)
	}
	return nil
}

// statement starts one; its answer arrives in the call's loop, as that of a
// request.
func (r *run) statement(id, text string) error {
	var w wireStatement
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return fmt.Errorf("ctx.db: the parameters are an object of names and values: %w", err)
	}
	if err := r.m.hasSource(w.Source); err != nil {
		return err
	}
	if w.Write && !r.writes {
		return fmt.Errorf("ctx.db.%s.exec: only the handler of a tool whose effect isn't read may write", w.Source)
	}
	if len(r.fetches) >= maxFetches {
		return fmt.Errorf("ctx.db: more than %d statements and requests at once", maxFetches)
	}
	r.fetched, r.effects = r.fetched || w.Write, r.effects || w.Write
	ctx, stop := context.WithCancel(r.ctx)
	r.fetches[id] = request{stop, w.Write}
	r.m.calls.Go(func() {
		defer stop()
		rows, err := r.m.runSafely(ctx, w)
		if err != nil {
			r.m.log.Warn("statement of script tool failed", "tool", r.call.Tool, "call_id", r.call.ID, "source", w.Source, "error", r.m.masks.mask(detail(err)))
		}
		a := arrival{id: id, text: wireAnswer(rows, err, r.m.masks.mask)}
		if unknown, ok := errors.AsType[outcomeUnknown](err); ok && w.Write && unknown.OutcomeUnknown() {
			a.unknown = true
		}
		select {
		case r.arrived <- a:
		case <-ctx.Done():
		}
	})
	return nil
}

func (m *Module) runSafely(ctx context.Context, w wireStatement) (rows Rows, err error) {
	defer func() {
		if p := recover(); p != nil {
			m.log.Error("statement failed", "source", w.Source, "error", fmt.Sprint(p))
			err = errors.New("the statement could not be run")
		}
	}()
	return m.opts.DB.Run(ctx, w.Source, w.SQL, w.Params, w.Write)
}

// detail is what the operator may know beyond the text of an error.
func detail(err error) string {
	if inner := errors.Unwrap(err); inner != nil {
		return inner.Error()
	}
	return err.Error()
}

func wireAnswer(rows Rows, err error, mask func(string) string) string {
	w := wireRows{Rows: []json.RawMessage{}, Affected: rows.Affected}
	for _, row := range rows.Rows {
		var object json.RawMessage
		if object, err = rowObject(rows.Columns, row); err != nil {
			break
		}
		w.Rows = append(w.Rows, object)
	}
	if err != nil {
		text := mask(err.Error())
		w = wireRows{Error: &text}
		if c, ok := errors.AsType[interface {
			error
			Code() string
		}](err); ok {
			w.Code = c.Code()
		}
	}
	b, _ := json.Marshal(w) // its raw parts are valid JSON
	return string(b)
}

// rowObject makes an object of a row. A number that a script can't hold exactly
// becomes a text; within a value there is nothing that could take its place.
func rowObject(columns []string, row []json.RawMessage) (json.RawMessage, error) {
	b := []byte{'{'}
	for i, v := range row {
		if path, found := inexact(v); found && path == "" {
			v = json.RawMessage(`"` + string(v) + `"`)
		} else if found {
			return nil, fmt.Errorf("a script can't hold the number at %s exactly: select it as a text", tool.Pointer(columns[i])+path)
		}
		key, err := json.Marshal(columns[i])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, key...), ':'), v...)
	}
	return append(b, '}'), nil
}
