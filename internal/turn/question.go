package turn

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/ledger"
	"github.com/parley-bot/parley/internal/locale"
	"github.com/parley-bot/parley/internal/render"
	"github.com/parley-bot/parley/internal/tool"
)

// question asks a person about the call and puts the turn aside. Where they
// have written something already, that comes in place of the question: it was
// said before it could be seen (behaviour B27).
func (t *run) question(ctx context.Context, i int, tl *tool.Tool) (parked bool, err error) {
	c := &t.j.Calls[i]
	if t.adapter == nil {
		t.event(audit.ConfirmRequested, c, nil)
		t.event(audit.ConfirmDenied, c, func(e *audit.Event) { e.Error = "confirmation_unavailable" })
		t.count(c.Name, "unavailable")
		t.resolve(c, unavailableResult(), true)
		return false, nil
	}
	w, parts, err := t.prepare(ctx, c, tl)
	if err != nil {
		t.broken(c, err)
		return false, nil
	}
	t.event(audit.ConfirmRequested, c, nil)
	out, err := t.step(ctx, "", w, parts)
	if err != nil {
		return false, err
	}
	if len(out.Texts) > 0 {
		texts := make([]string, len(out.Texts))
		for k, in := range out.Texts {
			texts[k] = in.In.Text
			t.takes = append(t.takes, in.Seq)
			t.said(in.In.At)
		}
		t.event(audit.ConfirmReplied, c, func(e *audit.Event) { e.Actor = string(t.input.From.ID) })
		t.replied(i, texts)
		return false, nil
	}
	t.deps.Asked(tl.Name)
	t.deps.Spoke(t.work.Channel, t.work.ChatKey, out.Spoke, parts)
	return true, nil
}

// prepare builds the question and what is saved of it.
func (t *run) prepare(ctx context.Context, c *callState, tl *tool.Tool) (*confirm.Wait, []channels.Part, error) {
	buttons := t.set.Confirm.Buttons && t.caps.Buttons != nil && t.caps.Buttons.Max >= 2
	p, err := t.prompt(ctx, c, tl, buttons)
	if err != nil {
		return nil, nil, err
	}
	body, err := p.Text()
	if err != nil {
		return nil, nil, err
	}
	p.Previous = t.previous(c, tl)
	text, err := p.Text()
	if err != nil {
		return nil, nil, err
	}
	token := newToken()
	var shown []channels.Button
	if buttons {
		shown = []channels.Button{
			{ID: confirm.ButtonID(token, confirm.ValueYes), Label: t.text(locale.ButtonYes), Value: confirm.ValueYes},
			{ID: confirm.ButtonID(token, confirm.ValueNo), Label: t.text(locale.ButtonNo), Value: confirm.ValueNo},
		}
	}
	rendered, err := render.Question(text, shown, t.room(shown))
	if err != nil {
		if errors.Is(err, render.ErrTooLong) {
			err = fmt.Errorf("%w: %w", confirm.ErrTooLong, err)
		}
		return nil, nil, err
	}
	w := &confirm.Wait{
		Token: token, Lane: t.lease.Key, ChatKey: t.work.ChatKey, Chat: t.input.Chat, Turn: t.id, CallID: c.ID,
		Step: t.j.Steps, Tool: tl.Name, Requester: t.input.From.ID, AnswerBy: t.set.Confirm.AnswerBy, Solo: t.solo,
		Digest: confirm.Digest(tl.Digest, c.Args, body), Timeout: t.set.Confirm.Timeout, Said: t.j.Said,
	}
	parts := t.parts(rendered)
	if buttons {
		t.afterwards(w, parts[len(parts)-1], shown)
	}
	return w, parts, nil
}

// room is the channel's limits less what a closed question needs for the
// choice below it, so that the edit never outgrows the message.
func (t *run) room(shown []channels.Button) channels.Capabilities {
	caps := t.caps
	if len(shown) == 0 {
		return caps
	}
	need := 0
	for _, b := range shown {
		choice := render.Literal("→ "+b.Label, caps)
		need = max(need, render.Length("\n"+choice.Text, caps.Unit))
	}
	limits := *caps.Buttons
	limits.TextMax = cmp.Or(limits.TextMax, caps.TextMax)
	if limits.TextMax > 2*need {
		limits.TextMax -= need
	}
	caps.Buttons = &limits
	return caps
}

// prompt collects what the question is built of. The notice of an earlier run
// is left out: it comes and goes with time, and isn't what is approved.
func (t *run) prompt(ctx context.Context, c *callState, tl *tool.Tool, buttons bool) (confirm.Prompt, error) {
	p := confirm.Prompt{
		Tool: tl.Name, Title: tl.TitleIn(t.j.Lang), Args: c.Args, Labels: tl.Labels, Buttons: buttons,
		Lang: t.j.Lang, Catalog: t.set.Texts,
	}
	call := t.toolCall(c)
	err := t.aside(ctx, func(ctx context.Context) error {
		if m, ok := tl.Runner.(tool.Messager); ok {
			text, own, err := m.ConfirmMessage(ctx, call)
			if err != nil {
				return fmt.Errorf("confirm_message: %w", err)
			}
			if own {
				p.Message = text
				if strings.TrimSpace(text) == "" {
					return fmt.Errorf("confirm_message: %w", confirm.ErrBlank)
				}
			}
		}
		if l, ok := tl.Runner.(tool.Liner); ok {
			lines, own, err := l.ConfirmLines(ctx, call)
			if err != nil {
				return fmt.Errorf("confirm_lines: %w", err)
			}
			if own {
				if p.Lines = lines; lines == nil {
					p.Lines = []string{}
				}
			}
		}
		return nil
	})
	if err != nil {
		return p, err
	}
	c.Lines = p.Lines
	if p.Lines == nil {
		c.Lines, err = confirm.ArgLines(c.Args, tl.Labels, t.set.Texts, t.j.Lang)
	}
	return p, err
}

// previous is the notice that just this was done a moment ago (behaviour C1).
func (t *run) previous(c *callState, tl *tool.Tool) *confirm.Previous {
	run, ok := ledger.Previous(t.runs, tl.Name, c.Hash, t.deps.Now())
	if !ok {
		return nil
	}
	return &confirm.Previous{
		Summary: confirm.Summarize(run.Result, tl.Labels, t.set.Texts, t.j.Lang), Unknown: run.Unknown,
	}
}

// afterwards says how the question is closed, by what the channel can do.
func (t *run) afterwards(w *confirm.Wait, last channels.Part, shown []channels.Button) {
	_, edits := t.adapter.(channels.Editor)
	if edits && t.caps.Edit.Text {
		w.Closing = &confirm.Closing{Text: last.Text, Markup: last.Markup, Plain: last.Plain, Choice: map[string]string{}}
		for _, b := range shown {
			w.Closing.Choice[b.Value] = render.Literal("→ "+b.Label, t.caps).Text
		}
		return
	}
	if t.set.Confirm.ExpiredNotice {
		expired := t.literal(t.text(locale.ConfirmExpired))
		w.Expired = &expired
	}
	if t.set.Confirm.AnsweredNotice {
		w.Answered = map[string]channels.Part{}
		for _, b := range shown {
			text := t.text(locale.ConfirmAnswered, locale.Arg{Name: "choice", Value: b.Label})
			w.Answered[b.Value] = t.literal(text)
		}
	}
}

// literal is a short text in which nothing formats.
func (t *run) literal(text string) channels.Part {
	r := render.Literal(text, t.caps)
	return channels.Part{Chat: t.input.Chat, Text: r.Text, Markup: r.Markup, Plain: r.Plain}
}

// approved takes a yes. What was approved is what runs: the call is validated
// and its question rendered again under the present configuration, and where
// they differ nothing runs (behaviour B28).
func (t *run) approved(ctx context.Context, c *callState, w *confirm.Saved) error {
	tl, ok := t.set.Tools.Get(c.Name)
	if !ok {
		t.changed(c)
		return nil
	}
	var args []byte
	var vs []tool.Violation
	err := t.aside(ctx, func(ctx context.Context) (err error) {
		call := t.toolCall(c)
		args, vs, err = t.set.Tools.Check(ctx, tl, call, c.Raw)
		return err
	})
	if err != nil || len(vs) > 0 {
		t.changed(c)
		return nil //nolint:nilerr // what can't be checked isn't what was approved
	}
	c.Args = args
	p, err := t.prompt(ctx, c, tl, t.set.Confirm.Buttons && t.caps.Buttons != nil && t.caps.Buttons.Max >= 2)
	if err != nil {
		t.broken(c, err)
		return nil
	}
	body, err := p.Text()
	if err != nil {
		t.broken(c, err)
		return nil
	}
	if confirm.Digest(tl.Digest, args, body) == w.Digest {
		c.Approved = true
	} else {
		c.Reask = true
	}
	return nil
}

func (t *run) changed(c *callState) {
	t.event(audit.ToolError, c, func(e *audit.Event) { e.Error = "tool_changed" })
	t.count(c.Name, "changed")
	t.resolve(c, changedResult(), true)
}

// parts puts rendered messages into the turn's chat.
func (t *run) parts(rendered []render.Rendered) []channels.Part {
	out := make([]channels.Part, len(rendered))
	for i, r := range rendered {
		out[i] = channels.Part{Chat: t.input.Chat, Text: r.Text, Markup: r.Markup, Plain: r.Plain, Buttons: r.Buttons}
	}
	if t.input.Chat.Group && len(out) > 0 {
		out[0].ReplyTo = t.input.ID
	}
	return out
}

// newToken is 96 random bits.
func newToken() string {
	b := make([]byte, 12)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(b)
}
