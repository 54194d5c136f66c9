package storetest

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/turn"
)

func restartTests() []test {
	return []test{
		{"G3_accepted_messages_survive", restartMessages},
		{"G3_parked_question_survives", restartQuestion},
		{"G3_running_turn_goes_on_from_its_step", restartTurn},
		{"G8_crash_counts_against_the_head", restartCounts},
		{"G8_crash_of_a_lane_alone_counts_against_no_other", restartAlone},
		{"G3_identity_of_messages_survives", restartDedupe},
		{"G3_lanes_of_channels_that_are_elsewhere_wait", restartElsewhere},
	}
}

// lapse lets leases of a process that died run out.
func (b *bench) lapse() { b.Advance(31 * time.Second) }

func restartMessages(b *bench) {
	for _, crash := range []bool{false, true, true} {
		p := alone(fmt.Sprint("ana", b.id()))
		for i := range 3 {
			b.say(p, "ana", fmt.Sprint(i), inbox.Queued)
		}
		b.claim(p.Lane)
		b.reopen(crash)
		b.lapse()
		ready, err := b.Store.Ready(b.Context(), 10)
		if err != nil || len(ready) != 1 {
			b.Fatalf("ready %v, %v", ready, err)
		}
		for i := range 3 {
			w := b.begin(p)
			check(b, "order", w.Queue[0].In.Text, fmt.Sprint(i))
			b.end(w, "answer "+fmt.Sprint(i))
		}
		b.idle(p.Lane)
		b.reopen(crash)
		if d := cmp.Diff([]string{"answer 0", "answer 1", "answer 2"}, texts(b.send(p))); d != "" {
			b.Error(d)
		}
	}
}

func restartQuestion(b *bench) {
	p := alone("ana")
	q := b.question(p, "ana")
	b.reopen(true)
	b.idle(p.Lane)
	check(b, "press", b.accept(b.press(q, p, "ana", confirm.ValueYes)).Outcome, inbox.AnsweredQuestion)
	b.reopen(true)
	check(b, "answer", b.answer(q).Outcome, confirm.Approved)
	b.reopen(false)
	check(b, "turn", b.begin(p).id, q.id)
	// One that nobody answers expires in the next process.
	other := alone("ben")
	b.question(other, "ben")
	b.reopen(true)
	b.Advance(timeout)
	b.expire(1)
}

func restartTurn(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "order", inbox.Queued)
	w := b.begin(p)
	st := b.step(&w)
	st.Calls, st.Started = []turn.Call{{ID: "c1", Tool: "order"}}, "c1"
	b.commit(w, st)
	b.reopen(true)
	b.lapse()
	again := b.begin(p)
	check(b, "turn", again.id, w.id)
	if d := cmp.Diff(map[string]string{"c1": turn.CallStarted}, b.calls(again)); d != "" {
		b.Error(d)
	}
	b.result(again, "c1", turn.CallUnknown)
	b.end(again, "maybe")
	b.idle(p.Lane)
}

func restartCounts(b *bench) {
	p, parked := alone("ana"), alone("ben")
	b.question(parked, "ben", func(st *turn.Step) { st.Wait.Timeout = time.Hour })
	b.say(p, "ana", "crash", inbox.Queued)
	b.say(p, "ana", "innocent", inbox.Queued)
	for want := range 3 {
		l := b.claim(p.Lane)
		check(b, "attempt", l.Attempt, want)
		b.reopen(true)
		b.lapse()
	}
	// A stop in good order doesn't count.
	check(b, "attempt", b.claim(p.Lane).Attempt, 3)
	b.reopen(false)
	b.lapse()
	w := b.begin(p)
	check(b, "attempt after a good stop", w.Attempt, 3)
	b.commit(w, b.step(&w))
	b.release(w.Lane)
	w = b.begin(p)
	check(b, "attempt after a step", w.Attempt, 0)
	w.id = w.Saved.ID
	b.end(w, "")
	check(b, "attempt of the next message", b.claim(p.Lane).Attempt, 0)
	b.say(parked, "ben", "yes", inbox.AnsweredQuestion)
	check(b, "attempt of a turn that waited", b.claim(parked.Lane).Attempt, 0)
}

func restartAlone(b *bench) {
	suspect, innocent := alone("ana"), alone("ben")
	b.say(suspect, "ana", "crash", inbox.Queued)
	b.say(innocent, "ben", "innocent", inbox.Queued)
	attempts := func(doing string, wantSuspect, wantInnocent int, working ...inbox.Place) {
		b.Helper()
		for _, p := range working {
			b.claim(p.Lane)
		}
		b.reopen(true)
		b.lapse()
		for p, want := range map[inbox.Place]int{suspect: wantSuspect, innocent: wantInnocent} {
			l := b.claim(p.Lane)
			check(b, doing+": attempts of "+p.Lane, l.Attempt, want)
			b.release(l)
		}
	}
	note := func(key string) {
		b.Helper()
		if err := b.Store.Alone(b.Context(), key); err != nil {
			b.Fatalf("noting %q: %v", key, err)
		}
	}
	attempts("both at work", 1, 1, suspect, innocent)
	note(suspect.Lane)
	attempts("one alone", 2, 1, suspect)
	attempts("the note counts for one crash", 3, 2, suspect, innocent)
	note(suspect.Lane)
	note("")
	attempts("no longer alone", 4, 3, suspect, innocent)
}

func restartDedupe(b *bench) {
	p := alone("ana")
	d := b.text(p, "ana", "hi")
	b.accept(d)
	b.reopen(true)
	check(b, "again", b.accept(d).Outcome, inbox.Duplicate)
}

// A process without the channel leaves its lanes alone, and isn't why they
// would be given up.
func restartElsewhere(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "hello", inbox.Queued)
	for range 4 {
		b.Store.Serve([]string{"telegram", "we", "web2"})
		if ready, err := b.Store.Ready(b.Context(), 10); err != nil || len(ready) > 0 {
			b.Fatalf("ready %v, %v", ready, err)
		}
		if _, ok, err := b.Store.Claim(b.Context(), p.Lane); err != nil || ok {
			b.Fatalf("claimed %v, %v", ok, err)
		}
		if err := b.Store.CountCrash(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.reopen(false)
	}
	b.Store.Serve([]string{"telegram", channel})
	ready, err := b.Store.Ready(b.Context(), 10)
	if err != nil || len(ready) != 1 {
		b.Fatalf("ready %v, %v", ready, err)
	}
	l := b.claim(p.Lane)
	check(b, "attempts", l.Attempt, 0)
	b.release(l)
	b.end(b.begin(p), "hello")
	b.idle(p.Lane)
}
