package turn

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/ledger"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/render"
	"github.com/parley-bot/parley/internal/tool"
)

// errModel marks failures of the model, which the person is told of.
var errModel = errors.New("no model could answer")

// ask makes one model call and takes its answer into the journal. final is
// true where it is the turn's last text.
func (t *run) ask(ctx context.Context) (text string, final bool, err error) {
	start := t.deps.Now()
	resp, err := t.generate(ctx)
	t.model += max(0, t.deps.Now().Sub(start))
	if err != nil {
		if ctx.Err() != nil {
			return "", false, fmt.Errorf("asking model: %w", context.Cause(ctx))
		}
		return "", false, fmt.Errorf("%w: %w", errModel, err)
	}
	t.j.Steps++
	t.j.Budget++
	switch {
	case len(resp.Calls) > 0:
		t.take(resp)
		return "", false, nil
	case len(render.Text(resp.Text, t.caps)) == 0:
		if t.j.Retried {
			return "", false, fmt.Errorf("%w: its final text was empty twice", errModel)
		}
		t.j.Retried = true
		return "", false, nil
	}
	return resp.Text, true, nil
}

// generate asks once, and once more without history where the request is over
// the model's window.
func (t *run) generate(ctx context.Context) (llm.Response, error) {
	resp, err := t.set.Model.Generate(ctx, t.request(t.set.HistoryMessages, t.set.HistoryTokens), t.onText(ctx))
	if !llm.HasClass(err, llm.ContextTooLong) || len(t.work.History) == 0 {
		return resp, err
	}
	t.deps.Log.Warn("request over the model's window: trying with less history", "turn", t.id)
	return t.set.Model.Generate(ctx, t.request(t.set.HistoryMessages/4, t.set.HistoryTokens/4), t.onText(ctx))
}

func (t *run) request(messages, tokens int) llm.Request {
	var turns []llm.Turn
	last := int64(-1)
	for _, l := range t.work.History {
		if l.Turn != last {
			turns = append(turns, nil)
			last = l.Turn
		}
		turns[len(turns)-1] = append(turns[len(turns)-1], llm.Message{Role: llm.Role(l.Role), Text: l.Text})
	}
	if s, ok := t.set.Model.(interface{ Scale() float64 }); ok && tokens > 0 {
		tokens = int(float64(tokens) / max(1, s.Scale())) // in tokens as the models count them
	}
	req := llm.Request{System: t.system(), Messages: append(llm.Trim(turns, messages, tokens), t.j.Messages...)}
	for _, tl := range t.set.Tools.Tools() {
		name, desc, schema := tl.Card()
		req.Tools = append(req.Tools, llm.Card{Name: name, Description: desc, Schema: schema})
	}
	return req
}

// system is the prompt, its changing parts last (behaviour A15).
func (t *run) system() []string {
	parts := []string{}
	add := func(s string) {
		if strings.TrimSpace(s) != "" {
			parts = append(parts, s)
		}
	}
	add(t.set.Persona)
	add(t.set.Texts.SystemLine(t.j.Lang))
	if t.set.Confirm.NoNote {
		return parts
	}
	if tools := t.confirming(); len(tools) > 0 && t.adapter != nil {
		if note := t.set.Confirm.Note; note != "" {
			add(note)
		} else {
			add(confirm.Note(tools, t.set.Texts, t.j.Lang))
		}
	}
	// What this turn itself did is in its transcript already.
	add(ledger.DoneNote(t.work.Runs, t.deps.Now(), t.set.Texts, t.j.Lang))
	return parts
}

// confirming are the tools that may ask a person.
func (t *run) confirming() (out []confirm.NamedTool) {
	for _, tl := range t.set.Tools.Tools() {
		if mayAsk(tl) {
			out = append(out, confirm.NamedTool{Name: tl.Name, Title: tl.TitleIn(t.j.Lang)})
		}
	}
	return out
}

// mayAsk tells whether some arguments of the tool need a confirmation.
func mayAsk(tl *tool.Tool) bool {
	if p, ok := tl.Runner.(tool.Predicate); ok && p.HasPredicate() {
		return true
	}
	return tl.Confirm
}

// take puts a model's calls into the journal, under ids of ours.
func (t *run) take(resp llm.Response) {
	m := llm.Message{Role: llm.RoleAssistant, Text: resp.Text, Opaque: resp.Opaque, From: resp.From}
	cut := resp.Stop == llm.StopLength
	if cut {
		m.Text = ""
	}
	t.j.Calls = nil
	for i, c := range resp.Calls {
		c.ID = fmt.Sprintf("%s.%d.%d", t.id, t.j.Steps, i+1)
		m.Calls = append(m.Calls, c)
		t.j.Calls = append(t.j.Calls, callState{ID: c.ID, Name: c.Name, Raw: c.Args})
	}
	t.j.Messages = append(t.j.Messages, m)
	switch {
	case cut:
		t.truncated()
	case t.j.Budget >= t.set.MaxSteps || t.j.Steps >= hardMaxSteps:
		// The model would never see the results: none of them is run.
		for i := range t.j.Calls {
			t.resolve(&t.j.Calls[i], skippedResult(), true)
		}
	}
}

// truncated refuses all calls of a message that was cut off: the arguments of
// any of them may be half of what was meant.
func (t *run) truncated() {
	for i := range t.j.Calls {
		c := &t.j.Calls[i]
		t.event(audit.ToolTruncated, c, nil)
		t.resolve(c, truncatedResult(), true)
	}
	t.deps.Log.Warn("the model was cut off at max_tokens while it wrote tool calls: none was run; raise model.max_tokens",
		"turn", t.id, "step", t.j.Steps, "calls", len(t.j.Calls))
}
