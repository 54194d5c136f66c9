package storetest

import (
	"fmt"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/outbox"
	"github.com/parley-bot/parley/internal/turn"
)

func draftTests() []test {
	return []test{
		{"A9_draft_is_said_once", draftOnce},
		{"A9_answer_takes_the_drafts_place", draftFinished},
		{"A9_draft_that_has_not_left_is_withdrawn", draftQueued},
		{"A9_draft_that_failed_is_not_edited", draftFailed},
		{"A9_draft_that_fails_late_leaves_a_message", draftFailsLate},
		{"A9_draft_is_no_step", draftAttempts},
		{"B5_reset_takes_back_what_has_not_left_of_a_draft", draftReset},
	}
}

func (b *bench) draft(w work, own bool) turn.Drafted {
	b.Helper()
	d, err := b.Store.Draft(b.Context(), w.Lane, turn.Draft{
		Seq: w.from, Part: channels.Part{Chat: w.place.Chat, Text: "On …", Draft: true}, Own: own,
	})
	if err != nil {
		b.Fatalf("saying a draft: %v", err)
	}
	return d
}

// said are entries as "kind of-target: text".
func said(all []outbox.Entry) []string {
	out := []string{}
	for _, e := range all {
		out = append(out, fmt.Sprintf("%s %s: %s", e.Kind, e.Target, e.Part.Text))
	}
	return out
}

func draftOnce(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "tell me", inbox.Queued)
	w := b.begin(p)
	if w.Draft != nil {
		b.Errorf("before it: %+v", w.Draft)
	}
	d := b.draft(w, true)
	if d.Seq != 1 || d.Spoke.Seq != 1 || !d.Spoke.Born || d.Sent != "" || d.Lost {
		b.Errorf("%+v", d)
	}
	if again := b.draft(w, true); again != (turn.Drafted{Seq: 1}) {
		b.Errorf("again: %+v", again)
	}
	b.reopen(true)
	b.lapse()
	w = b.begin(p)
	if w.Draft == nil || *w.Draft != (turn.Drafted{Seq: 1}) {
		b.Errorf("after a crash: %+v", w.Draft)
	}
	b.send(p)
	b.release(w.Lane)
	w = b.begin(p)
	want := turn.Drafted{Seq: 1, Sent: "sent-1"}
	if w.Draft == nil || *w.Draft != want || b.draft(w, true) != want {
		b.Errorf("once it has left: %+v", w.Draft)
	}
	check(b, "messages", len(b.send(p)), 0)
}

func draftFinished(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "tell me", inbox.Queued)
	b.say(p, "ana", "more", inbox.Queued)
	w := b.begin(p)
	b.draft(w, true)
	b.sent(entryOf(p, 1, "On …"))
	f := w.finish("Once upon")
	f.Say = append(f.Say, channels.Part{Chat: p.Chat, Text: "a time"})
	out, err := b.Store.Finish(b.Context(), w.Lane, f)
	if err != nil || out.Born || out.Seq != 2 {
		b.Fatalf("%+v, %v", out, err)
	}
	if d := cmp.Diff([]string{"finish sent-1: Once upon", "send : a time"}, said(b.sentAs(p))); d != "" {
		b.Error(d)
	}
	log := b.log(p)
	if e := log[len(log)-2]; e.EditOf != "sent-1" || e.Text != "Once upon" || e.ID == "sent-1" {
		b.Errorf("logged %+v", e)
	}
	if w := b.begin(p); w.Draft != nil {
		b.Errorf("the next turn has a draft: %+v", w.Draft)
	}
}

// sentAs is send for a platform that knows an edited message by its own id.
func (b *bench) sentAs(p inbox.Place) (all []outbox.Entry) {
	b.Helper()
	e, ok, _, err := b.Store.Next(b.Context(), p.ChatKey)
	for ok && err == nil {
		all = append(all, e)
		id := platformID(e)
		if e.Kind != outbox.Send {
			id = e.Target
		}
		e, ok, err = b.Store.Sent(b.Context(), e, channels.Receipt{ID: id})
	}
	if err != nil {
		b.Fatal(err)
	}
	return all
}

func draftQueued(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "tell me", inbox.Queued)
	w := b.begin(p)
	b.draft(w, false)
	b.end(w, "Once upon")
	if d := cmp.Diff([]string{"send : Once upon"}, said(b.send(p))); d != "" {
		b.Error(d)
	}
	b.silent(p)
}

func draftFailed(b *bench) {
	for _, unknown := range []bool{false, true} {
		p := alone(fmt.Sprint("ana", unknown))
		b.say(p, "ana", "tell me", inbox.Queued)
		w := b.begin(p)
		b.draft(w, false)
		b.failed(b.next(p), unknown)
		b.release(w.Lane)
		w = b.begin(p)
		if w.Draft == nil || !w.Draft.Lost {
			b.Errorf("%+v isn't lost", w.Draft)
		}
		b.end(w, "Once upon")
		if d := cmp.Diff([]string{"send : Once upon"}, said(b.send(p))); d != "" {
			b.Error(d)
		}
	}
}

func draftFailsLate(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "tell me", inbox.Queued)
	w := b.begin(p)
	b.draft(w, false)
	e := b.next(p)
	b.end(w, "Once upon")
	b.failed(e, false)
	e = b.next(p)
	check(b, "kind", e.Kind, outbox.Finish)
	check(b, "target", e.Target, "")
	b.sent(e) // as a message of its own
	log := b.log(p)
	if last := log[len(log)-1]; last.EditOf != "" || last.ID != "sent-2" || last.Text != "Once upon" {
		b.Errorf("logged %+v", last)
	}
}

func draftAttempts(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "tell me", inbox.Queued)
	for attempt := range 2 {
		w := b.begin(p)
		check(b, "attempt", w.Attempt, attempt)
		b.draft(w, true)
		b.reopen(true)
		b.lapse()
	}
	w := b.begin(p)
	check(b, "attempt", w.Attempt, 2)
	b.end(w, "Once upon")
	check(b, "messages", len(b.send(p)), 2)
}

func draftReset(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "tell me", inbox.Queued)
	w := b.begin(p)
	b.draft(w, false)
	b.command(p, inbox.ActReset, "forgotten")
	b.stale(w)
	_, err := b.Store.Draft(b.Context(), w.Lane, turn.Draft{Seq: w.from, Part: channels.Part{Chat: p.Chat, Text: "late …"}})
	b.lost("draft", err)
	b.release(w.Lane)
	if d := cmp.Diff([]string{"send : forgotten"}, said(b.send(p))); d != "" {
		b.Error(d)
	}
	// What was seen stays as it is.
	b.say(p, "ana", "tell me", inbox.Queued)
	w = b.begin(p)
	b.draft(w, true)
	b.send(p)
	b.command(p, inbox.ActCancel, "stopped")
	b.release(w.Lane)
	if d := cmp.Diff([]string{"send : stopped"}, said(b.send(p))); d != "" {
		b.Error(d)
	}
	b.say(p, "ana", "again", inbox.Queued)
	if w := b.begin(p); w.Draft != nil {
		b.Errorf("the next turn has a draft: %+v", w.Draft)
	}
}
