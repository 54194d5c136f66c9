package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/ledger"
	"github.com/parley-bot/parley/internal/outbox"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/turn"
)

func forgetTests() []test {
	return []test{
		{"B6_forget_of_a_question", forgetQuestion},
		{"B6_forget_of_a_question_on_its_way", forgetSending},
		{"B6_forget_of_a_question_that_has_not_left", forgetUnsent},
		{"B6_forget_of_a_running_turn", forgetRunning},
		{"B6_forget_after_an_approval", forgetApproved},
		{"B6_forget_of_queued_messages_and_replies", forgetQueued},
		{"B6_forget_of_a_chat_with_all_in_it", forgetLived},
		{"B6_forget_leaves_no_word_in_any_table", forgetWord},
		{"B6_forget_of_a_group_takes_each_persons_lane", forgetGroup},
		{"B6_forget_leaves_other_chats_alone", forgetOthers},
		{"B6_forget_survives_a_crash", forgetCrash},
		{"D1_forget_leaves_tombstones", forgetAudit},
		{"D1_late_result_of_a_forgotten_chat_is_a_tombstone", forgetLate},
		{"G3_forget_leaves_identities_and_numbers", forgetNumbers},
		{"forget_takes_what_tools_saved", forgetSaved},
	}
}

func (b *bench) forget(p inbox.Place) store.Forgotten {
	b.Helper()
	f, err := b.Store.Forget(b.Context(), p.ChatKey)
	if err != nil {
		b.Fatalf("forgetting %s: %v", p.ChatKey, err)
	}
	return f
}

// forgotten expects that nothing is left to forget, and that the next message
// is the first.
func (b *bench) forgotten(p inbox.Place) {
	b.Helper()
	if f := b.forget(p); f.Rows != 0 || f.Speak || len(f.Resolved) != 0 {
		b.Errorf("again: %+v", f)
	}
	b.idle(p.Lane)
	log, err := b.Store.Log(b.Context(), p.ChatKey, 0, 10)
	if err != nil || len(log) != 0 {
		b.Errorf("log %+v, %v", log, err)
	}
	b.say(p, "ana", "new", inbox.Queued)
	w := b.begin(p)
	if w.Saved != nil || w.Draft != nil || w.Lang != "" || len(w.History) != 0 || len(w.Runs) != 0 || w.Attempt != 0 || len(w.Queue) != 1 || w.Queue[0].In.Text != "new" {
		b.Errorf("the chat doesn't start anew: %+v", w)
	}
	b.end(w, "hello")
	if d := cmp.Diff([]string{"hello"}, texts(b.send(p))); d != "" {
		b.Error(d)
	}
}

func forgetQuestion(b *bench) {
	p := alone("ana")
	q := b.question(p, "ana")
	b.say(groupUser("ana", "x"), "x", "another lane", inbox.Queued)
	f := b.forget(p)
	want := []inbox.Resolved{{Tool: "place_order", Outcome: "superseded"}}
	if d := cmp.Diff(want, f.Resolved); d != "" || !f.Speak || f.Channel != channel || !slices.Equal(f.Cut, []string{p.Lane, p.Lane + ":x"}) {
		b.Errorf("%+v\n%s", f, d)
	}
	b.stale(q.work)
	check(b, "press", b.accept(b.press(q, p, "ana", confirm.ValueYes)).Outcome, inbox.Stale)
	again := b.forget(p)
	if again.Rows != 0 || !again.Speak {
		b.Errorf("again, with the edit still to send: %+v", again)
	}
	// The buttons go, and the log isn't told of what.
	e := b.next(p)
	if e.Kind != outbox.Edit || e.Target != messageID(q) || e.Part.Text != "Place order?" || len(e.Part.Buttons) != 0 {
		b.Errorf("edit %+v", e)
	}
	b.sent(e)
	log, err := b.Store.Log(b.Context(), p.ChatKey, 0, 10)
	if err != nil || len(log) != 1 || log[0].Text != "" || log[0].EditOf != messageID(q) {
		b.Errorf("log %+v, %v", log, err)
	}
	b.Advance(time.Hour)
	b.expire(0)
	b.forget(p)
	b.forgotten(p)
}

func forgetSending(b *bench) {
	p := alone("ana")
	q := b.unsent(p)
	e := b.next(p)
	if f := b.forget(p); !f.Speak || len(f.Resolved) != 1 {
		b.Errorf("%+v", f)
	}
	edit, ok := b.sent(e)
	if !ok || edit.Kind != outbox.Edit || edit.Target != messageID(q) {
		b.Errorf("after the question: %+v, %v", edit, ok)
	}
	b.sent(edit)
	b.forget(p)
	b.forgotten(p)

	// Of one that a crash left there is no telling: it isn't asked again.
	p = alone("ben")
	b.unsent(p)
	b.next(p)
	b.forget(p)
	b.reopen(true)
	edit = b.next(p)
	check(b, "kind", edit.Kind, outbox.Edit)
	check(b, "target", edit.Target, "")
	b.failed(edit, false)
	b.forget(p)
	b.forgotten(p)

	// One that the platform refused isn't tried again either.
	p = alone("cleo")
	b.unsent(p)
	e = b.next(p)
	b.forget(p)
	if err := b.Store.Retry(b.Context(), e, b.Store.Now(), false, "busy"); err != nil {
		b.Error(err)
	}
	check(b, "kind", b.next(p).Kind, outbox.Edit)
}

func forgetUnsent(b *bench) {
	p := alone("ana")
	q := b.unsent(p, inParts)
	if f := b.forget(p); f.Speak || len(f.Resolved) != 1 {
		b.Errorf("%+v", f)
	}
	b.silent(p)
	b.stale(q.work)
	b.forgotten(p)
}

func forgetRunning(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "first", inbox.Queued)
	plain := b.begin(p)
	b.draft(plain, false)
	b.forget(p)
	b.stale(plain)
	_, err := b.Store.Draft(b.Context(), plain.Lane, turn.Draft{Seq: plain.from, Part: channels.Part{Chat: p.Chat, Text: "late …"}})
	b.lost("draft", err)
	b.release(plain.Lane)
	b.forgotten(p)

	b.say(p, "ana", "second", inbox.Queued)
	saved := b.begin(p)
	st := b.step(&saved)
	st.Calls, st.Started = []turn.Call{{ID: "c", Tool: "order", Args: json.RawMessage(`{"for":"ana"}`)}}, "c"
	b.commit(saved, st)
	if f := b.forget(p); !slices.Equal(f.Cut, []string{p.Lane}) || f.Rows == 0 {
		b.Errorf("%+v", f)
	}
	b.stale(saved)
	b.release(saved.Lane)
	b.forgotten(p)
}

func forgetApproved(b *bench) {
	p := alone("ana")
	b.question(p, "ana")
	b.say(p, "ana", "yes", inbox.AnsweredQuestion)
	w := b.begin(p)
	if f := b.forget(p); !f.Speak || len(f.Resolved) != 0 {
		b.Errorf("%+v", f)
	}
	b.stale(w)
	b.release(w.Lane)
	if d := cmp.Diff([]string{"edit sent-1: Place order?\n→ Yes"}, said(b.sentAs(p))); d != "" {
		b.Error(d)
	}
	b.forget(p)
	b.forgotten(p)
}

func forgetQueued(b *bench) {
	p := alone("ana")
	for _, text := range []string{"one", "two", "three"} {
		b.say(p, "ana", text, inbox.Queued)
	}
	b.queue(p, "not sent yet")
	onItsWay := b.next(p)
	b.queue(p, "nor this")
	if f := b.forget(p); f.Speak || f.Rows == 0 {
		b.Errorf("%+v", f)
	}
	b.silent(p)
	if next, ok := b.sent(onItsWay); ok {
		b.Errorf("after it: %+v", next)
	}
	b.forgotten(p)
}

func forgetLived(b *bench) {
	p := alone("ana")
	b.lived(p)
	b.command(p, inbox.ActLang, "Español")
	b.forget(p)
	lang, err := b.Store.Language(b.Context(), p.Lane)
	if lang != "" || err != nil {
		b.Errorf("language %q, %v", lang, err)
	}
	questions, err := b.Store.ListQuestions(b.Context(), true, 10)
	if err != nil || len(questions) != 0 {
		b.Errorf("questions %+v, %v", questions, err)
	}
	b.forgotten(p)
	if f := b.forget(alone("nobody")); f.Channel != "" || f.Rows != 0 || len(f.Cut) != 0 {
		b.Errorf("of a chat that never was: %+v", f)
	}
}

// forgetWord says, asks, answers, saves and fails with one word, and then looks
// for it everywhere.
func forgetWord(b *bench) {
	const word = "sphinx"
	raw := json.RawMessage(`"` + word + `"`)
	p := alone("ana")
	order := func() asked {
		b.say(p, "ana", word, inbox.Queued)
		q := b.ask(b.begin(p), func(st *turn.Step) {
			st.Calls[0].Args, st.Journal, st.UserLines = raw, raw, []string{word}
			st.Wait.Closing.Text, st.Say[0].Text = word, word
			st.Events = []audit.Event{{Type: audit.ToolCall, Turn: st.TurnID, ChatKey: p.Lane, Args: raw}}
		})
		b.send(p)
		return q
	}
	order()
	b.say(p, "ana", "yes", inbox.AnsweredQuestion)
	b.send(p)
	w := b.begin(p)
	call := w.Saved.Wait.CallID
	if err := b.Store.Start(b.Context(), w.Lane, turn.Start{TurnID: w.id, CallID: call, Journal: raw}); err != nil {
		b.Fatal(err)
	}
	now := b.Store.Now()
	err := b.Store.Result(b.Context(), w.Lane, turn.Result{
		TurnID: w.id, CallID: call, State: turn.CallSucceeded, Journal: raw, Value: raw,
		Writes: []tool.Write{{Scope: tool.ScopeOf("chat", channel, p.ChatKey), Key: word, Value: raw}},
		Run:    &ledger.Run{CallID: call, Tool: word, EndedAt: now, KeepUntil: now.Add(100 * day)},
		Events: []audit.Event{{Type: audit.ToolResult, Turn: w.id, ChatKey: p.Lane, Error: word}},
	})
	if err != nil {
		b.Fatal(err)
	}
	f := w.finish(word)
	f.Error = word
	if _, err := b.Store.Finish(b.Context(), w.Lane, f); err != nil {
		b.Fatal(err)
	}
	e := b.next(p)
	if _, err := b.Store.Failed(b.Context(), e, false, word); err != nil {
		b.Fatal(err)
	}
	// The calls of an old turn may be all that is left of it.
	b.Advance(40 * day)
	b.clean(store.Keep{Turns: 30 * day})
	order()
	b.say(p, "ben", word, inbox.Queued)
	want := []string{"audit", "call", "history", "inbox", "kv", "lane", "log", "outbox", "run", "turn", "wait"}
	if d := cmp.Diff(want, b.Holding(word)); d != "" {
		b.Errorf("before:\n%s", d)
	}
	b.forget(p)
	if d := cmp.Diff([]string{"outbox"}, b.Holding(word)); d != "" {
		b.Errorf("after, with the edit still to send:\n%s", d)
	}
	check(b, "sent", len(b.send(p)), 1)
	if d := cmp.Diff([]string(nil), b.Holding(word)); d != "" {
		b.Errorf("after:\n%s", d)
	}
}

func forgetGroup(b *bench) {
	ana, ben := groupUser("team", "ana"), groupUser("team", "ben")
	qa, qb := b.question(ana, "ana"), b.question(ben, "ben")
	f := b.forget(group("team"))
	if !slices.Equal(f.Cut, []string{ana.Lane, ben.Lane}) || len(f.Resolved) != 2 {
		b.Errorf("%+v", f)
	}
	b.stale(qa.work)
	b.stale(qb.work)
	check(b, "edits", len(b.sentAs(ana)), 2)
	b.forget(ana)
	b.forgotten(ana)
}

func forgetOthers(b *bench) {
	// Ids that begin alike, and one with a colon in it.
	mine, others := alone("1"), []inbox.Place{alone("12"), alone("1:2"), alone("1;"), alone(""), alone("1:")}
	b.lived(mine)
	asked := map[string]asked{}
	for _, p := range others {
		b.lived(p)
		asked[p.Lane] = b.question(p, "ana")
	}
	before := b.tellings()
	b.forget(mine)
	for _, p := range others {
		check(b, "turn of "+p.Lane, len(b.log(p)), 6)
		b.say(p, "ana", "yes", inbox.AnsweredQuestion)
		w := b.begin(p)
		if w.id != asked[p.Lane].id || len(w.History) != 2 || len(w.Runs) != 1 {
			b.Errorf("%s: %+v", p.Lane, w)
		}
	}
	for id, e := range b.tellings() {
		if was, ok := before[id]; ok && e.ChatKey != was.ChatKey && was.ChatKey != mine.Lane {
			b.Errorf("event %d of %s became %+v", id, was.ChatKey, e)
		}
	}
	b.forgotten(mine)
}

func forgetCrash(b *bench) {
	p := alone("ana")
	q := b.question(p, "ana")
	b.forget(p)
	b.reopen(true)
	check(b, "press", b.accept(b.press(q, p, "ana", confirm.ValueYes)).Outcome, inbox.Stale)
	if d := cmp.Diff([]string{"edit sent-1: Place order?"}, said(b.sentAs(p))); d != "" {
		b.Error(d)
	}
	b.forget(p)
	b.reopen(false)
	b.forgotten(p)
}

// tellings are the audit's events by their row's id.
func (b *bench) tellings() map[int64]audit.Event {
	b.Helper()
	rows, err := b.Store.After(b.Context(), 0, 100_000)
	if err != nil {
		b.Fatalf("reading audit: %v", err)
	}
	out := map[int64]audit.Event{}
	for _, r := range rows {
		var e audit.Event
		if err := json.Unmarshal(r.Event, &e); err != nil {
			b.Fatalf("decoding audit event %d: %v", r.ID, err)
		}
		out[r.ID] = e
	}
	return out
}

func forgetAudit(b *bench) {
	p := groupUser("team", "ana")
	b.say(p, "ana", "order", inbox.Queued)
	w := b.begin(p)
	st := b.step(&w)
	full := audit.Event{
		At: 5, Type: audit.ToolError, Step: 1, Turn: w.id, Tool: "order", CallID: w.id + ".1.0", ChatKey: p.Lane,
		Args: json.RawMessage(`{"for":"ana"}`), DurationMs: 7, Error: "ana isn't known", Actor: "ana",
	}
	st.Events = []audit.Event{full}
	b.commit(w, st)
	// Another's, and one that came late and so is filed under the lane.
	other := full
	other.ChatKey, other.Turn = "web:team2", ""
	for _, e := range []audit.Event{other, full} {
		if err := b.Store.Late(b.Context(), e.ChatKey, e); err != nil {
			b.Fatal(err)
		}
	}
	b.forget(p)
	bare := audit.Event{At: 5, Type: audit.ToolError, Step: 1, Turn: w.id, Tool: "order", CallID: w.id + ".1.0", DurationMs: 7}
	if d := cmp.Diff(map[int64]audit.Event{1: bare, 2: other, 3: bare}, b.tellings()); d != "" {
		b.Error(d)
	}
}

func forgetLate(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "order", inbox.Queued)
	w := b.begin(p)
	b.commit(w, b.step(&w))
	late := audit.Event{At: 5, Type: audit.ToolError, Step: 1, Turn: w.id, Tool: "order", ChatKey: p.Lane, Error: "ana isn't known"}
	b.forget(p)
	if err := b.Store.Late(b.Context(), p.Lane, late); err != nil {
		b.Fatal(err)
	}
	for id, e := range b.tellings() {
		if d := cmp.Diff(audit.Event{At: 5, Type: audit.ToolError, Step: 1, Turn: w.id, Tool: "order"}, e); d != "" {
			b.Errorf("event %d: %s", id, d)
		}
	}
	b.release(w.Lane)
	b.forgotten(p)
}

func forgetNumbers(b *bench) {
	p := alone("ana")
	d := b.text(p, "ana", "hi")
	b.accept(d)
	b.end(b.begin(p), "hello")
	b.send(p)
	b.forget(p)
	check(b, "the same message again", b.accept(d).Outcome, inbox.Duplicate)
	b.say(p, "ana", "new", inbox.Queued)
	w := b.begin(p)
	check(b, "place in the queue", w.from, 2)
	check(b, "entry", b.end(w, "hello").Seq, 2)
	log, err := b.Store.Log(b.Context(), p.ChatKey, 0, 10)
	if err != nil || len(log) != 1 || log[0].N != 3 {
		b.Errorf("log %+v, %v", log, err)
	}
}

func forgetSaved(b *bench) {
	scopes := []tool.Scope{
		"chat:web:ana", "user:web:ana", "user:web:u7", "chat:web:ana2", "chat:web:ana:2", "user:web:ana2", "user:tg:ana", "bot",
	}
	var writes []tool.Write
	for _, scope := range scopes {
		writes = append(writes, tool.Write{Scope: scope, Key: "k", Value: json.RawMessage(`1`)})
	}
	b.save(writes...)
	left := func(p inbox.Place, want int) {
		b.Helper()
		b.forget(p)
		var have []tool.Scope
		for _, scope := range scopes {
			v, _, err := b.Store.Get(b.Context(), scope, "k")
			if err != nil {
				b.Fatal(err)
			}
			if v != nil {
				have = append(have, scope)
			}
		}
		if d := cmp.Diff(scopes[want:], have); d != "" {
			b.Error(fmt.Sprint(p.ChatKey, ": ", d))
		}
	}
	// A group takes none of its people's.
	b.say(group("team"), "u7", "hi", inbox.Queued)
	left(group("team"), 0)
	// In a private chat the person may have another id than the chat.
	b.say(alone("ana"), "u7", "hi", inbox.Queued)
	left(alone("ana"), 3)
}
