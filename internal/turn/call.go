package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/ledger"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/locale"
	"github.com/parley-bot/parley/internal/tool"
)

// asideTimeout bounds code of a tool that runs beside its handler: parsers,
// predicates, the lines of a question.
const asideTimeout = 5 * time.Second

// calls takes the step's calls one after the other, each when its turn comes,
// until all have a result. What was decided without running anything is
// committed together with what comes next: until then a crash only makes it be
// decided again.
func (t *run) calls(ctx context.Context) (parked bool, err error) {
	for i := range t.j.Calls {
		c := &t.j.Calls[i]
		for c.Result == nil {
			if ctx.Err() != nil {
				// Nothing is begun that would only be broken off.
				return false, fmt.Errorf("working on turn: %w", context.Cause(ctx))
			}
			if c.Started {
				err = t.interrupted(ctx, c)
			} else {
				parked, err = t.call(ctx, i)
			}
			if err != nil || parked {
				return parked, err
			}
		}
	}
	if len(t.j.Calls) == 0 {
		return false, nil
	}
	m := llm.Message{Role: llm.RoleTool}
	for _, c := range t.j.Calls {
		m.Results = append(m.Results, *c.Result)
	}
	t.j.Messages = append(t.j.Messages, m)
	t.j.Calls = nil
	return false, nil
}

// call brings one call as far as it gets: to a result, or to a question.
func (t *run) call(ctx context.Context, i int) (parked bool, err error) {
	c := &t.j.Calls[i]
	tl, ok := t.check(ctx, c)
	if !ok {
		return false, nil
	}
	if !c.Announced {
		if t.duplicate(c, tl) {
			return false, nil
		}
		c.Announced = true
		t.event(audit.ToolCall, c, nil)
	}
	if !c.Approved {
		need, err := t.needsConfirm(ctx, c, tl)
		if err != nil {
			t.broken(c, err)
			return false, nil
		}
		if need {
			if t.barred(ctx, c, tl) {
				return false, nil
			}
			return t.question(ctx, i, tl)
		}
	}
	return false, t.execute(ctx, c, tl)
}

// check validates the call. Nobody is asked to approve one that can't run.
func (t *run) check(ctx context.Context, c *callState) (*tool.Tool, bool) {
	if t.j.Failed[failureKey(c)] >= 2 {
		t.event(audit.ToolError, c, func(e *audit.Event) { e.Error = "repeated_failure" })
		t.resolve(c, repeatedResult(), true)
		return nil, false
	}
	tl, ok := t.set.Tools.Get(c.Name)
	if !ok {
		var known []string
		for _, k := range t.set.Tools.Tools() {
			known = append(known, k.Name)
		}
		t.event(audit.ToolUnknown, c, nil)
		t.count("", "unknown_tool")
		t.failed(c, unknownToolResult(c.Name, known))
		return nil, false
	}
	var vs []tool.Violation
	err := t.aside(ctx, func(ctx context.Context) (err error) {
		c.Args, vs, err = t.set.Tools.Check(ctx, tl, t.toolCall(c), c.Raw)
		return err
	})
	switch {
	case err != nil:
		t.deps.Log.Error("arguments could not be checked", "tool", c.Name, "turn", t.id, "err", err)
		t.event(audit.ToolError, c, func(e *audit.Event) { e.Error = "arguments could not be checked" })
		t.count(c.Name, "error")
		t.failed(c, failedResult("The arguments could not be checked."))
		return nil, false
	case len(vs) > 0:
		c.Args = nil
		t.event(audit.ToolInvalidArgs, c, func(e *audit.Event) {
			e.Args, e.Error = rawJSON(c.Raw), vs[0].Path+" "+vs[0].Message
		})
		t.count(c.Name, "invalid_args")
		t.failed(c, invalidResult(vs))
		return nil, false
	}
	c.Hash = tool.ArgsHash(c.Args)
	c.Title = tl.TitleIn(t.j.Lang)
	return tl, true
}

// rawJSON keeps what a model wrote, as a string where it isn't JSON.
func rawJSON(raw string) json.RawMessage {
	if raw == "" {
		return nil
	}
	if json.Valid([]byte(raw)) {
		return json.RawMessage(raw)
	}
	b, err := json.Marshal(raw)
	if err != nil {
		return nil // a string always marshals
	}
	return b
}

// failureKey names a call by what the model wrote.
func failureKey(c *callState) string {
	raw := strings.TrimSpace(c.Raw)
	if raw == "" || raw == "null" {
		raw = "{}"
	}
	if canon, err := tool.Canonical(json.RawMessage(raw)); err == nil {
		return c.Name + " " + string(canon)
	}
	return c.Name + " " + c.Raw
}

// duplicate answers a call whose tool did just that a moment ago.
func (t *run) duplicate(c *callState, tl *tool.Tool) bool {
	if tl.Dedupe <= 0 {
		return false
	}
	now := t.deps.Now()
	run, ok := ledger.Duplicate(t.runs, tl.Name, c.Hash, tl.Dedupe, now)
	if !ok {
		return false
	}
	t.event(audit.ToolDuplicate, c, nil)
	t.count(c.Name, "duplicate")
	t.resolve(c, ledger.DuplicateResult(run, now), true)
	return true
}

func (t *run) needsConfirm(ctx context.Context, c *callState, tl *tool.Tool) (need bool, err error) {
	if c.Reask {
		return true, nil
	}
	p, ok := tl.Runner.(tool.Predicate)
	if !ok || !p.HasPredicate() {
		return tl.Confirm, nil
	}
	err = t.aside(ctx, func(ctx context.Context) (err error) {
		need, err = p.NeedsConfirm(ctx, t.toolCall(c))
		return err
	})
	return need, err
}

// barred gives a call that could not be run even if it were approved the result
// that the run would have. A tool that can't tell is asked about.
func (t *run) barred(ctx context.Context, c *callState, tl *tool.Tool) bool {
	r, ok := tl.Runner.(tool.Readier)
	if !ok {
		return false
	}
	var fail *tool.Result
	err := t.aside(ctx, func(ctx context.Context) error {
		fail = r.Ready(ctx, t.toolCall(c))
		return nil
	})
	if err != nil {
		t.deps.Log.Error("tool could not tell whether it can be run", "tool", c.Name, "turn", t.id, "err", err)
		return false
	}
	if fail == nil {
		return false
	}
	t.event(audit.ToolError, c, func(e *audit.Event) { e.Error = errorOf(fail.Value) })
	t.count(c.Name, "error")
	t.failed(c, fail.Value)
	return true
}

// broken gives a call whose question can't be built its result: nobody is
// asked with a broken text.
func (t *run) broken(c *callState, err error) {
	t.deps.Log.Warn("confirmation could not be built", "tool", c.Name, "turn", t.id, "err", err)
	res := brokenQuestionResult(told(err))
	if errors.Is(err, confirm.ErrTooLong) {
		res = tooLongResult()
	}
	t.event(audit.ToolError, c, func(e *audit.Event) { e.Error = "confirmation: " + err.Error() })
	t.count(c.Name, "error")
	t.failed(c, res)
}

// told is an error as a model may see it.
func told(err error) string {
	type teller interface {
		error
		Told() string
	}
	if e, ok := errors.AsType[teller](err); ok {
		return e.Told()
	}
	return err.Error()
}

// aside runs code of a tool that must not take long, and survives its panics.
func (t *run) aside(ctx context.Context, fn func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, asideTimeout)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			err = &tool.PanicError{Value: r, Stack: debug.Stack()}
		}
	}()
	return fn(ctx)
}

// toolCall is the call as a runner gets it. Who it is for comes from the
// channel, never from the model.
func (t *run) toolCall(c *callState) tool.Call {
	return tool.Call{
		ID: c.ID, Tool: c.Name, Args: c.Args, Raw: rawJSON(c.Raw), Lang: t.j.Lang, Store: t.deps.Store,
		Identity: tool.Identity{
			ChatKey: t.lease.Key, Channel: t.work.Channel, UserID: string(t.input.From.ID),
			Name: t.input.From.Name, Claims: t.input.From.Claims,
		},
	}
}

// resolve gives a call its one result.
func (t *run) resolve(c *callState, value json.RawMessage, failed bool) {
	c.Result = &llm.Result{
		CallID: c.ID, Name: c.Name, Failed: failed,
		Content: tool.Content(tool.Result{Value: value, Failed: failed}, t.set.OutputCap),
	}
}

// failed is resolve for a failure that the model may repeat.
func (t *run) failed(c *callState, value json.RawMessage) {
	if t.j.Failed == nil {
		t.j.Failed = map[string]int{}
	}
	t.j.Failed[failureKey(c)]++
	t.resolve(c, value, true)
}

func (t *run) text(key string, args ...locale.Arg) string {
	return t.set.Texts.Text(t.j.Lang, key, args...)
}
