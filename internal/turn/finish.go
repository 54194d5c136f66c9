package turn

import (
	"context"
	"errors"
	"strings"

	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/lease"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/locale"
	"github.com/parley-bot/parley/internal/render"
)

// States of a turn that is over.
const (
	stateDone      = "done"
	stateFailed    = "failed"
	stateCancelled = "cancelled"
)

// finish ends the turn with the model's text.
func (t *run) finish(ctx context.Context, text string) (bool, error) {
	return t.end(ctx, stateDone, "", text, true, "done")
}

// maxSteps ends a turn that would go on for too long.
func (t *run) maxSteps(ctx context.Context) (bool, error) {
	text := t.set.MaxStepsMessage
	if text == "" {
		text = t.text(locale.MaxSteps)
	}
	t.event(audit.LoopMaxSteps, nil, nil)
	return t.end(ctx, stateDone, "", text, true, "max_steps")
}

// failModel ends a turn that no model could answer. The person is told once,
// and what they wrote stays in the history.
func (t *run) failModel(ctx context.Context, cause error) (bool, error) {
	t.deps.Log.Error("turn failed: no model could answer", "turn", t.id, "channel", t.work.Channel, "step", t.j.Steps, "err", cause)
	return t.fail(ctx, cause.Error())
}

// fail ends the turn with the text for failures, or with what was done before
// it failed.
func (t *run) fail(ctx context.Context, cause string) (bool, error) {
	if t.j.Lang == "" {
		t.j.Lang = t.set.Texts.Resolve(t.input.From.Lang)
	}
	if len(t.j.Lines) == 0 {
		t.j.Lines = []string{t.input.Text}
	}
	if len(t.j.Done) > 0 {
		text := t.text(locale.AIErrorAfter, locale.Arg{Name: "actions", Value: strings.Join(t.j.Done, ", ")})
		return t.end(ctx, stateFailed, cause, text, true, "failed")
	}
	return t.end(ctx, stateFailed, cause, t.text(locale.AIError), false, "failed")
}

// end is T6. keep stores the text as the turn's answer.
func (t *run) end(ctx context.Context, state, cause, text string, keep bool, outcome string) (bool, error) {
	t.quit()
	t.endDraft() // before the final text is committed, or it might come last
	lines := make([]Line, 0, len(t.j.Lines)+1)
	for _, l := range t.j.Lines {
		lines = append(lines, Line{Role: string(llm.RoleUser), Text: l})
	}
	if keep {
		lines = append(lines, Line{Role: string(llm.RoleAssistant), Text: text})
	}
	parts := t.parts(render.Text(text, t.caps))
	f := Finish{
		SeqTo: t.seqTo, State: state, Error: cause, Lines: lines, Say: parts, Own: t.deps.Own(t.work.Channel),
	}
	if t.saved {
		f.TurnID = t.id
	}
	f.Events, f.Take = t.events, t.takes
	var out Finished
	err := t.commit(ctx, func() (err error) {
		out, err = t.deps.Store.Finish(context.WithoutCancel(ctx), t.lease, f)
		return err
	})
	if err != nil {
		if !errors.Is(err, lease.ErrLost) {
			t.metrics.turned(t.work.Channel, "error", 0, 0)
		}
		return false, err
	}
	t.flush()
	t.metrics.turned(t.work.Channel, outcome, t.j.Worked+max(0, t.deps.Now().Sub(t.started)), t.model)
	t.deps.Spoke(t.work.Channel, t.work.ChatKey, out.Spoke, parts)
	return out.More, nil
}

// count is for calls that ended before they ran.
func (t *run) count(tool, outcome string) { t.metrics.calls.WithLabelValues(tool, outcome).Inc() }
