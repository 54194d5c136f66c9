package storetest

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/ledger"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/turn"
)

func stepTests() []test {
	return []test{
		{"B27_T3_gives_way_to_texts_that_wait", stepTexts},
		{"B27_T3_ignores_texts_of_others_and_taken_ones", stepOthers},
		{"B2_T3_parks_the_lane", stepParks},
		{"G4_T3_and_T4_save_the_intent", stepStarts},
		{"G4_T4_of_a_call_that_is_not_open_fails", startClosed},
		{"G4_open_calls_end_with_their_turn", callsEnd},
		{"T5_keeps_the_run_and_the_events", resultKeeps},
		{"T5_conflict_keeps_nothing", resultConflict},
		{"C1_runs_are_forgotten_in_time", runsForgotten},
		{"B2_newest_question_is_the_turns", newestQuestion},
	}
}

func stepTexts(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "order", inbox.Queued)
	w := b.begin(p)
	b.say(p, "ana", "make it two", inbox.Queued)
	b.say(p, "ana", "please", inbox.Queued)
	st := b.question1(&w)
	st.Events = []audit.Event{{At: 1, Type: audit.ToolCall}}
	out := b.commit(w, st)
	var got []string
	for _, in := range out.Texts {
		got = append(got, in.In.Text)
	}
	if d := cmp.Diff([]string{"make it two", "please"}, got); d != "" {
		b.Error(d)
	}
	check(b, "said", out.Seq, 0)
	check(b, "events", len(b.events()), 0)
	b.silent(p)
	_, questions, err := b.Store.Waiting(b.Context())
	if questions != 0 || err != nil {
		b.Errorf("%d questions, %v", questions, err)
	}
	check(b, "saved", b.load(w.Lane).Saved, nil)
	// With those consumed the question is asked.
	st.Take = []int64{2, 3}
	check(b, "asked", b.commit(w, st).Seq, 1)
}

func stepOthers(b *bench) {
	p := group("team")
	b.say(p, "ana", "order", inbox.Queued)
	w := b.begin(p)
	b.say(p, "ben", "me too", inbox.Queued)
	d := b.text(p, "ana", "")
	d.In.Media = []channels.Media{{Type: "image"}}
	b.accept(d)
	b.ask(w)
}

func stepParks(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "order", inbox.Queued)
	q := b.ask(b.begin(p))
	if !q.Born || q.Seq != 1 {
		b.Errorf("%+v", q.Spoke)
	}
	b.idle(p.Lane)
	ready, err := b.Store.Ready(b.Context(), 10)
	if len(ready) != 0 || err != nil {
		b.Errorf("ready %v, %v", ready, err)
	}
	lanes, questions, err := b.Store.Waiting(b.Context())
	if lanes != 0 || questions != 1 || err != nil {
		b.Errorf("%d lanes, %d questions, %v", lanes, questions, err)
	}
}

// calls are the states of the turn's open calls.
func (b *bench) calls(w work) map[string]string {
	b.Helper()
	out := map[string]string{}
	for _, c := range b.load(w.Lane).Saved.Calls {
		out[c.ID] = c.State
	}
	return out
}

func stepStarts(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "order", inbox.Queued)
	w := b.begin(p)
	st := b.step(&w)
	st.Calls, st.Started = []turn.Call{{ID: "c1", Tool: "a"}, {ID: "c2", Tool: "b"}, {ID: "c3", Tool: "c"}}, "c1"
	b.commit(w, st)
	if d := cmp.Diff(map[string]string{"c1": turn.CallStarted, "c2": turn.CallProposed, "c3": turn.CallProposed}, b.calls(w)); d != "" {
		b.Error(d)
	}
	b.result(w, "c1", turn.CallFailed)
	// One saved before can be started by a step too.
	st = b.step(&w)
	st.Started = "c2"
	b.commit(w, st)
	if err := b.Store.Start(b.Context(), w.Lane, turn.Start{TurnID: w.id, CallID: "c3", Version: 1, Journal: json.RawMessage(`{"c":3}`)}); err != nil {
		b.Error(err)
	}
	if d := cmp.Diff(map[string]string{"c2": turn.CallStarted, "c3": turn.CallStarted}, b.calls(w)); d != "" {
		b.Error(d)
	}
	check(b, "journal", string(b.load(w.Lane).Saved.Journal), `{"c":3}`)
}

func (b *bench) result(w work, call, state string) {
	b.Helper()
	err := b.Store.Result(b.Context(), w.Lane, turn.Result{TurnID: w.id, CallID: call, State: state, Version: 1, Journal: json.RawMessage(`{}`)})
	if err != nil {
		b.Fatalf("result of %s: %v", call, err)
	}
}

func startClosed(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "order", inbox.Queued)
	w := b.begin(p)
	st := b.step(&w)
	st.Calls, st.Started = []turn.Call{{ID: "c1", Tool: "a"}}, "c1"
	b.commit(w, st)
	b.result(w, "c1", turn.CallSucceeded)
	for _, call := range []string{"c1", "never saved"} {
		if err := b.Store.Start(b.Context(), w.Lane, turn.Start{TurnID: w.id, CallID: call, Version: 9, Journal: json.RawMessage(`{}`)}); err == nil {
			b.Errorf("call %q could be started", call)
		}
	}
	check(b, "version of the journal", b.load(w.Lane).Saved.Version, 1)
}

// callsEnd: a call left open would be shown as running for ever.
func callsEnd(b *bench) {
	for _, end := range []string{"finish", "cancel"} {
		p := alone(end)
		b.say(p, "ana", "order", inbox.Queued)
		w := b.begin(p)
		st := b.step(&w)
		st.Calls, st.Started = []turn.Call{{ID: end + "1", Tool: "a"}, {ID: end + "2", Tool: "b"}}, end+"1"
		b.commit(w, st)
		if end == "finish" {
			b.end(w, "done")
		} else {
			b.command(p, inbox.ActCancel, "stopped")
			b.release(w.Lane)
		}
	}
	b.Advance(40 * day)
	check(b, "calls that were never made", b.clean(store.Keep{Turns: 30 * day}), 2)
	check(b, "calls that may have taken effect", b.clean(store.Keep{Unknown: 30 * day}), 2)
	check(b, "the turns, once no call is left", b.clean(store.Keep{Turns: 30 * day}), 2)
}

func resultKeeps(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "order", inbox.Queued)
	w := b.begin(p)
	st := b.step(&w)
	st.Calls, st.Started = []turn.Call{{ID: "c1", Tool: "order"}}, "c1"
	st.Events = []audit.Event{{At: 1, Type: audit.ToolCall, Turn: w.id}}
	b.commit(w, st)
	now := b.Store.Now()
	run := ledger.Run{
		CallID: "c1", Tool: "order", Title: "Order", ArgsHash: "h", Args: json.RawMessage(`{"a":[1]}`), Lines: []string{"• a"},
		Result: json.RawMessage(`"ok"`), Unknown: true, Confirmed: true, EndedAt: now.UTC(), KeepUntil: now.Add(time.Hour).UTC(),
	}
	err := b.Store.Result(b.Context(), w.Lane, turn.Result{
		TurnID: w.id, CallID: "c1", State: turn.CallSucceeded, Value: json.RawMessage(`{"id":1}`), Version: 2, Journal: json.RawMessage(`{"done":1}`),
		Run: &run, Events: []audit.Event{{At: 2, Type: audit.ToolResult, Turn: w.id}},
		Writes: []tool.Write{{Scope: "bot", Key: "k", Value: json.RawMessage(`1`)}},
	})
	if err != nil {
		b.Fatal(err)
	}
	got := b.load(w.Lane)
	if d := cmp.Diff([]ledger.Run{run}, got.Runs); d != "" {
		b.Error(d)
	}
	if got.Saved.Version != 2 || string(got.Saved.Journal) != `{"done":1}` || len(got.Saved.Calls) != 0 {
		b.Errorf("saved %+v", got.Saved)
	}
	if d := cmp.Diff([]string{audit.ToolCall, audit.ToolResult}, b.events()); d != "" {
		b.Error(d)
	}
}

func resultConflict(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "order", inbox.Queued)
	w := b.begin(p)
	st := b.step(&w)
	st.Calls, st.Started = []turn.Call{{ID: "c1", Tool: "order"}}, "c1"
	b.commit(w, st)
	zero, one := int64(0), int64(1)
	put := func(writes ...tool.Write) error {
		return b.Store.Result(b.Context(), w.Lane, turn.Result{
			TurnID: w.id, CallID: "c1", State: turn.CallSucceeded, Version: 3, Journal: json.RawMessage(`{"after":1}`), Writes: writes,
			Run:    &ledger.Run{CallID: "c1", KeepUntil: b.Store.Now().Add(time.Hour)},
			Events: []audit.Event{{At: 1, Type: audit.ToolResult}},
		})
	}
	err := put(tool.Write{Scope: "bot", Key: "a", Value: json.RawMessage(`1`)}, tool.Write{Scope: "bot", Key: "b", Value: json.RawMessage(`1`), IfVersion: &one})
	if !errors.Is(err, turn.ErrConflict) {
		b.Fatalf("error %v, want a conflict", err)
	}
	if v, version, err := b.Store.Get(b.Context(), "bot", "a"); v != nil || version != 0 || err != nil {
		b.Errorf("kept %s, version %d, error %v", v, version, err)
	}
	got := b.load(w.Lane)
	if len(got.Runs) != 0 || len(got.Saved.Calls) != 1 || got.Saved.Version != 1 || len(b.events()) != 0 {
		b.Errorf("a conflict kept something: %+v", got)
	}
	if err := put(tool.Write{Scope: "bot", Key: "b", Value: json.RawMessage(`1`), IfVersion: &zero}); err != nil {
		b.Error(err)
	}
}

func runsForgotten(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "order", inbox.Queued)
	w := b.begin(p)
	b.remember(&w)
	b.Advance(30*time.Minute - time.Millisecond)
	check(b, "within its time", len(b.load(w.Lane).Runs), 1)
	b.Advance(time.Millisecond)
	check(b, "after its time", len(b.load(w.Lane).Runs), 0)
}

// newestQuestion: of two questions of one turn, asked at the same instant, the
// later one's answer counts. Both orders of their tokens are tried.
func newestQuestion(b *bench) {
	for _, tokens := range [][2]string{{"aaaa", "zzzz"}, {"zzzz", "aaaa"}} {
		p := alone(tokens[0])
		name := func(token string) func(*turn.Step) {
			return func(st *turn.Step) { st.Wait.Token = token + "-" + tokens[0] }
		}
		b.question(p, "ana", name(tokens[0]))
		b.say(p, "ana", "yes", inbox.AnsweredQuestion)
		q := b.ask(b.begin(p), name(tokens[1]))
		b.send(p)
		b.say(p, "ana", "no", inbox.AnsweredQuestion)
		check(b, "outcome", string(b.answer(q).Outcome), "denied")
	}
}
