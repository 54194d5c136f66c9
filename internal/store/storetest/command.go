package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/ledger"
	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/turn"
)

func commandTests() []test {
	return []test{
		{"B5_reset_of_a_running_turn", resetRunning},
		{"B5_reset_of_a_question", resetQuestion},
		{"B5_reset_after_an_approval", resetApproved},
		{"B5_reset_forgets_all_but_committed_replies", resetForgets},
		{"B5_cancel_ends_the_turn_and_keeps_history", cancelTurn},
		{"B5_cancel_of_a_question", cancelQuestion},
		{"B5_cancel_and_reset_of_a_call_under_way", cutBegun},
		{"G8_failed_with_a_call_under_way", failBegun},
		{"B5_cancel_with_nothing_to_do", cancelNothing},
		{"B5_cancel_of_a_picture_leaves_no_empty_line", cancelPicture},
		{"F1_lang_is_kept", commandLang},
		{"G1_command_again_is_a_duplicate", commandAgain},
		{"B6_help_leaves_the_question_alone", commandSay},
	}
}

// stale expects that nothing of the turn can be committed any more.
func (b *bench) stale(w work) {
	b.Helper()
	ctx := b.Context()
	before := b.events()
	_, err := b.Store.Load(ctx, w.Lane, 10)
	b.lost("load", err)
	_, err = b.Store.Step(ctx, w.Lane, b.step(&w))
	b.lost("step", err)
	b.lost("start", b.Store.Start(ctx, w.Lane, turn.Start{TurnID: w.id, CallID: "c"}))
	b.lost("result", b.Store.Result(ctx, w.Lane, turn.Result{
		TurnID: w.id, CallID: "c", State: turn.CallSucceeded, Run: &ledger.Run{CallID: "stale", KeepUntil: b.Store.Now().Add(time.Hour)},
	}))
	_, err = b.Store.Finish(ctx, w.Lane, w.finish("stale reply"))
	b.lost("finish", err)
	if d := cmp.Diff(before, b.events()); d != "" {
		b.Errorf("a stale commit left events:\n%s", d)
	}
}

func resetRunning(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "first", inbox.Queued)
	b.say(p, "ana", "second", inbox.Queued)
	plain := b.begin(p)
	acc := b.command(p, inbox.ActReset, "forgotten")
	if !acc.Cut || !acc.Speak || !acc.Did || acc.Wake || acc.Lane != p.Lane {
		b.Errorf("%+v", acc)
	}
	b.stale(plain)
	b.release(plain.Lane)
	b.idle(p.Lane)
	if d := cmp.Diff([]string{"forgotten"}, texts(b.send(p))); d != "" {
		b.Error(d)
	}
	// The same with a turn that is saved.
	b.say(p, "ana", "third", inbox.Queued)
	saved := b.begin(p)
	b.commit(saved, b.step(&saved))
	b.command(p, inbox.ActReset, "forgotten")
	b.stale(saved)
	b.release(saved.Lane)
	b.say(p, "ana", "fourth", inbox.Queued)
	w := b.peek(p.Lane)
	if w.Saved != nil || len(w.History) != 0 || w.Queue[0].In.Text != "fourth" {
		b.Errorf("after reset: %+v", w)
	}
}

func resetQuestion(b *bench) {
	p := alone("ana")
	q := b.question(p, "ana")
	acc := b.command(p, inbox.ActReset, "forgotten")
	if acc.Resolved == nil || acc.Resolved.Outcome != "superseded" {
		b.Errorf("resolved %+v", acc.Resolved)
	}
	b.stale(q.work)
	// The question is edited before the command is answered.
	if d := cmp.Diff([]string{"Place order?", "forgotten"}, texts(b.send(p))); d != "" {
		b.Error(d)
	}
	b.idle(p.Lane)
	b.Advance(time.Hour)
	b.expire(0)
	// One that was not sent yet is withdrawn.
	b.say(p, "ana", "again", inbox.Queued)
	b.ask(b.begin(p), func(st *turn.Step) { st.Own = false })
	b.command(p, inbox.ActReset, "forgotten")
	if d := cmp.Diff([]string{"forgotten"}, texts(b.send(p))); d != "" {
		b.Error(d)
	}
}

func resetApproved(b *bench) {
	p := alone("ana")
	b.question(p, "ana")
	b.say(p, "ana", "yes", inbox.AnsweredQuestion)
	w := b.begin(p)
	b.command(p, inbox.ActReset, "forgotten")
	b.stale(w)
	b.release(w.Lane)
	b.idle(p.Lane)
	if d := cmp.Diff([]string{"Place order?\n→ Yes", "forgotten"}, texts(b.send(p))); d != "" {
		b.Error(d)
	}
}

func resetForgets(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "hello", inbox.Queued)
	w := b.begin(p)
	b.remember(&w)
	b.end(w, "committed before")
	for _, text := range []string{"waits", "waits too"} {
		b.say(p, "ana", text, inbox.Queued)
	}
	before := b.peek(p.Lane)
	if len(before.History) != 2 || len(before.Runs) != 1 {
		b.Fatalf("before: %d lines, %d runs", len(before.History), len(before.Runs))
	}
	b.command(p, inbox.ActReset, "forgotten")
	b.idle(p.Lane)
	if d := cmp.Diff([]string{"committed before", "forgotten"}, texts(b.send(p))); d != "" {
		b.Error(d)
	}
	b.say(p, "ana", "new", inbox.Queued)
	after := b.peek(p.Lane)
	if len(after.History) != 0 || len(after.Runs) != 0 || after.Queue[0].In.Text != "new" {
		b.Errorf("after: %+v", after)
	}
	b.end(b.begin(p), "hi")
	b.say(p, "ana", "newer", inbox.Queued)
	check(b, "history grows anew", len(b.peek(p.Lane).History), 2)
}

// remember lets the turn make a call that the session remembers.
func (b *bench) remember(w *work) {
	b.Helper()
	st := b.step(w)
	call := w.id + ".1.0"
	st.Calls, st.Started = []turn.Call{{ID: call, Tool: "place_order"}}, call
	b.commit(*w, st)
	now := b.Store.Now()
	err := b.Store.Result(b.Context(), w.Lane, turn.Result{
		TurnID: w.id, CallID: call, State: turn.CallSucceeded, Version: 1, Journal: json.RawMessage(`{}`),
		Run: &ledger.Run{CallID: call, Tool: "place_order", EndedAt: now, KeepUntil: now.Add(30 * time.Minute)},
	})
	if err != nil {
		b.Fatalf("saving result: %v", err)
	}
}

func cancelTurn(b *bench) {
	p := alone("ana")
	b.say(p, "ana", "first", inbox.Queued)
	b.say(p, "ana", "second", inbox.Queued)
	plain := b.begin(p)
	acc := b.command(p, inbox.ActCancel, "stopped")
	if !acc.Cut || !acc.Did || !acc.Wake {
		b.Errorf("%+v", acc)
	}
	b.stale(plain)
	b.release(plain.Lane)
	w := b.begin(p)
	check(b, "next", w.Queue[0].In.Text, "second")
	if d := cmp.Diff([]turn.Line{{Turn: 1, Role: "user", Text: "first"}}, w.History); d != "" {
		b.Error(d)
	}
	st := b.step(&w)
	st.UserLines = []string{"second", "", "and this"}
	b.commit(w, st)
	b.command(p, inbox.ActCancel, "stopped")
	b.stale(w)
	b.release(w.Lane)
	b.say(p, "ana", "third", inbox.Queued)
	want := []turn.Line{
		{Turn: 1, Role: "user", Text: "first"}, {Turn: 2, Role: "user", Text: "second"}, {Turn: 2, Role: "user", Text: "and this"},
	}
	if d := cmp.Diff(want, b.peek(p.Lane).History); d != "" {
		b.Error(d)
	}
}

func cancelQuestion(b *bench) {
	p := alone("ana")
	q := b.question(p, "ana")
	acc := b.command(p, inbox.ActCancel, "stopped")
	if !acc.Did || acc.Resolved == nil || acc.Resolved.Outcome != "superseded" {
		b.Errorf("%+v", acc)
	}
	b.stale(q.work)
	b.idle(p.Lane)
	if d := cmp.Diff([]string{"Place order?", "stopped"}, texts(b.send(p))); d != "" {
		b.Error(d)
	}
}

// begun lets a turn of the lane begin a call, which it describes in its
// journal as the program does.
func (b *bench) begun(p inbox.Place, effect tool.Effect, change ...func(*turn.Step)) work {
	b.Helper()
	b.say(p, "ana", "order a cake", inbox.Queued)
	w := b.begin(p)
	st := b.step(&w)
	call := w.id + ".1.0"
	st.Calls, st.Started = []turn.Call{{ID: call, Tool: "place_order", Args: json.RawMessage(`{}`), Effect: effect}}, call
	st.Journal = json.RawMessage(fmt.Sprintf(`{"lines":["hello"],"calls":[
 {"id":%q,"name":"place_order","title":"Place order","args":{},"hash":"h","lines":["a cake"],"approved":true,"started":true}]}`, call))
	for _, c := range change {
		c(&st)
	}
	b.commit(w, st)
	return w
}

// What an unsafe tool was asked to do may be done all the same: the person is
// told so, and after /cancel the session remembers it.
func cutBegun(b *bench) {
	unreadable := func(st *turn.Step) { st.Version = 99 }
	proposed := func(st *turn.Step) { st.Started = "" }
	for name, tt := range map[string]struct {
		effect tool.Effect
		change func(*turn.Step)
		say    string
		runs   int // after /cancel
	}{
		"unsafe":     {tool.Unsafe, func(*turn.Step) {}, "stopped, perhaps not Place order", 1},
		"unreadable": {tool.Unsafe, unreadable, "stopped, perhaps not place_order", 0},
		"proposed":   {tool.Unsafe, proposed, "stopped", 0},
		"idempotent": {tool.Idempotent, func(*turn.Step) {}, "stopped", 0},
		"read":       {tool.Read, func(*turn.Step) {}, "stopped", 0},
	} {
		for _, action := range []inbox.Action{inbox.ActCancel, inbox.ActReset} {
			p := alone(name + "-" + string(action))
			w := b.begun(p, tt.effect, tt.change)
			c := b.commanding(p, action, "stopped")
			c.SayBegun = func(title string) []channels.Part {
				return []channels.Part{{Chat: p.Chat, Text: "stopped, perhaps not " + title}}
			}
			if acc, err := b.Store.Command(b.Context(), c); err != nil || !acc.Cut || !acc.Did {
				b.Errorf("%s %s: %+v %v", name, action, acc, err)
			}
			b.stale(w)
			b.release(w.Lane)
			if d := cmp.Diff([]string{tt.say}, texts(b.send(p))); d != "" {
				b.Errorf("%s %s: %s", name, action, d)
			}
			b.say(p, "ana", "again", inbox.Queued)
			runs := b.peek(p.Lane).Runs
			want := 0
			if action == inbox.ActCancel {
				want = tt.runs
			}
			if len(runs) != want {
				b.Fatalf("%s %s: %d runs are remembered, want %d", name, action, len(runs), want)
			}
			if want == 1 {
				b.unknown(runs[0])
			}
		}
	}
}

// unknown checks the memory of a call of begun's.
func (b *bench) unknown(r ledger.Run) {
	b.Helper()
	now := b.Store.Now()
	if r.Tool != "place_order" || r.Title != "Place order" || r.ArgsHash != "h" || !r.Unknown || !r.Confirmed ||
		!r.EndedAt.Equal(now) || !r.KeepUntil.Equal(now.Add(30*time.Minute)) || len(r.Lines) != 1 {
		b.Errorf("remembered %+v", r)
	}
}

// The same where a turn is given up whose call was cut short by crashes.
func failBegun(b *bench) {
	p := alone("ana")
	w := b.begun(p, tool.Unsafe)
	f := w.finish("sorry")
	f.State = "failed"
	if _, err := b.Store.Finish(b.Context(), w.Lane, f); err != nil {
		b.Fatal(err)
	}
	b.say(p, "ana", "again", inbox.Queued)
	runs := b.peek(p.Lane).Runs
	if len(runs) != 1 {
		b.Fatalf("%d runs are remembered", len(runs))
	}
	b.unknown(runs[0])
}

func cancelNothing(b *bench) {
	p := alone("ana")
	acc := b.command(p, inbox.ActCancel, "stopped")
	if acc.Did || acc.Cut || acc.Wake {
		b.Errorf("%+v", acc)
	}
	if d := cmp.Diff([]string{"nothing to do"}, texts(b.send(p))); d != "" {
		b.Error(d)
	}
}

func cancelPicture(b *bench) {
	p := alone("ana")
	d := b.text(p, "ana", "")
	d.In.Media = []channels.Media{{Type: "image", Ref: "file"}}
	b.accept(d)
	b.command(p, inbox.ActCancel, "stopped")
	b.say(p, "ana", "hi", inbox.Queued)
	check(b, "history", len(b.peek(p.Lane).History), 0)
}

func commandLang(b *bench) {
	p := alone("ana")
	lang, err := b.Store.Language(b.Context(), p.Lane)
	if lang != "" || err != nil {
		b.Errorf("before: %q, %v", lang, err)
	}
	acc := b.command(p, inbox.ActLang, "Español")
	if acc.Cut || acc.Wake || !acc.Speak {
		b.Errorf("%+v", acc)
	}
	b.say(p, "ana", "hola", inbox.Queued)
	check(b, "of the work", b.peek(p.Lane).Lang, "es")
	b.command(p, inbox.ActReset, "forgotten")
	lang, err = b.Store.Language(b.Context(), p.Lane)
	if lang != "es" || err != nil {
		b.Errorf("after reset: %q, %v", lang, err)
	}
}

func commandAgain(b *bench) {
	p := alone("ana")
	c := b.commanding(p, inbox.ActReset, "forgotten")
	for i, want := range []inbox.Outcome{inbox.Commanded, inbox.Duplicate} {
		acc, err := b.Store.Command(b.Context(), c)
		if err != nil || acc.Outcome != want {
			b.Errorf("time %d: %+v, %v", i+1, acc, err)
		}
		b.say(p, "ana", "hi", inbox.Queued)
	}
	check(b, "answers", len(b.send(p)), 1)
	check(b, "first of the queue", b.begin(p).from, 1)
}

func commandSay(b *bench) {
	p := alone("ana")
	q := b.question(p, "ana")
	acc := b.command(p, inbox.ActSay, "help")
	if acc.Cut || acc.Wake || acc.Resolved != nil {
		b.Errorf("%+v", acc)
	}
	b.idle(p.Lane)
	check(b, "sent", len(b.send(p)), 1)
	b.say(p, "ana", "yes", inbox.AnsweredQuestion)
	check(b, "turn", b.peek(p.Lane).Saved.ID, q.id)
}
