package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/lease"
	"github.com/parley-bot/parley/internal/ledger"
	"github.com/parley-bot/parley/internal/tool"
)

// conflictMax is how often a run is repeated that lost a race for a saved
// value.
const conflictMax = 5

// execute runs the call: intent first, committed; then the run; then what came
// of it, committed.
func (t *run) execute(ctx context.Context, c *callState, tl *tool.Tool) error {
	c.Started, c.Dedupe = true, tl.Dedupe
	if c.Lines == nil {
		// For the notes of later turns; a call that can't be described is
		// described by its name.
		c.Lines, _ = confirm.ArgLines(c.Args, tl.Labels, t.set.Texts, t.j.Lang)
	}
	if err := t.intend(ctx, c); err != nil {
		c.Started = false
		return err
	}
	return t.perform(ctx, c, tl)
}

// intend is the commit before the run (T4), as part of the model's step where
// that isn't committed yet.
func (t *run) intend(ctx context.Context, c *callState) error {
	if !c.Saved {
		_, err := t.step(ctx, c.ID, nil, nil)
		return err
	}
	j, err := t.j.encode()
	if err != nil {
		return err
	}
	if len(t.takes) > 0 {
		// Only a step can take messages along.
		_, err := t.step(ctx, "", nil, nil)
		if err != nil {
			return err
		}
	}
	events := t.flush()
	return t.commit(ctx, func() error {
		return t.deps.Store.Start(ctx, t.lease, Start{TurnID: t.id, CallID: c.ID, Version: journalVersion, Journal: j, Events: events})
	})
}

// interrupted decides on a call whose run was cut short: nobody knows how far
// it got. What is safe to repeat is, under the same id.
func (t *run) interrupted(ctx context.Context, c *callState) error {
	tl, ok := t.set.Tools.Get(c.Name)
	if ok && repeatable(tl.Effect) && repeatable(t.startedAs(c.ID)) {
		return t.perform(ctx, c, tl)
	}
	dur := tool.Result{Unknown: true}
	return t.settle(ctx, c, tl, dur, errInterrupted, 0)
}

func repeatable(e tool.Effect) bool { return e == tool.Read || e == tool.Idempotent }

// startedAs is the effect that the tool had when the call was saved: what is
// harmless now may not have been then.
func (t *run) startedAs(id string) tool.Effect {
	for _, s := range t.work.Saved.Calls {
		if s.ID == id {
			return s.Effect
		}
	}
	return tool.Unsafe
}

var errInterrupted = errors.New("interrupted by a restart")

func (t *run) perform(ctx context.Context, c *callState, tl *tool.Tool) error {
	timeout := t.set.ToolTimeout
	if tl.Timeout != nil {
		timeout = *tl.Timeout
	}
	for try := 1; ; try++ {
		start := time.Now()
		res, err := t.limiter.RunLimited(ctx, tl.Runner, t.toolCall(c), timeout)
		took := time.Since(start)
		if ctx.Err() != nil && tl.Effect != tool.Unsafe && tl.Effect != "" && (err != nil || res.Failed) {
			// Stopped from outside, and safe to run again: it stays started.
			return fmt.Errorf("running tool %s: %w", c.Name, context.Cause(ctx))
		}
		err = t.settle(ctx, c, tl, res, err, took)
		if !errors.Is(err, ErrConflict) {
			return err
		}
		c.Result = nil
		if !res.Pure || try >= conflictMax {
			return t.settle(ctx, c, tl, tool.Result{Value: conflictResult(), Failed: true, Pure: true}, nil, took)
		}
	}
}

// verdict is how a run ended.
type verdict struct {
	state   string // of the call's row
	outcome string // metric label
	event   string
	value   json.RawMessage
	failed  bool
	why     string
}

func (t *run) judge(ctx context.Context, c *callState, tl *tool.Tool, res tool.Result, err error) verdict {
	unsafe := tl == nil || tl.Effect == tool.Unsafe || tl.Effect == ""
	lost := ctx.Err() != nil && res.Failed
	v := verdict{state: CallFailed, outcome: "error", event: audit.ToolError, value: res.Value, failed: true}
	panicErr, panicked := errors.AsType[*tool.PanicError](err)
	switch {
	case errors.Is(err, errInterrupted):
		v.why = "interrupted by a restart"
		return t.unknown(v, v.why)
	case err != nil:
		log := t.deps.Log.With("tool", c.Name, "turn", t.id)
		if panicked {
			log = log.With("stack", string(panicErr.Stack))
		}
		log.Error("tool could not be run", "err", err)
		v.value, v.why = failedResult("The tool could not be run."), "the tool could not be run"
		if panicked && unsafe {
			return t.unknown(v, "failed")
		}
		return v
	case res.TimedOut:
		v.outcome, v.event, v.why = "timeout", audit.ToolTimeout, "timeout"
		if unsafe {
			v = t.unknown(v, "timeout")
			v.event, v.outcome = audit.ToolTimeout, "timeout"
		}
		return v
	case (res.Unknown || lost) && unsafe:
		v.why = errorOf(res.Value)
		if v.why == "" {
			v.why = "the connection was lost"
		}
		return t.unknown(v, v.why)
	case res.Failed:
		v.why = errorOf(res.Value)
		return v
	}
	return verdict{state: CallSucceeded, outcome: "ok", event: audit.ToolResult, value: res.Value}
}

// unknown is the verdict on a run that may have taken effect (behaviour G4).
func (t *run) unknown(v verdict, why string) verdict {
	return verdict{
		state: CallUnknown, outcome: "unknown", event: audit.OutcomeUnknown, value: unknownResult(why), failed: true, why: v.why,
	}
}

// errorOf is the error field of a failed result.
func errorOf(value json.RawMessage) string {
	var o struct {
		Error any `json:"error"`
	}
	if json.Unmarshal(value, &o) != nil || o.Error == nil {
		return ""
	}
	return fmt.Sprint(o.Error)
}

// settle is the commit after the run (T5). ErrConflict: nothing was kept.
func (t *run) settle(ctx context.Context, c *callState, tl *tool.Tool, res tool.Result, err error, took time.Duration) error {
	v := t.judge(ctx, c, tl, res, err)
	before := t.j
	if v.failed && v.state != CallUnknown {
		t.failed(c, v.value)
	} else {
		t.resolve(c, v.value, v.failed)
	}
	run := t.remember(c, v)
	if v.state == CallSucceeded && tl.Effect != tool.Read && ledger.Remember(v.value, false, false) {
		t.j.Done = append(slices.Clip(t.j.Done), c.Title)
	}
	t.event(v.event, c, func(e *audit.Event) { e.DurationMs, e.Error = took.Milliseconds(), v.why })
	j, encErr := t.j.encode()
	if encErr != nil {
		return encErr
	}
	events := t.events
	t.events = nil
	r := Result{
		TurnID: t.id, CallID: c.ID, State: v.state, Value: v.value, Version: journalVersion, Journal: j,
		Writes: res.Writes, Run: run, Events: events,
	}
	if v.state != CallSucceeded {
		r.Writes = nil
	}
	// What came of a call is kept even when work must stop now.
	err = t.commit(ctx, func() error { return t.deps.Store.Result(context.WithoutCancel(ctx), t.lease, r) })
	switch {
	case errors.Is(err, ErrConflict):
		t.j = before
		return err
	case errors.Is(err, lease.ErrLost):
		t.late(ctx, events)
		return err
	case err != nil:
		return err
	}
	if tl != nil {
		t.metrics.ran(tl.Name, v.outcome, took)
	}
	if run != nil {
		t.runs = append([]ledger.Run{*run}, t.runs...)
	}
	return nil
}

// late keeps a result that nobody waits for any more, in the audit only.
func (t *run) late(ctx context.Context, events []audit.Event) {
	for _, e := range events {
		if err := t.deps.Store.Late(context.WithoutCancel(ctx), t.lease.Key, e); err != nil {
			t.deps.Log.Error("late result could not be kept", "turn", t.id, "err", err)
		}
	}
}

// remember makes the session's memory of a run that did something.
func (t *run) remember(c *callState, v verdict) *ledger.Run {
	unknown := v.state == CallUnknown
	if !c.remembered() || !ledger.Remember(v.value, v.failed, unknown) {
		return nil
	}
	run := c.run(v.value, unknown, t.deps.Now())
	return &run
}

// step is T3: the journal, new calls, and where wait is set the question.
func (t *run) step(ctx context.Context, started string, w *confirm.Wait, say []channels.Part) (Stepped, error) {
	st := Step{
		TurnID: t.id, SeqFrom: t.seqFrom, SeqTo: t.seqTo, UserLines: t.j.Lines, Version: journalVersion,
		Started: started, Take: t.takes, Wait: w, Say: say, Events: t.events, Own: t.deps.Own(t.work.Channel),
	}
	var fresh []*callState
	for i := range t.j.Calls {
		c := &t.j.Calls[i]
		if c.Saved {
			continue
		}
		fresh = append(fresh, c)
		c.Saved = true
		st.Calls = append(st.Calls, Call{ID: c.ID, Tool: c.Name, Args: savedArgs(c), Effect: t.effect(c.Name)})
	}
	unsave := func() {
		for _, c := range fresh {
			c.Saved = false
		}
	}
	t.j.Worked += max(0, t.deps.Now().Sub(t.started))
	t.started = t.deps.Now()
	var err error
	if st.Journal, err = t.j.encode(); err != nil {
		unsave()
		return Stepped{}, err
	}
	var out Stepped
	err = t.commit(ctx, func() (err error) {
		out, err = t.deps.Store.Step(ctx, t.lease, st)
		return err
	})
	if err != nil || len(out.Texts) > 0 {
		unsave()
		return out, err
	}
	t.saved = true
	t.flush()
	return out, nil
}

func savedArgs(c *callState) json.RawMessage {
	if c.Args != nil {
		return c.Args
	}
	return rawJSON(c.Raw)
}

func (t *run) effect(name string) tool.Effect {
	if tl, ok := t.set.Tools.Get(name); ok && tl.Effect != "" {
		return tl.Effect
	}
	return tool.Unsafe
}

// commit repeats a commit while the store can't be written: what was done
// must not be forgotten because a disk is full for a while.
func (t *run) commit(ctx context.Context, fn func() error) error {
	for wait := 250 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		err := fn()
		if err == nil || !t.deps.Unavailable(err) {
			return err
		}
		t.deps.Log.Warn("step can't be saved yet", "turn", t.id, "err", err)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}
