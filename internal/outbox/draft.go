package outbox

import (
	"context"
	"time"

	"github.com/parley-bot/parley/channels"
)

// Draft is a message that has been sent, or is about to be, and shows a text
// while it is being written. What it shows in between is worth little: it is
// kept nowhere, never retried, waits for nothing, and gives way to whatever
// else is to be sent in the chat. The final text is an entry (see [Finish]).
type Draft struct {
	a      *account
	key    draftKey
	chat   channels.Chat
	render Render

	// The rest is guarded by the account's lock.
	id     channels.MessageID // "" until the message has left
	text   string             // the newest
	fresh  bool               // it isn't shown yet
	shown  string             // what people see, as far as is known
	next   time.Time          // when it may be shown
	timer  *time.Timer
	closed bool
}

// Render makes the message that shows a text that isn't whole; false ends the
// draft, where the text is too long for one message.
type Render func(text string) (channels.Part, bool)

type draftKey struct {
	chat string
	seq  int64
}

// Draft opens the draft that entry seq of the chat is. sent is the platform's
// id of it, where it left before; else it is noted when the entry leaves, so
// Draft comes before Take. first is what it was sent with. The draft must be
// closed before its final text is committed.
func (o *Outbox) Draft(channel, chatKey string, seq int64, sent channels.MessageID, first channels.Part, render Render) *Draft {
	a := o.accounts[channel]
	if a == nil {
		return nil
	}
	d := &Draft{a: a, key: draftKey{chatKey, seq}, chat: first.Chat, render: render, id: sent, shown: first.Text}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drafts[d.key] = d
	return d
}

// Show replaces the text. It doesn't block. On a nil draft it does nothing.
func (d *Draft) Show(text string) {
	if d == nil {
		return
	}
	d.a.mu.Lock()
	defer d.a.mu.Unlock()
	d.text, d.fresh = text, true
	d.arm()
}

// Close ends the draft: nothing that it still had is shown. An edit that is
// under way keeps its chat's place, so that what comes next stays behind it.
func (d *Draft) Close() {
	if d == nil {
		return
	}
	d.a.mu.Lock()
	defer d.a.mu.Unlock()
	d.end()
}

// end is Close with the lock held.
func (d *Draft) end() {
	d.closed = true
	if d.timer != nil {
		d.timer.Stop()
	}
	delete(d.a.drafts, d.key)
}

// arm sees to the next edit. The lock is held.
func (d *Draft) arm() {
	if d.closed || !d.fresh || d.id == "" || d.timer != nil {
		return
	}
	d.timer = time.AfterFunc(time.Until(d.next), d.due)
}

// due finds the draft a sender, unless its chat has something else to do.
func (d *Draft) due() {
	a := d.a
	a.mu.Lock()
	defer a.mu.Unlock()
	d.timer = nil
	switch {
	case d.closed || a.state >= stageDraining:
	case a.state != stageRunning || a.pause.on || a.chats[d.key.chat] != nil || len(a.chats) >= a.o.cfg.MaxChats:
		d.next = time.Now().Add(draftPatience)
		d.arm()
	default:
		a.push(&chat{key: d.key.chat, draft: d})
	}
}

const (
	// draftPatience is how soon a draft tries again whose chat was busy.
	draftPatience = 100 * time.Millisecond
	// draftTime bounds an edit of a draft: the next entry waits for it.
	draftTime = 5 * time.Second
	// draftRest is how long a draft rests after an edit that failed.
	draftRest = 10 * time.Second
)

// left notes the id under which a draft's message has left.
func (a *account) left(e Entry, r channels.Receipt) {
	if !e.Part.Draft {
		return
	}
	every := a.capabilities(e.Part.Chat).Edit.Draft
	a.mu.Lock()
	defer a.mu.Unlock()
	if d := a.drafts[draftKey{e.ChatKey, e.Seq}]; d != nil {
		d.id = r.ID
		d.next = time.Now().Add(every)
		d.arm()
	}
}

// draw shows the draft's newest text, where it is another one and the
// platform's budget has room.
func (a *account) draw(d *Draft) {
	caps := a.capabilities(d.chat)
	editor, ok := a.adapter.(channels.Editor)
	a.mu.Lock()
	text, id := d.text, d.id
	skip := d.closed || !d.fresh || !ok || caps.Edit.Draft <= 0
	d.fresh = false
	a.mu.Unlock()
	if skip {
		return
	}
	part, fits := d.render(text)
	if !fits {
		d.Close()
		return
	}
	part.Draft = true
	if !a.mayDraw(d, part.Text, caps) {
		return
	}
	err := a.edit(editor, id, part)
	if err == nil {
		a.succeeded()
	} else {
		a.notDrawn(d, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if d.shown = part.Text; err != nil {
		d.next, d.shown = time.Now().Add(draftRest), ""
	}
	d.arm()
}

// mayDraw tells whether to show the text now, and pays for it.
func (a *account) mayDraw(d *Draft, text string, caps channels.Capabilities) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	d.next = now.Add(caps.Edit.Draft)
	switch {
	case text == d.shown:
		d.arm() // a newer one may have come
		return false
	case !a.budget.spare(now, d.key.chat, d.id, caps):
		d.fresh = true
		d.arm()
		return false
	}
	return true
}

// notDrawn takes note of an edit that failed. What came of it matters to the
// account, hardly to the draft.
func (a *account) notDrawn(d *Draft, err error) {
	class := channels.ClassOf(err)
	a.o.log.Debug("draft could not be shown", "channel", a.name, "chat", d.key.chat, "seq", d.key.seq, "class", class, "err", err)
	switch class {
	case channels.RateLimited:
		a.o.metrics.limited.WithLabelValues(a.name).Inc()
		a.limited(d.key.chat, asked(err))
		d.Close()
	case channels.PermanentToken:
		a.refused(err)
		d.Close()
	case channels.PermanentChat, channels.PermanentMessage:
		d.Close()
	default: // the next text may be shown
	}
}

// edit is one platform call for a draft.
func (a *account) edit(editor channels.Editor, id channels.MessageID, part channels.Part) (err error) {
	defer a.recovered(&err)
	ctx, cancel := context.WithTimeout(a.o.sendCtx, draftTime)
	defer cancel()
	return editor.Edit(ctx, id, part)
}
