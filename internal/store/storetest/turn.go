package storetest

import (
	"encoding/json"
	"fmt"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/turn"
)

func turnTests() []test {
	return []test{
		{"T2_load_of_a_new_turn", loadNew},
		{"T2_load_of_a_saved_turn", loadSaved},
		{"A6_history_by_turn", history},
		{"T6_advances_over_taken_messages", advanceTaken},
		{"B27_taken_by_a_turn_that_was_never_saved", takenPlain},
		{"T6_ends_the_lease", finishEnds},
		{"T6_twice_changes_nothing", finishTwice},
		{"T6_born_only_when_nothing_waits", bornSending},
		{"T6_of_another_turn_is_lost", finishOther},
		{"T4_T5_T6_stale_fence_changes_nothing", staleFence},
	}
}

func loadNew(b *bench) {
	p := groupUser("team", "ana")
	d := b.text(p, "ana", "hi")
	d.In.From.Claims = map[string]string{"phone": "+1"}
	d.In.Media = []channels.Media{{Type: "image", MIME: "image/png", Size: 3, Ref: "r"}}
	b.accept(d)
	w := b.peek(p.Lane)
	want := turn.Work{Channel: channel, ChatKey: p.ChatKey, Queue: []turn.Input{{Seq: 1, In: d.In}}}
	if diff := cmp.Diff(want, w); diff != "" {
		b.Error(diff)
	}
	check(b, "lane", p.Lane, "web:team:ana")
}

func loadSaved(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "order", inbox.Queued)
	w := b.begin(p)
	st := b.step(&w)
	st.Version, st.Journal = 7, json.RawMessage(`{"messages":[1]}`)
	st.Calls = []turn.Call{
		{ID: "c1", Tool: "read_it", Args: json.RawMessage(`{"a":1}`), Effect: tool.Read},
		{ID: "c2", Tool: "order", Effect: tool.Unsafe},
	}
	st.Started = "c1"
	b.commit(w, st)
	b.release(w.Lane)
	b.say(p, "ana", "and then", inbox.Queued)
	got := b.peek(p.Lane)
	want := &turn.Saved{
		ID: w.id, SeqFrom: 1, SeqTo: 1, Input: w.Queue[0].In, Version: 7, Journal: st.Journal,
		Calls: []turn.CallState{{ID: "c1", State: turn.CallStarted, Effect: tool.Read}, {ID: "c2", State: turn.CallProposed, Effect: tool.Unsafe}},
	}
	if d := cmp.Diff(want, got.Saved); d != "" {
		b.Error(d)
	}
	if len(got.Queue) != 1 || got.Queue[0].In.Text != "and then" {
		b.Errorf("queue: %+v", got.Queue)
	}
}

func history(b *bench) {
	p := alone("ana")
	for i := range 5 {
		b.say(p, "ana", "hi", inbox.Queued)
		w := b.begin(p)
		f := w.finish("")
		f.Lines = []turn.Line{{Role: "user", Text: fmt.Sprint("q", i)}, {Role: "user", Text: "and"}, {Role: "assistant", Text: fmt.Sprint("a", i)}}
		if i == 3 {
			f.Lines = nil // leaves no trace
		}
		if _, err := b.Store.Finish(b.Context(), w.Lane, f); err != nil {
			b.Fatal(err)
		}
	}
	b.say(p, "ana", "hi", inbox.Queued)
	l := b.claim(p.Lane)
	all := []string{
		"1 user q0", "1 user and", "1 assistant a0", "2 user q1", "2 user and", "2 assistant a1",
		"3 user q2", "3 user and", "3 assistant a2", "4 user q4", "4 user and", "4 assistant a4",
	}
	// A bound never splits a turn.
	for limit, want := range map[int][]string{1: all[9:], 100: all} {
		w, err := b.Store.Load(b.Context(), l, limit)
		if err != nil {
			b.Fatal(err)
		}
		var got []string
		for _, line := range w.History {
			got = append(got, fmt.Sprint(line.Turn, " ", line.Role, " ", line.Text))
		}
		if d := cmp.Diff(want, got); d != "" {
			b.Errorf("limit %d: %s", limit, d)
		}
	}
}

func advanceTaken(b *bench) {
	p := group("team")
	for _, text := range []string{"1 ana", "2 ben", "3 ana", "4 ana", "5 cem"} {
		b.say(p, text[2:], text, inbox.Queued)
	}
	w := b.begin(p)
	st := b.step(&w)
	st.Take = []int64{3}
	b.commit(w, st)
	f := w.finish("")
	f.Take = []int64{4}
	out, err := b.Store.Finish(b.Context(), w.Lane, f)
	if err != nil || !out.More {
		b.Fatalf("%+v, %v", out, err)
	}
	var rest []string
	for range 2 {
		w := b.begin(p)
		rest = append(rest, w.Queue[0].In.Text)
		b.end(w, "")
	}
	if d := cmp.Diff([]string{"2 ben", "5 cem"}, rest); d != "" {
		b.Error(d)
	}
	b.idle(p.Lane)
}

// takenPlain: a turn whose question gave way to a text has that text with it
// though nothing of it was ever saved.
func takenPlain(b *bench) {
	p := alone("ana")
	for _, text := range []string{"order", "make it two"} {
		b.say(p, "ana", text, inbox.Queued)
	}
	w := b.begin(p)
	f := w.finish("two then")
	f.Take = []int64{2}
	out, err := b.Store.Finish(b.Context(), w.Lane, f)
	if err != nil || out.More {
		b.Errorf("%+v, %v", out, err)
	}
	b.idle(p.Lane)
}

func finishEnds(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "1", inbox.Queued)
	b.say(p, "ana", "2", inbox.Queued)
	w := b.begin(p)
	check(b, "more", b.end(w, "").More, true)
	// The lane is free without a release.
	second := b.claim(p.Lane)
	b.stale(w)
	b.release(second)
	check(b, "more", b.end(b.begin(p), "").More, false)
	b.idle(p.Lane)
	check(b, "wake after the last", b.say(p, "ana", "3", inbox.Queued).Wake, true)
	b.release(b.claim(p.Lane))
	// Neither does a question hold it.
	q := b.ask(b.begin(p))
	b.stale(q.work)
	b.send(p)
	b.say(p, "ana", "yes", inbox.AnsweredQuestion)
	b.release(b.claim(p.Lane))
}

func finishTwice(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "1", inbox.Queued)
	b.say(p, "ana", "2", inbox.Queued)
	w := b.begin(p)
	b.end(w, "one")
	_, err := b.Store.Finish(b.Context(), w.Lane, w.finish("one"))
	b.lost("finish", err)
	// Not even with the newest fence.
	l := b.claim(p.Lane)
	_, err = b.Store.Finish(b.Context(), l, w.finish("one"))
	b.lost("finish of a message that is done", err)
	check(b, "replies", len(b.send(p)), 1)
}

func bornSending(b *bench) {
	p := alone("ana")
	two := func(w work) turn.Finish {
		f := w.finish("one")
		f.Say = append(f.Say, channels.Part{Chat: p.Chat, Text: "two"})
		return f
	}
	finish := func(own bool) turn.Finished {
		b.say(p, "ana", "hi", inbox.Queued)
		w := b.begin(p)
		f := two(w)
		f.Own = own
		out, err := b.Store.Finish(b.Context(), w.Lane, f)
		if err != nil {
			b.Fatal(err)
		}
		return out
	}
	out := finish(true)
	if !out.Born || out.Seq != 1 {
		b.Errorf("into an empty outbox: %+v", out.Spoke)
	}
	if again := finish(true); again.Born || again.Seq != 3 {
		b.Errorf("behind others: %+v", again.Spoke)
	}
	e, ok := b.sent(entryOf(p, 1, "one"))
	check(b, "next", ok, true)
	for _, want := range []int64{2, 3, 4} {
		check(b, "seq", e.Seq, want)
		check(b, "maybe", e.Maybe, false)
		check(b, "attempts", e.Attempts, 1)
		e, ok = b.sent(e)
	}
	check(b, "rest", ok, false)
	if foreign := finish(false); foreign.Born {
		b.Errorf("of another process: %+v", foreign.Spoke)
	}
	check(b, "first", b.next(p).Seq, 5)
}

func finishOther(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "hi", inbox.Queued)
	w := b.begin(p)
	b.commit(w, b.step(&w))
	for _, id := range []string{"", "another"} {
		other := w
		other.id = id
		_, err := b.Store.Finish(b.Context(), w.Lane, other.finish("stale"))
		b.lost("finish of turn "+id, err)
	}
	other := w
	other.id = "another"
	_, err := b.Store.Step(b.Context(), w.Lane, b.step(&other))
	b.lost("step of another turn", err)
	b.lost("start of another turn", b.Store.Start(b.Context(), w.Lane, turn.Start{TurnID: "another", CallID: "c"}))
	b.silent(p)
	b.end(w, "done")
}

func staleFence(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "hi", inbox.Queued)
	w := b.begin(p)
	st := b.step(&w)
	st.Calls, st.Started = []turn.Call{{ID: "c1", Tool: "order"}}, "c1"
	b.commit(w, st)
	b.command(p, inbox.ActCancel, "stopped")
	b.send(p)
	b.stale(w)
	late := audit.Event{At: 1, Type: audit.ToolResult, Turn: w.id, ChatKey: p.ChatKey}
	if err := b.Store.Late(b.Context(), p.Lane, late); err != nil {
		b.Error(err)
	}
	if types := b.events(); len(types) == 0 || types[len(types)-1] != audit.ToolResult {
		b.Errorf("events: %v", types)
	}
	b.release(w.Lane)
	b.say(p, "ana", "again", inbox.Queued)
	got := b.peek(p.Lane)
	if got.Saved != nil || len(got.Runs) != 0 || len(got.History) != 1 {
		b.Errorf("a stale commit left something: %+v", got)
	}
	b.silent(p)
	if _, version, err := b.Store.Get(b.Context(), "bot", "k"); version != 0 || err != nil {
		b.Errorf("version %d, error %v", version, err)
	}
}
