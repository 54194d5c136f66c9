package js

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/parley-bot/parley/internal/tool"
)

// runner runs one tool. What a definition leaves out is not there: only a tool
// with a validator is a tool.Parser.
type runner struct {
	m                     *Module
	name                  string
	asks, lines, messages bool
	message               string // confirmMessage given as a text
}

type parsingRunner struct{ *runner }

var (
	_ tool.Runner    = (*runner)(nil)
	_ tool.Readier   = (*runner)(nil)
	_ tool.Predicate = (*runner)(nil)
	_ tool.Liner     = (*runner)(nil)
	_ tool.Messager  = (*runner)(nil)
	_ tool.Parser    = parsingRunner{}
)

// Run calls the handler. What it throws is a failed result {"error": message};
// the operator's log has the line. A result says Pure where no request was made,
// also when it failed or timed out: then nothing has happened. It says Unknown
// where a request or statement that may have an effect was begun and the
// handler didn't get to say what came of it: its runtime was lost, its result
// can't be told, or it was answered by nobody (G4).
func (r *runner) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	call.Tool = r.name
	if fail := r.Ready(ctx, call); fail != nil {
		return *fail, nil
	}
	state, rep := r.m.invoke(ctx, "handler", call)
	pure := state != nil && !state.fetched
	begun := state != nil && state.effects
	switch {
	case rep.stopped:
		res := tool.Stopped(ctx, 0)
		res.Pure = pure
		return res, nil
	case begun && (rep.err != nil || state.operator != nil):
		return r.lost(call, errors.Join(rep.err, state.operator)), nil //nolint:nilerr // it is told and logged there
	case rep.err != nil:
		return tool.Result{}, rep.err
	case state.operator != nil:
		return tool.Result{}, fmt.Errorf("run tool %s: %w", r.name, state.operator)
	case rep.failed:
		r.logFailure(call, rep)
		res := tool.Fail(tool.Cut(r.m.masks.mask(rep.failure), 2<<10), nil)
		res.Pure, res.Unknown = pure, state.unknown || rep.cut && begun
		return res, nil
	}
	res := tool.Result{Pure: pure, Writes: state.store.result()}
	if rep.some {
		res.Value = json.RawMessage(r.m.masks.json(rep.value))
	}
	return tool.Capped(res, r.m.opts.OutputCap), nil
}

// lost is the result of a call that failed by the host's fault after something
// may have taken effect.
func (r *runner) lost(call tool.Call, err error) tool.Result {
	r.m.log.Error("script call lost", "tool", r.name, "call_id", call.ID, "error", r.m.masks.mask(err.Error()))
	res := tool.Fail("the tool could not be run to its end", nil)
	res.Unknown = true
	return res
}

// Ready looks whether a script can hold the arguments.
func (r *runner) Ready(_ context.Context, call tool.Call) *tool.Result {
	path, ok := inexact(call.Args)
	if !ok {
		return nil
	}
	res := tool.Fail("number_out_of_range", map[string]any{
		"path": path, "message": "A script can't hold this number exactly.",
	})
	res.Pure = true
	return &res
}

func (r *runner) logFailure(call tool.Call, rep reply) {
	at := ""
	if file, line, column, ok := r.m.prog.place(rep.stack); ok {
		at = fmt.Sprintf("%s:%d:%d", r.m.src.display(file), line, column)
	}
	r.m.log.Warn("script tool failed", "tool", r.name, "call_id", call.ID, "at", at, "error", r.m.masks.mask(rep.failure))
}

// ask runs one of the functions beside the handler. Its failure is an error:
// nobody is asked with a broken text.
func (r *runner) ask(ctx context.Context, kind, what string, call tool.Call) (string, error) {
	call.Tool = r.name
	if path, ok := inexact(call.Args); ok {
		return "", fmt.Errorf("%s of tool %s: a script can't hold the number at %s exactly", what, r.name, path)
	}
	limited, cancel := context.WithTimeoutCause(ctx, r.m.opts.CheckTimeout, tool.ErrTimeout)
	defer cancel()
	state, rep := r.m.invoke(limited, kind, call)
	switch {
	case rep.stopped:
		return "", fmt.Errorf("%s of tool %s: %w", what, r.name, context.Cause(limited))
	case rep.err != nil:
		return "", rep.err
	case state.operator != nil:
		return "", fmt.Errorf("%s of tool %s: %w", what, r.name, state.operator)
	case rep.failed:
		err := &Error{File: r.m.src.path, Message: fmt.Sprintf("%s of tool %s failed: %s", what, r.name, r.m.masks.mask(rep.failure))}
		if file, line, column, ok := r.m.prog.place(rep.stack); ok {
			err.File, err.Line, err.Column = r.m.src.display(file), line, column
		}
		return "", placed(err, r.m.place)
	}
	return r.m.masks.json(rep.value), nil
}

// HasPredicate tells whether confirm is a function.
func (r *runner) HasPredicate() bool { return r.asks }

func (r *runner) NeedsConfirm(ctx context.Context, call tool.Call) (bool, error) {
	if !r.asks {
		return false, errors.New("tool " + r.name + " has no function confirm")
	}
	v, err := r.ask(ctx, "confirm", "confirm", call)
	return v == "true", err
}

func (r *runner) ConfirmLines(ctx context.Context, call tool.Call) ([]string, bool, error) {
	if !r.lines {
		return nil, false, nil
	}
	v, err := r.ask(ctx, "lines", "confirmLines", call)
	if err != nil {
		return nil, false, err
	}
	var lines []string
	if err := json.Unmarshal([]byte(v), &lines); err != nil {
		return nil, false, fmt.Errorf("confirmLines of tool %s: %w", r.name, err)
	}
	return lines, true, nil
}

func (r *runner) ConfirmMessage(ctx context.Context, call tool.Call) (string, bool, error) {
	if r.message != "" || !r.messages {
		return r.message, r.message != "", nil
	}
	v, err := r.ask(ctx, "message", "confirmMessage", call)
	if err != nil {
		return "", false, err
	}
	var text string
	if err := json.Unmarshal([]byte(v), &text); err != nil {
		return "", false, fmt.Errorf("confirmMessage of tool %s: %w", r.name, err)
	}
	return text, true, nil
}

// Parse puts the arguments through the tool's validator (behaviour A11).
func (r parsingRunner) Parse(ctx context.Context, call tool.Call) (json.RawMessage, []tool.Violation, error) {
	if path, ok := inexact(call.Args); ok {
		return nil, []tool.Violation{{Path: path, Message: "the number can't be held exactly"}}, nil
	}
	v, err := r.ask(ctx, "parse", "the validator", call)
	if err != nil {
		return nil, nil, err
	}
	var out struct {
		Data   json.RawMessage `json:"data"`
		Issues []struct {
			Path    []string `json:"path"`
			Message string   `json:"message"`
			Keys    []string `json:"keys"`
		} `json:"issues"`
	}
	if err := json.Unmarshal([]byte(v), &out); err != nil {
		return nil, nil, fmt.Errorf("the validator of tool %s: %w", r.name, err)
	}
	var vs []tool.Violation
	for _, i := range out.Issues {
		if len(i.Keys) == 0 {
			vs = append(vs, tool.Violation{Path: tool.Pointer(i.Path...), Message: i.Message})
		}
		for _, k := range i.Keys {
			vs = append(vs, tool.Violation{Path: tool.Pointer(append(i.Path, k)...), Message: "is not allowed: there is no such argument"})
		}
	}
	if len(vs) == 0 && len(out.Data) == 0 {
		return nil, nil, fmt.Errorf("the validator of tool %s gave no data", r.name)
	}
	return out.Data, vs, nil
}

// inexact finds a number that a script would see changed: one that isn't the
// shortest spelling of a double.
func inexact(args json.RawMessage) (path string, found bool) {
	dec := json.NewDecoder(strings.NewReader(string(args)))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return "", false // the engine's own parser will say so
	}
	return findInexact(v, nil)
}

func findInexact(v any, path []string) (string, bool) {
	switch t := v.(type) {
	case json.Number:
		f, err := strconv.ParseFloat(string(t), 64)
		if err != nil || math.IsInf(f, 0) || !tool.SameNumber(string(t), strconv.FormatFloat(f, 'g', -1, 64)) {
			return tool.Pointer(path...), true
		}
	case []any:
		for i, item := range t {
			if p, ok := findInexact(item, append(path, strconv.Itoa(i))); ok {
				return p, true
			}
		}
	case map[string]any:
		for k, item := range t {
			if p, ok := findInexact(item, append(path, k)); ok {
				return p, true
			}
		}
	}
	return "", false
}

// timeoutOf is nil for the loop's default.
func timeoutOf(d time.Duration, set bool) *time.Duration {
	if !set {
		return nil
	}
	return &d
}
