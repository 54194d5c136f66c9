package storetest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/outbox"
	"github.com/parley-bot/parley/internal/turn"
)

func questionTests() []test {
	return []test{
		{"B27_text_before_it_was_shown_is_no_yes", questionUnseen},
		{"B27_press_proves_that_it_was_seen", questionPressed},
		{"B27_text_after_an_unknown_outcome_is_no_yes", questionUnknown},
		{"B5_clock_starts_when_it_has_left", questionClock},
		{"B27_sent_after_its_end_stays_over", questionTooLate},
		{"B27_failed_question_cancels_its_turn", questionFailed},
		{"B9_failed_first_part_cancels_its_turn", questionPart},
		{"B21_answer_while_it_is_sending", questionSending},
		{"B27_answered_question_is_not_sent_again", questionRetried},
		{"B27_answered_question_of_parts_is_withdrawn", questionParts},
		{"G5_edit_of_a_failed_send_has_no_target", questionNoTarget},
		{"G5_question_never_overtakes_a_reply", questionOrder},
		{"B21_no_edit_where_the_channel_can_not", questionNoEdit},
	}
}

// unsent asks without anybody sending yet.
func (b *bench) unsent(p inbox.Place, change ...func(*turn.Step)) asked {
	b.Helper()
	b.say(p, "ana", "order a cake", inbox.Queued)
	return b.ask(b.begin(p), append([]func(*turn.Step){func(st *turn.Step) { st.Own = false }}, change...)...)
}

// inParts makes the question one of three parts.
func inParts(st *turn.Step) {
	last := st.Say[0]
	st.Say = []channels.Part{{Chat: last.Chat, Text: "About to:"}, {Chat: last.Chat, Text: "a cake."}, last}
}

func questionUnseen(b *bench) {
	p := alone("ana")
	q := b.unsent(p)
	acc := b.say(p, "ana", "yes", inbox.AnsweredQuestion)
	check(b, "resolved", acc.Resolved.Outcome, "replied")
	a := b.answer(q)
	check(b, "outcome", a.Outcome, confirm.Replied)
	check(b, "reply", a.Reply, "yes")
	b.silent(p) // withdrawn, and nothing to edit
	b.say(p, "ana", "really", inbox.Queued)
	b.say(p, "ana", "do it", inbox.Queued)
	check(b, "texts that follow", len(b.peek(p.Lane).Queue), 2)
	check(b, "chat goes on", b.end(b.begin(p), "well").Born, true)
}

func questionPressed(b *bench) {
	p := alone("ana")
	q := b.unsent(p)
	b.next(p) // on its way
	b.accept(b.press(q, p, "ana", confirm.ValueYes))
	check(b, "outcome", b.answer(q).Outcome, confirm.Approved)
}

func questionUnknown(b *bench) {
	p := alone("ana")
	q := b.unsent(p)
	b.failed(b.next(p), true)
	b.idle(p.Lane) // still waits
	b.say(p, "ana", "yes", inbox.AnsweredQuestion)
	check(b, "typed", b.answer(q).Outcome, confirm.Replied)
	b.silent(p)

	p = alone("ben")
	q = b.unsent(p)
	b.failed(b.next(p), true)
	b.accept(b.press(q, p, "ana", confirm.ValueYes))
	check(b, "pressed", b.answer(q).Outcome, confirm.Approved)
}

func questionClock(b *bench) {
	p := alone("ana")
	b.unsent(p, inParts)
	b.Advance(30 * time.Minute)
	b.expire(0)
	e := b.next(p)
	for i := range 3 {
		check(b, "asks", e.Asks, map[bool]time.Duration{true: timeout}[i == 2])
		b.Advance(timeout)
		b.expire(0)
		b.say(group("other"), "ben", "hi", inbox.Queued)
		next, ok := b.sent(e)
		check(b, "next part", ok, i < 2)
		e = next
	}
	b.Advance(timeout - time.Millisecond)
	b.expire(0)
	_, due, err := b.Store.Expire(b.Context(), 10)
	if err != nil || due.UnixMilli() != b.Store.Now().Add(time.Millisecond).UnixMilli() {
		b.Errorf("due %v, error %v", due, err)
	}
	b.Advance(time.Millisecond)
	b.expire(1)
	check(b, "edit", string(b.next(p).Target), "sent-3")
}

func questionTooLate(b *bench) {
	p := alone("ana")
	b.unsent(p)
	e := b.next(p)
	b.Advance(time.Hour)
	b.sent(e) // it took too long, though nobody swept yet
	b.say(p, "ana", "yes", inbox.Queued)
	b.expire(1)
	sent := b.send(p)
	if len(sent) != 1 || sent[0].Kind != outbox.Edit {
		b.Errorf("sent %+v", sent)
	}
	check(b, "then", b.peek(p.Lane).Queue[0].In.Text, "yes")
}

func questionFailed(b *bench) {
	p := alone("ana")
	q := b.unsent(p)
	b.Advance(time.Minute)
	d := b.text(p, "ben", "me?")
	d.Answers = false
	b.accept(d)
	f := b.failed(b.next(p), false)
	if d := cmp.Diff(outbox.Failure{Lane: p.Lane, Ready: true, Tool: "place_order"}, f); d != "" {
		b.Error(d)
	}
	b.stale(q.work)
	w := b.begin(p)
	check(b, "next", w.Queue[0].In.Text, "me?")
	if d := cmp.Diff([]turn.Line{{Turn: 1, Role: "user", Text: "hello"}}, w.History); d != "" {
		b.Error(d)
	}
	check(b, "press", b.accept(b.press(q, p, "ana", confirm.ValueYes)).Outcome, inbox.Stale)
	types := b.events()
	check(b, "event", types[len(types)-1], audit.ConfirmCancelled)
	b.silent(p)
	b.expire(0)
}

// questionPart: nobody may be asked with a part of the question missing.
func questionPart(b *bench) {
	p := alone("ana")
	q := b.unsent(p, inParts)
	f := b.failed(b.next(p), false)
	check(b, "lane", f.Lane, p.Lane)
	check(b, "more", f.More, false)
	b.silent(p)
	b.stale(q.work)
}

func questionSending(b *bench) {
	for _, how := range []string{"press", "text"} {
		p := alone(how)
		q := b.unsent(p)
		e := b.next(p)
		if how == "press" {
			b.accept(b.press(q, p, "ana", confirm.ValueYes))
		} else {
			b.say(p, "ana", "yes", inbox.AnsweredQuestion)
		}
		edit, ok := b.sent(e)
		if !ok || edit.Kind != outbox.Edit || edit.Target != "sent-1" {
			b.Errorf("%s: after the question: %+v, %v", how, edit, ok)
		}
		b.sent(edit)
		b.silent(p)
		// Its clock doesn't run any more.
		b.Advance(time.Hour)
		b.expire(0)
	}
}

func questionRetried(b *bench) {
	for _, unknown := range []bool{false, true} {
		p := alone(map[bool]string{false: "certain", true: "unknown"}[unknown])
		q := b.unsent(p)
		e := b.next(p)
		b.accept(b.press(q, p, "ana", confirm.ValueYes))
		b.retry(e, 0, unknown)
		for _, e := range b.send(p) {
			if e.Kind == outbox.Send || e.Target != "" {
				b.Errorf("sent %+v", e)
			}
		}
	}
}

func questionParts(b *bench) {
	p := alone("ana")
	q := b.unsent(p, inParts)
	first := b.next(p)
	b.say(p, "ana", "make it two", inbox.AnsweredQuestion)
	if next, ok := b.sent(first); ok {
		b.Errorf("after the first part: %+v", next)
	}
	b.silent(p)
	check(b, "reply", b.answer(q).Reply, "make it two")
	check(b, "born", b.end(b.begin(p), "two").Born, true)
}

func questionNoTarget(b *bench) {
	p := alone("ana")
	q := b.unsent(p)
	e := b.next(p)
	b.accept(b.press(q, p, "ana", confirm.ValueYes))
	b.failed(e, false)
	edit := b.next(p)
	check(b, "kind", edit.Kind, outbox.Edit)
	check(b, "target", edit.Target, "")
	check(b, "more", b.failed(edit, false).More, false)
}

func questionOrder(b *bench) {
	p := alone("ana")
	b.queue(p, "earlier reply")
	q := b.unsent(p)
	check(b, "born", q.Born, false)
	if d := cmp.Diff([]string{"earlier reply", "Place order?"}, texts(b.send(p))); d != "" {
		b.Error(d)
	}
}

func questionNoEdit(b *bench) {
	p := alone("ana")
	q := b.question(p, "ana", func(st *turn.Step) { st.Wait.Closing = nil })
	b.accept(b.press(q, p, "ana", confirm.ValueYes))
	b.silent(p)
}
