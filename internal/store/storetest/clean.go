package storetest

import (
	"fmt"
	"time"

	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/outbox"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/turn"
)

const day = 24 * time.Hour

func cleanTests() []test {
	return []test{
		{"retention_removes_what_is_past_its_time", cleanOld},
		{"retention_keeps_what_is_needed", cleanNeeded},
		{"retention_keeps_an_answer_that_nobody_took_yet", cleanAnswer},
		{"retention_waits_for_the_audits_cursors", cleanAudit},
		{"retention_goes_in_portions", cleanPortions},
	}
}

// clean cleans up until nothing is left to do.
func (b *bench) clean(keep store.Keep) (removed int) {
	b.Helper()
	for {
		n, more, err := b.Store.Clean(b.Context(), keep)
		if err != nil {
			b.Fatalf("cleaning up: %v", err)
		}
		removed += n
		if !more {
			return removed
		}
	}
}

// lived is a chat with everything in it that can grow old.
func (b *bench) lived(p inbox.Place) inbox.Delivery {
	b.Helper()
	q := b.question(p, "ana")
	d := b.press(q, p, "ana", confirm.ValueYes)
	b.accept(d)
	w := b.begin(p)
	b.remember(&w)
	b.end(w, "ordered")
	b.sent(b.next(p))
	b.send(p)
	return d
}

func cleanOld(b *bench) {
	p := alone("ana")
	d := b.lived(p)
	if n := b.clean(store.DefaultKeep()); n != 0 {
		b.Errorf("removed %d at once", n)
	}
	b.Advance(8 * day)
	check(b, "after 8 days: the message's content, the remembered run", b.clean(store.DefaultKeep()), 2)
	check(b, "press again", b.accept(d).Outcome, inbox.AnsweredQuestion)
	b.Advance(23 * day)
	// The message's row and two identities; the question, its edit and the
	// reply; the two calls' rows (one failed with the turn), the question's
	// and the turn's.
	if n := b.clean(store.DefaultKeep()); n < 8 {
		b.Errorf("removed only %d after 31 days", n)
	}
	check(b, "again", b.clean(store.DefaultKeep()), 0)
	check(b, "log and history stay", len(b.log(p)), 4)
	b.say(p, "ana", "hi", inbox.Queued)
	w := b.begin(p)
	check(b, "history", len(w.History), 2)
	check(b, "seq goes on", w.from, 2)
	check(b, "outbox goes on", b.end(w, "hello").Seq, 4)
	b.Advance(31 * day)
	b.clean(store.Keep{Log: 30 * day, History: 30 * day})
	b.say(p, "ana", "hi", inbox.Queued)
	check(b, "history", len(b.peek(p.Lane).History), 0)
	entries, err := b.Store.Log(b.Context(), p.ChatKey, 0, 10)
	if err != nil || len(entries) != 1 || entries[0].N != 6 {
		b.Errorf("log %+v, %v", entries, err)
	}
}

// everything is kept for a day only.
func everything() store.Keep {
	return store.Keep{
		Payload: day, Dedupe: day, Outbox: day, Turns: day, Unknown: day, Audit: day, Log: day, History: day,
	}
}

func cleanNeeded(b *bench) {
	waiting, parked, unsent, running := alone("waiting"), alone("parked"), alone("unsent"), alone("running")
	b.say(waiting, "ana", "1", inbox.Queued)
	b.say(waiting, "ana", "2", inbox.Queued)
	q := b.question(parked, "ana", func(st *turn.Step) { st.Wait.Timeout = 365 * day })
	b.queue(unsent, "not sent yet")
	b.say(running, "ana", "order", inbox.Queued)
	w := b.begin(running)
	st := b.step(&w)
	st.Calls, st.Started = []turn.Call{{ID: "c1", Tool: "order"}}, "c1"
	b.commit(w, st)

	b.Advance(60 * day)
	b.clean(everything())

	check(b, "waiting", b.peek(waiting.Lane).Queue[0].In.Text, "1")
	check(b, "unsent", b.next(unsent).Part.Text, "not sent yet")
	got := b.load(w.Lane)
	if got.Saved == nil || got.Saved.Input.Text != "order" || len(got.Saved.Calls) != 1 {
		b.Errorf("running turn: %+v", got.Saved)
	}
	// The edit of an old question still finds its message.
	b.accept(b.press(q, parked, "ana", confirm.ValueYes))
	b.Advance(2 * day)
	b.clean(everything())
	edit := b.next(parked)
	check(b, "kind", edit.Kind, outbox.Edit)
	check(b, "target", edit.Target, messageID(q))
	saved := b.peek(parked.Lane).Saved
	if saved == nil || saved.Input.Text != "order a cake" || saved.Wait == nil {
		b.Errorf("parked turn: %+v", saved)
	}
	b.sent(edit)
	b.end(b.begin(parked), "ordered")
}

func cleanAnswer(b *bench) {
	p := alone("ana")
	q := b.question(p, "ana")
	b.accept(b.press(q, p, "ana", confirm.ValueYes))
	b.Advance(60 * day) // the bot was off all the time
	b.clean(everything())
	check(b, "answer", b.answer(q).Outcome, confirm.Approved)
}

func cleanAudit(b *bench) {
	for range 4 {
		if err := b.Store.Late(b.Context(), "lane", audit.Event{At: b.Store.Now().UnixMilli(), Type: audit.ToolResult}); err != nil {
			b.Fatal(err)
		}
	}
	rows, err := b.Store.After(b.Context(), 0, 10)
	if err != nil || len(rows) != 4 {
		b.Fatalf("%d rows, %v", len(rows), err)
	}
	for sink, i := range map[string]int{"file": 3, "webhook": 1} {
		if err := b.Store.SetCursor(b.Context(), sink, rows[i].ID); err != nil {
			b.Fatal(err)
		}
	}
	b.Advance(2 * day)
	check(b, "removed", b.clean(store.Keep{Audit: day}), 2)
	if err := b.Store.SetCursor(b.Context(), "webhook", rows[3].ID); err != nil {
		b.Fatal(err)
	}
	check(b, "removed", b.clean(store.Keep{Audit: day}), 2)
}

func cleanPortions(b *bench) {
	p := group("team")
	for range 1500 {
		d := b.text(p, "ana", "chatter")
		d.Routed = false
		b.accept(d)
	}
	b.Advance(2 * day)
	for i, want := range []int{1000, 500, 0} {
		n, more, err := b.Store.Clean(b.Context(), store.Keep{Dedupe: day})
		if n != want || more != (i == 0) || err != nil {
			b.Errorf("%s: %d removed, more %v, error %v", fmt.Sprint("portion ", i+1), n, more, err)
		}
	}
}
