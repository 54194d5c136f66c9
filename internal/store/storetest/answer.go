package storetest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/turn"
)

func answerTests() []test {
	return []test{
		{"B4_typed_yes_no_other", answerTyped},
		{"B20_press_resolves_like_the_word", answerPress},
		{"B27_text_of_before_the_question_is_no_answer", answerOld},
		{"B26_boundary_is_the_stores_clock", answerBoundary},
		{"B26_answer_before_expiry_wins_however_late", answerLate},
		{"B22_double_press_is_stale", pressTwice},
		{"B22_press_delivered_again_has_the_same_outcome", pressAgain},
		{"B22_press_after_the_end_is_stale", pressAfter},
		{"B22_press_of_another_chat_or_person_changes_nothing", pressForeign},
		{"B22_press_of_nonsense_is_stale", pressNonsense},
		{"B23_notices_of_a_press", pressNotices},
		{"B2_parked_lane_queues_what_is_no_answer", parkedQueues},
		{"B3_edit_never_answers", editNever},
		{"B22_old_button_never_answers_a_newer_question", oldButton},
	}
}

// answer is how the lane's turn sees the answer of its question.
func (b *bench) answer(q asked) confirm.Answer {
	b.Helper()
	w := b.peek(q.place.Lane)
	if w.Saved == nil || w.Saved.ID != q.id || w.Saved.Wait == nil || w.Saved.Wait.Token != q.Token || w.Saved.Wait.Answer == nil {
		b.Fatalf("the turn has no answer of its question: %+v", w.Saved)
	}
	return *w.Saved.Wait.Answer
}

func answerTyped(b *bench) {
	for _, tt := range []struct {
		text  string
		want  confirm.Outcome
		event string
		edit  string
	}{
		{"yes", confirm.Approved, audit.ConfirmApproved, "Place order?\n→ Yes"},
		{"no", confirm.Denied, audit.ConfirmDenied, "Place order?\n→ No"},
		{"make it five", confirm.Replied, audit.ConfirmReplied, "Place order?"},
	} {
		p := alone("ana-" + string(tt.want))
		q := b.question(p, "ana")
		b.idle(p.Lane)
		b.Advance(30 * time.Second)
		acc := b.say(p, "ana", tt.text, inbox.AnsweredQuestion)
		if !acc.Wake || acc.Lane != p.Lane || !acc.Logged || !acc.Speak {
			b.Errorf("%s: accepted %+v", tt.text, acc)
		}
		if d := cmp.Diff(&inbox.Resolved{Tool: "place_order", Outcome: string(tt.want), Waited: 30 * time.Second}, acc.Resolved); d != "" {
			b.Errorf("%s: %s", tt.text, d)
		}
		a := b.answer(q)
		check(b, tt.text, a.Outcome, tt.want)
		check(b, "by", a.By, "ana")
		if tt.want == confirm.Replied {
			check(b, "reply", a.Reply, tt.text)
		}
		sent := b.send(p)
		if len(sent) != 1 || sent[0].Part.Text != tt.edit || sent[0].Target != "sent-1" || len(sent[0].Part.Buttons) != 0 {
			b.Errorf("%s: edit %+v", tt.text, sent)
		}
		types := b.events()
		check(b, "event", types[len(types)-1], tt.event)
		w := b.begin(p)
		check(b, "queue", len(w.Queue), 0) // the answer takes no place in it
		b.end(w, "done")
		b.idle(p.Lane)
	}
}

func answerOld(b *bench) {
	noon := time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		written time.Time
		want    confirm.Outcome
	}{
		"before": {noon.Add(-time.Second), confirm.Replied}, "at": {noon, confirm.Approved}, "untold": {time.Time{}, confirm.Approved},
	} {
		p := alone(name)
		q := b.question(p, "ana", func(st *turn.Step) { st.Wait.Said = noon })
		b.reopen(true)
		d := b.text(p, "ana", "yes")
		d.In.At = tt.written
		check(b, name, b.accept(d).Outcome, inbox.AnsweredQuestion)
		a := b.answer(q)
		check(b, name, a.Outcome, tt.want)
		check(b, name+": written", a.Written.Equal(tt.written), true)
	}
	// A press counts whenever it was.
	p := alone("press")
	q := b.question(p, "ana", func(st *turn.Step) { st.Wait.Said = noon })
	d := b.press(q, p, "ana", confirm.ValueYes)
	d.In.At = noon.Add(-time.Hour)
	check(b, "press", b.accept(d).Outcome, inbox.AnsweredQuestion)
	a := b.answer(q)
	check(b, "press", a.Outcome, confirm.Approved)
	check(b, "press: written", a.Written.Equal(noon.Add(-time.Hour)), true)
}

func answerPress(b *bench) {
	for value, want := range map[string]confirm.Outcome{confirm.ValueYes: confirm.Approved, confirm.ValueNo: confirm.Denied} {
		p := alone("ana-" + value)
		q := b.question(p, "ana")
		acc := b.accept(b.press(q, p, "ana", value))
		if acc.Outcome != inbox.AnsweredQuestion || !acc.Wake || acc.Lane != p.Lane || !acc.Speak {
			b.Errorf("%s: %+v", value, acc)
		}
		a := b.answer(q)
		check(b, value, a.Outcome, want)
		check(b, "press", a.Press, true)
	}
}

func answerBoundary(b *bench) {
	for name, late := range map[string]bool{"in-time": false, "too-late": true} {
		p := alone(name)
		q := b.question(p, "ana")
		b.Advance(timeout - time.Millisecond)
		if late {
			b.Advance(time.Millisecond)
			// The sweep hasn't come yet, and still nothing counts.
			check(b, "press", b.accept(b.press(q, p, "ana", confirm.ValueYes)).Outcome, inbox.Stale)
			acc := b.say(p, "ana", "yes", inbox.Queued)
			check(b, "wake of a parked lane", acc.Wake, false)
			b.idle(p.Lane)
			continue
		}
		b.say(p, "ana", "yes", inbox.AnsweredQuestion)
		check(b, "answer", b.answer(q).Outcome, confirm.Approved)
	}
}

func answerLate(b *bench) {
	p := alone("ana")
	q := b.question(p, "ana")
	b.Advance(timeout - time.Millisecond)
	b.say(p, "ana", "yes", inbox.AnsweredQuestion)
	b.Advance(48 * time.Hour)
	b.expire(0)
	check(b, "answer", b.answer(q).Outcome, confirm.Approved)
	w := b.begin(p)
	b.end(w, "ordered")
}

func pressTwice(b *bench) {
	p := alone("ana")
	q := b.question(p, "ana")
	check(b, "first", b.accept(b.press(q, p, "ana", confirm.ValueYes)).Outcome, inbox.AnsweredQuestion)
	for _, value := range []string{confirm.ValueYes, confirm.ValueNo} {
		acc := b.accept(b.press(q, p, "ana", value))
		if acc.Outcome != inbox.Stale || acc.Wake || acc.Speak || acc.Resolved != nil {
			b.Errorf("second press: %+v", acc)
		}
	}
	check(b, "answer", b.answer(q).Outcome, confirm.Approved)
	check(b, "edits", len(b.send(p)), 1)
}

func pressAgain(b *bench) {
	p := alone("ana")
	q := b.question(p, "ana")
	d := b.press(q, p, "ana", confirm.ValueYes)
	b.accept(d)
	acc := b.accept(d)
	if acc.Outcome != inbox.AnsweredQuestion || acc.Resolved != nil || acc.Speak {
		b.Errorf("delivered again: %+v", acc)
	}
	b.end(b.begin(p), "ordered")
	check(b, "after the turn", b.accept(d).Outcome, inbox.AnsweredQuestion)
	b.idle(p.Lane)
}

func pressAfter(b *bench) {
	p := alone("ana")
	q := b.question(p, "ana")
	b.Advance(timeout)
	b.expire(1)
	check(b, "expired", b.accept(b.press(q, p, "ana", confirm.ValueYes)).Outcome, inbox.Stale)
	q = b.question(p, "ana")
	b.command(p, inbox.ActReset, "forgotten")
	check(b, "superseded", b.accept(b.press(q, p, "ana", confirm.ValueYes)).Outcome, inbox.Stale)
	b.idle(p.Lane)
}

func pressForeign(b *bench) {
	p := alone("ana")
	q := b.question(p, "ana")
	for _, tt := range []struct {
		what string
		p    inbox.Place
		from string
	}{{"another chat", alone("eve"), "eve"}, {"another chat, the same person", alone("eve"), "ana"}, {"another person", p, "eve"}} {
		acc := b.accept(b.press(q, tt.p, tt.from, confirm.ValueYes))
		if acc.Outcome != inbox.NotYours || acc.Wake || acc.Speak || acc.Resolved != nil {
			b.Errorf("%s: %+v", tt.what, acc)
		}
		b.idle(p.Lane)
	}
	check(b, "the right person", b.accept(b.press(q, p, "ana", confirm.ValueNo)).Outcome, inbox.AnsweredQuestion)
}

func pressNonsense(b *bench) {
	p := alone("ana")
	for _, id := range []channels.ButtonID{"", "y", ".y", "unknown.y", "' OR 1=1 --.y", "token-00000001.x", "\x00.n"} {
		d := b.press(asked{Wait: &confirm.Wait{Token: "x"}}, p, "ana", confirm.ValueYes)
		d.In.Button = id
		acc := b.accept(d)
		if acc.Outcome != inbox.Stale || acc.Wake || acc.Speak {
			b.Errorf("%q: %+v", id, acc)
		}
	}
	b.idle(p.Lane)
}

func pressNotices(b *bench) {
	p := alone("ana")
	q := b.question(p, "ana", func(st *turn.Step) {
		st.Wait.Closing = nil // the channel can't edit
		st.Wait.Answered = map[string]channels.Part{confirm.ValueYes: {Chat: p.Chat, Text: "Answer received"}}
		st.Wait.Expired = &channels.Part{Chat: p.Chat, Text: "no longer active"}
	})
	b.accept(b.press(q, p, "ana", confirm.ValueYes))
	stale := b.press(q, p, "ana", confirm.ValueNo)
	check(b, "stale speaks", b.accept(stale).Speak, true)
	check(b, "the stale press again", b.accept(stale).Speak, false)
	if d := cmp.Diff([]string{"Answer received", "no longer active"}, texts(b.send(p))); d != "" {
		b.Error(d)
	}
}

func parkedQueues(b *bench) {
	p := group("team")
	q := b.question(p, "ana")
	acc := b.say(p, "ben", "what about me?", inbox.Queued)
	check(b, "wake", acc.Wake, false)
	b.say(p, "ben", "yes", inbox.Queued) // not his question
	b.idle(p.Lane)
	b.say(p, "ana", "yes", inbox.AnsweredQuestion)
	w := b.begin(p)
	check(b, "turn", w.id, q.id)
	check(b, "more", b.end(w, "ordered").More, true)
	for _, want := range []string{"what about me?", "yes"} {
		w := b.begin(p)
		check(b, "then", w.Queue[0].In.Text, want)
		b.end(w, "")
	}
	b.idle(p.Lane)
}

func editNever(b *bench) {
	p := alone("ana")
	b.question(p, "ana")
	d := b.text(p, "ana", "yes")
	d.In.Kind, d.Answers = channels.KindEdit, false
	check(b, "edit", b.accept(d).Outcome, inbox.Queued)
	b.idle(p.Lane)
}

func oldButton(b *bench) {
	p := alone("ana")
	old := b.question(p, "ana")
	b.accept(b.press(old, p, "ana", confirm.ValueYes))
	// The turn goes on to ask again, with the clock where it was.
	second := b.ask(b.begin(p))
	b.send(p)
	check(b, "old button", b.accept(b.press(old, p, "ana", confirm.ValueYes)).Outcome, inbox.Stale)
	b.idle(p.Lane)
	b.accept(b.press(second, p, "ana", confirm.ValueNo))
	check(b, "the newest question's answer", b.answer(second).Outcome, confirm.Denied)
}
