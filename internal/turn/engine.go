package turn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/lease"
	"github.com/parley-bot/parley/internal/ledger"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/tool"
)

// crashLimit is how often work on one message may be cut short by a crash
// before it is failed (behaviour G8).
const crashLimit = 3

// Engine works on turns. It keeps nothing of any of them.
type Engine struct {
	deps    Deps
	setup   atomic.Pointer[Setup]
	limiter *tool.Limiter
	metrics *metrics
}

// New makes an engine.
func New(setup Setup, deps Deps) (*Engine, error) {
	m, err := newMetrics(deps.Registerer, deps.Channels)
	if err != nil {
		return nil, err
	}
	e := &Engine{deps: deps, limiter: tool.NewLimiter(0), metrics: m}
	e.Use(setup)
	return e, nil
}

// Use replaces the setup for whatever goes on from now.
func (e *Engine) Use(s Setup) {
	e.metrics.create(s.Tools)
	e.setup.Store(&s)
}

// run is one turn while it is worked on.
type run struct {
	*Engine
	set   *Setup
	lease lease.Lane
	work  Work

	id      string
	seqFrom int64
	seqTo   int64
	input   channels.Inbound
	saved   bool // has a row
	j       journal

	adapter channels.Adapter // nil where the channel is gone
	caps    channels.Capabilities
	solo    bool

	// What the next commit takes along.
	events []audit.Event
	takes  []int64
	// runs are the session's remembered runs, newest first.
	runs    []ledger.Run
	started time.Time
	model   time.Duration // spent in model calls
	quit    func()        // stops the sign of typing
	draft   draft
}

// Work goes on with the lane's turn, or starts its next one, until it is over
// or waits for a person. more tells that the lane has further work.
// lease.ErrLost means that somebody ended the turn meanwhile.
func (e *Engine) Work(ctx context.Context, l lease.Lane) (more bool, err error) {
	set := e.setup.Load()
	w, err := e.deps.Store.Load(ctx, l, max(1, set.HistoryMessages))
	if err != nil {
		return false, fmt.Errorf("loading lane: %w", err)
	}
	if w.Saved == nil && len(w.Queue) == 0 {
		return false, nil
	}
	t := &run{Engine: e, set: set, lease: l, work: w, runs: w.Runs, started: e.deps.Now(), quit: func() {}}
	t.begin()
	defer func() {
		t.quit()
		t.endDraft()
	}()
	if w.Saved != nil {
		if t.j, err = decodeJournal(w.Saved.Version, w.Saved.Journal); err != nil {
			e.deps.Log.Error("turn failed: unreadable", "lane", l.Key, "turn", t.id, "err", err)
			return t.fail(ctx, err.Error())
		}
	}
	if l.Attempt >= crashLimit {
		e.deps.Log.Error("turn failed: its work was cut short too often", "lane", l.Key, "turn", t.id, "attempt", l.Attempt)
		return t.fail(ctx, "its work was cut short by a crash "+fmt.Sprint(l.Attempt)+" times")
	}
	if t.adapter != nil {
		t.quit = e.deps.Typing(w.Channel, t.input.Chat)
	}
	return t.bounded(ctx)
}

// begin fills in what the turn is about.
func (t *run) begin() {
	if s := t.work.Saved; s != nil {
		t.id, t.seqFrom, t.seqTo, t.input, t.saved = s.ID, s.SeqFrom, s.SeqTo, s.Input, true
	} else {
		head := t.work.Queue[0]
		t.work.Queue = t.work.Queue[1:]
		t.id = newTurnID()
		t.seqFrom, t.seqTo, t.input = head.Seq, head.Seq, head.In
		lang := t.work.Lang
		if lang == "" {
			lang = t.input.From.Lang
		}
		t.j = journal{
			Lang: t.set.Texts.Resolve(lang), Lines: []string{t.input.Text},
			Messages: []llm.Message{{Role: llm.RoleUser, Text: t.input.Text}}, Said: t.input.At,
		}
	}
	if a, ok := t.deps.Adapter(t.work.Channel); ok {
		t.adapter, t.caps = a, a.Capabilities(t.input.Chat)
	}
	t.solo = !t.input.Chat.Group || strings.HasSuffix(t.lease.Key, ":"+string(t.input.From.ID))
}

// newTurnID sorts by the time it was made (UUIDv7).
func newTurnID() string {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.NewString() // no entropy for the version: any id will do
	}
	return id.String()
}

// bounded works within what the deadline leaves.
func (t *run) bounded(ctx context.Context) (more bool, err error) {
	outer := ctx
	if d := t.set.Deadline; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, max(0, d-t.j.Worked), errDeadline)
		defer cancel()
	}
	more, err = t.loop(ctx)
	if err != nil && outer.Err() == nil && errors.Is(context.Cause(ctx), errDeadline) && !errors.Is(err, lease.ErrLost) {
		t.deps.Log.Error("turn failed: over its deadline", "lane", t.lease.Key, "turn", t.id)
		return t.fail(outer, errDeadline.Error())
	}
	return more, err
}

var (
	errDeadline = errors.New("the turn took longer than loop.turn_deadline")
	// errCancelled: who was asked has ended the whole turn.
	errCancelled = errors.New("cancelled by whoever was asked")
)

// loop is the tool loop: calls first, where there are any left, then the model.
func (t *run) loop(ctx context.Context) (more bool, err error) {
	switch err := t.answered(ctx); {
	case errors.Is(err, errCancelled):
		return t.end(ctx, stateCancelled, errCancelled.Error(), "", false, "cancelled")
	case err != nil:
		return false, err
	}
	for {
		parked, err := t.calls(ctx)
		if err != nil || parked {
			return false, err
		}
		if t.j.Budget >= t.set.MaxSteps || t.j.Steps >= hardMaxSteps {
			return t.maxSteps(ctx)
		}
		text, final, err := t.ask(ctx)
		switch {
		case errors.Is(err, errModel):
			return t.failModel(ctx, err)
		case err != nil:
			return false, err
		case final:
			return t.finish(ctx, text)
		}
	}
}

// answered takes the answer that the turn waited for, where it did.
func (t *run) answered(ctx context.Context) error {
	if !t.saved || t.work.Saved.Wait == nil || t.work.Saved.Wait.Answer == nil {
		return nil
	}
	w := t.work.Saved.Wait
	for i := range t.j.Calls {
		c := &t.j.Calls[i]
		if c.ID != w.CallID || c.Result != nil || c.Started {
			continue
		}
		t.said(w.Answer.Written)
		switch w.Answer.Outcome {
		case confirm.Approved:
			return t.approved(ctx, c, w)
		case confirm.Denied:
			t.resolve(c, deniedResult(), true)
		case confirm.Replied:
			t.replied(i, append([]string{w.Answer.Reply}, t.alsoSaid(w.Requester)...))
		case confirm.Cancelled:
			return errCancelled
		}
		return nil
	}
	return nil
}

// alsoSaid takes the texts of the same person that came after a reply and
// before the turn went on.
func (t *run) alsoSaid(from channels.UserID) (texts []string) {
	for _, in := range t.work.Queue {
		if in.In.From.ID == from && in.In.Text != "" {
			texts = append(texts, in.In.Text)
			t.takes = append(t.takes, in.Seq)
			t.said(in.In.At)
		}
	}
	return texts
}

// said notes when something was written that the turn takes.
func (t *run) said(at time.Time) {
	if at.After(t.j.Said) {
		t.j.Said = at
	}
}

// replied gives the call a person's text as its result; the calls behind it
// are neither asked nor run. The model's steps count anew.
func (t *run) replied(i int, texts []string) {
	text := strings.Join(texts, "\n")
	t.resolve(&t.j.Calls[i], repliedResult(text), true)
	for k := i + 1; k < len(t.j.Calls); k++ {
		t.resolve(&t.j.Calls[k], skippedResult(), true)
	}
	t.j.Lines = append(t.j.Lines, texts...)
	t.j.Budget = 0
}

// event notes something for the audit, to be committed with the next step.
func (t *run) event(typ string, c *callState, with func(*audit.Event)) {
	e := audit.Event{At: t.deps.Now().UnixMilli(), Type: typ, Step: t.j.Steps, Turn: t.id, ChatKey: t.lease.Key}
	if c != nil {
		e.Tool, e.CallID, e.Args = c.Name, c.ID, c.Args
	}
	if with != nil {
		with(&e)
	}
	t.events = append(t.events, t.set.Redact.Apply(e))
}

// flush forgets what a commit takes along and returns the events of it.
func (t *run) flush() []audit.Event {
	events := t.events
	t.events, t.takes = nil, nil
	return events
}
