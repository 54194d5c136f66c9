package sqltool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/parley-bot/parley/internal/tool"
)

var (
	_ tool.Runner  = (*Runner)(nil)
	_ tool.Readier = (*Runner)(nil)
)

// Runner runs one SQL tool. It is safe for use by many goroutines.
type Runner struct {
	source *Source
	name   string
	log    *slog.Logger
	query  Query
	bind   tool.Bindings
	effect tool.Effect
	shape  string
	limits Limits
}

// Effect is the tool's effect, with the default of the kind.
func (r *Runner) Effect() tool.Effect { return r.effect }

// Run makes the statement, once. What the database refuses is a failed result;
// nothing of it stays then, and the result is Pure. Only a commit that was sent
// and not answered is Unknown.
func (r *Runner) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	params := map[string]json.RawMessage{}
	if len(call.Args) > 0 {
		if err := json.Unmarshal(call.Args, &params); err != nil {
			return tool.Result{}, fmt.Errorf("sql tool %s: the arguments are no JSON object", r.name)
		}
	}
	if fail := r.Ready(ctx, call); fail != nil {
		return *fail, nil
	}
	facts, _ := r.bind.Values(call)
	for i, name := range r.bind.Names() {
		params[name] = quote(facts[i])
	}
	a, err := r.source.Run(ctx, Statement{Query: r.query, Params: params, Write: r.effect != tool.Read, Limits: r.limits})
	if err != nil {
		return r.failed(ctx, err), nil
	}
	return tool.Capped(tool.Result{Value: r.shaped(a)}, 0), nil
}

// Ready looks whether all that is bound is known of the person.
func (r *Runner) Ready(_ context.Context, call tool.Call) *tool.Result {
	if _, missing := r.bind.Values(call); missing != "" {
		res := tool.IdentityMissing(missing)
		return &res
	}
	return nil
}

func (r *Runner) shaped(a Answer) json.RawMessage {
	if a.Columns == nil {
		return json.RawMessage(fmt.Sprintf(`{"affected":%d}`, a.Affected))
	}
	switch {
	case r.shape == ShapeRows:
		cut := ""
		if a.Cut {
			cut = fmt.Sprintf(`,"cut":"There is more: only the first %d rows are here."`, len(a.Rows))
		}
		return json.RawMessage(`{"rows":` + string(a.Objects()) + cut + `}`)
	case len(a.Rows) == 0:
		return json.RawMessage("null")
	case r.shape == ShapeRow:
		return a.Object(a.Rows[0])
	default:
		return a.Rows[0][0]
	}
}

// failed tells the model that there is no answer, and the operator why: names
// of tables and columns are none of the model's business.
func (r *Runner) failed(ctx context.Context, err error) tool.Result {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Kind: Unknown, Err: err}
	}
	r.log.WarnContext(ctx, "sql tool failed", slog.String("tool", r.name), slog.String("source", r.source.Name()), slog.Any("error", e))
	fields := map[string]any{"message": e.Kind.message()}
	code := string(e.Kind)
	switch e.Kind {
	case Stopped:
		res := tool.Stopped(ctx, 0)
		res.Pure = true
		return res
	case Raised:
		code, fields = tool.Cut(e.Message, 2<<10), nil
	case Unknown:
		fields["executed"] = "unknown"
	default:
	}
	res := tool.Fail(code, fields)
	res.Unknown = e.Kind == Unknown
	res.Pure = !res.Unknown
	return res
}

// message says in words what a kind of failure is, for a model.
func (k Kind) message() string {
	switch k {
	case Constraint:
		return "The database's rules don't allow these values. Nothing was changed."
	case BadValue:
		return "A value doesn't fit where it was to go. Nothing was changed."
	case ReadOnly:
		return "The statement would have changed data, which this tool may not. Nothing was changed."
	case Busy:
		return "The database is busy with something else. Nothing was changed; it may be tried again."
	case Unavailable:
		return "The database can't be reached. Nothing was changed."
	case TooLarge:
		return "The answer holds a value that is too large. Nothing was changed."
	case Unknown:
		return "The connection was lost while the change was being saved."
	default:
		return "The database didn't take the statement. Nothing was changed."
	}
}
