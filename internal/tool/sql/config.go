package sqltool

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/parley-bot/parley/internal/tool"
)

// DefaultMaxRows is how many rows a tool reads.
const DefaultMaxRows = 100

// The shapes of a result.
const (
	ShapeRows  = "rows"  // {"rows": […]}, or {"affected": n} of a statement without columns
	ShapeRow   = "row"   // the first row as an object, or null
	ShapeValue = "value" // the first column of the first row, or null
)

// Config is one tool (configuration: tools.NAME.sql).
type Config struct {
	// Name is the tool's, for the log.
	Name string
	// Query is one statement with :name parameters: arguments and what is
	// bound. An argument that wasn't given is null; lists and objects are
	// JSON, or an array where PostgreSQL wants one.
	Query string
	// Bind puts what the server knows beside the arguments: name → one of
	// [tool.BindPaths].
	Bind map[string]string
	// Result is a shape; "" is rows.
	Result string
	// MaxRows bounds what is read; 0 is [DefaultMaxRows].
	MaxRows int
	// Schema is the tool's; nil takes no arguments.
	Schema json.RawMessage
	// Effect is the tool's; "" is read. Any other lets the statement write.
	Effect tool.Effect
	// Log gets what the operator should know of failed calls; nil is none.
	Log *slog.Logger
}

// Code is what a person's approval rests on beside the tool's definition, for
// [tool.Digest].
func (c Config) Code(source string) []string {
	out := []string{"sql", source, c.Query, cmp.Or(c.Result, ShapeRows), fmt.Sprint(c.MaxRows)}
	for _, name := range slices.Sorted(maps.Keys(c.Bind)) {
		out = append(out, "bind", name, c.Bind[name])
	}
	return out
}

// NewTool checks the tool. What is wrong with the configuration is in the one
// error. It does no I/O: whether tables and columns exist is known at the call.
func NewTool(c Config, s *Source) (*Runner, error) {
	r := &Runner{
		source: s, name: c.Name, log: c.Log, effect: cmp.Or(c.Effect, tool.Read), shape: cmp.Or(c.Result, ShapeRows),
		limits: Limits{Rows: cmp.Or(c.MaxRows, DefaultMaxRows), Bytes: tool.DefaultOutputCap - 200},
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	var errs []error
	var err error
	if r.query, err = Parse(s.Dialect(), c.Query); err != nil {
		errs = append(errs, tool.At("query", fmt.Errorf("query: %w", err)))
	}
	switch r.effect {
	case tool.Read:
		if err == nil && r.query.Writes {
			errs = append(errs, tool.At("query", errors.New("query: it writes, and the tool's effect is read (the default): set effect: unsafe, or idempotent")))
		}
	case tool.Idempotent, tool.Unsafe:
	default:
		errs = append(errs, fmt.Errorf("effect %q is none of read, idempotent, unsafe", c.Effect))
	}
	switch r.shape {
	case ShapeRows:
	case ShapeRow, ShapeValue:
		r.limits.Rows = 1
	default:
		errs = append(errs, tool.At("result", fmt.Errorf("result: %q is none of rows, row, value", c.Result)))
	}
	if c.MaxRows < 0 {
		errs = append(errs, tool.At("max_rows", errors.New("max_rows: must be at least 1")))
	}
	args, open := tool.ArgumentNames(c.Schema)
	r.bind, err = tool.ParseBindings(c.Bind)
	errs = append(errs, tool.At("bind", err), tool.At("bind", tool.CheckBindings(r.bind, args)))
	for _, name := range r.query.Names {
		if _, bound := c.Bind[name]; !bound && !open && !slices.Contains(args, name) {
			errs = append(errs, tool.At("query", fmt.Errorf("query: the parameter :%s is neither an argument in the schema nor bound", name)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Bind)) {
		if r.query.Text != "" && !slices.Contains(r.query.Names, name) {
			errs = append(errs, tool.At("bind", fmt.Errorf("bind: %q is bound, and the query has no :%s", name, name)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r, nil
}
