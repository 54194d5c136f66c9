package turn

import (
	"context"
	"strings"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/render"
)

// A bot without tools shows an answer while the model writes it (behaviour A9):
// one message, the draft, that is edited as the text grows.
//
//   - The draft is an entry of the outbox, said once a turn (Store.Draft) and
//     remembered with the lane until the turn ends.
//   - What it shows in between goes through the sender of its channel, in the
//     chat's order and budget, and is kept nowhere.
//   - The final text is committed with T6 as every answer is: its first part
//     is an entry that takes the draft's place, the rest are messages.
//
// A turn that is cut short in between runs again and goes on with the draft
// that is there; one that fails puts the failure's text in its place. After
// /reset or /cancel the draft stays as it was last shown, or is withdrawn where
// it hasn't left.

const (
	// draftAfter is how long after its first piece an answer is shown before
	// it is whole: what is whole by then costs neither a commit nor an edit
	// more.
	draftAfter = 400 * time.Millisecond
	// draftSave bounds the commit of a draft: the model waits meanwhile.
	draftSave = 2 * time.Second
	// unwritten ends a text that goes on.
	unwritten = " …"
)

// Drafting is a message that shows a text while it is being written.
type Drafting interface {
	// Show replaces the text; it doesn't block.
	Show(text string)
	// Close ends it; the last text shown may never be seen.
	Close()
}

// draft is the run's, before and after it is said.
type draft struct {
	first time.Time // of the text; zero before it
	off   bool      // none is to be had
	live  Drafting  // nil until it is said
}

// onText shows the model's text as it grows, nil where only whole texts are
// shown.
func (t *run) onText(ctx context.Context) func(text string) {
	if !t.set.Stream || t.deps.Draft == nil || t.adapter == nil || t.caps.Edit.Draft <= 0 || t.set.Tools.Len() > 0 {
		return nil
	}
	return func(text string) {
		d := &t.draft
		switch now := t.deps.Now(); {
		case d.live != nil:
			d.live.Show(text)
		case d.off || strings.TrimSpace(text) == "":
		case d.first.IsZero():
			d.first = now
		case now.Sub(d.first) >= draftAfter:
			t.beginDraft(ctx, text)
		}
	}
}

// beginDraft says the draft, or goes on with the one that is there.
func (t *run) beginDraft(ctx context.Context, text string) {
	part, ok := t.drafted(text)
	if !ok {
		t.draft.off = true
		return
	}
	saving, cancel := context.WithTimeout(ctx, draftSave)
	defer cancel()
	out, err := t.deps.Store.Draft(saving, t.lease, Draft{Seq: t.seqFrom, Part: part, Own: t.deps.Own(t.work.Channel)})
	if err != nil || out.Lost {
		// The answer is shown when it is whole.
		t.draft.off = true
		t.deps.Log.Debug("answer isn't shown while it is written", "turn", t.id, "err", err)
		return
	}
	if out.Spoke.Seq == 0 {
		part.Text = "" // who knows what it shows
	}
	t.draft.live = t.deps.Draft(t.work.Channel, t.work.ChatKey, out, part, t.drafted)
	t.deps.Spoke(t.work.Channel, t.work.ChatKey, out.Spoke, []channels.Part{part})
	t.quit() // the text itself is the sign
	if out.Spoke.Seq == 0 {
		t.draft.live.Show(text)
	}
}

// drafted is the message that shows a text that isn't whole; false where that
// takes more than one.
func (t *run) drafted(text string) (channels.Part, bool) {
	parts := t.parts(render.Text(strings.TrimRight(text, " \n\t")+unwritten, t.caps))
	if len(parts) != 1 {
		return channels.Part{}, false
	}
	parts[0].Draft = true
	return parts[0], true
}

// endDraft shows nothing more of the draft.
func (t *run) endDraft() {
	if t.draft.live != nil {
		t.draft.live.Close()
	}
}
