package storetest

import (
	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/turn"
)

func groupTests() []test {
	return []test{
		{"B12_only_the_right_person_answers_in_a_group", groupRight},
		{"B12_reply_tells_which_of_several_questions", groupReply},
		{"B12_answer_from_another_lane_wakes_the_questions_lane", groupLanes},
		{"B12_not_addressed_text_answers_only_when_clear", groupClear},
		{"B12_own_session_in_a_group_answers_with_any_text", groupSolo},
	}
}

func anyone(st *turn.Step) { st.Wait.AnswerBy.Anyone = true }

func groupRight(b *bench) {
	p := group("team")
	q := b.question(p, "ana")
	b.say(p, "ben", "yes", inbox.Queued)
	reply := b.text(p, "ben", "yes")
	reply.In.ReplyTo = messageID(q)
	check(b, "reply of another", b.accept(reply).Outcome, inbox.Queued)
	b.say(p, "ana", "yes", inbox.AnsweredQuestion)
	check(b, "by", b.answer(q).By, "ana")

	// Listed people may answer, the requester then may not.
	p = group("board")
	q = b.question(p, "ana", func(st *turn.Step) { st.Wait.AnswerBy.Users = []channels.UserID{"ben", "cem"} })
	check(b, "requester", b.accept(b.press(q, p, "ana", confirm.ValueYes)).Outcome, inbox.NotYours)
	b.say(p, "ben", "yes", inbox.Queued) // typed without a reply
	reply = b.text(p, "cem", "no")
	reply.In.ReplyTo = "sent-1"
	check(b, "reply", b.accept(reply).Outcome, inbox.AnsweredQuestion)
	a := b.answer(q)
	check(b, "by", a.By, "cem")
	check(b, "outcome", a.Outcome, confirm.Denied)
}

func groupReply(b *bench) {
	// Two sessions of one group, each with a question to the same person.
	first, second := groupUser("team", "ana"), groupUser("team", "bot2")
	q1 := b.question(first, "ana", func(st *turn.Step) { st.Wait.Solo = false })
	q2 := b.question(second, "ana", func(st *turn.Step) { st.Wait.Solo = false })
	b.say(first, "ana", "yes", inbox.Queued) // which one?
	reply := b.text(first, "ana", "no")
	reply.In.ReplyTo = "sent-2"
	acc := b.accept(reply)
	check(b, "outcome", acc.Outcome, inbox.AnsweredQuestion)
	check(b, "lane", acc.Lane, second.Lane)
	check(b, "second", b.answer(q2).Outcome, confirm.Denied)
	b.idle(first.Lane)
	// With one question left a clear answer is enough.
	b.say(first, "ana", "yes", inbox.AnsweredQuestion)
	check(b, "first", b.answer(q1).Outcome, confirm.Approved)
}

func groupLanes(b *bench) {
	ana, ben := groupUser("team", "ana"), groupUser("team", "ben")
	for _, how := range []string{"press", "reply"} {
		q := b.question(ana, "ana", anyone)
		d := b.press(q, ben, "ben", confirm.ValueYes)
		if how == "reply" {
			d = b.text(ben, "ben", "yes")
			d.In.ReplyTo = messageID(q)
		}
		acc := b.accept(d)
		if acc.Outcome != inbox.AnsweredQuestion || !acc.Wake || acc.Lane != ana.Lane {
			b.Errorf("%s: %+v, want lane %s woken", how, acc, ana.Lane)
		}
		check(b, "by", b.answer(q).By, "ben")
		b.idle(ben.Lane)
		b.end(b.begin(ana), "")
		b.send(ana)
	}
}

func groupClear(b *bench) {
	p := group("team")
	q := b.question(p, "ana")
	d := b.text(p, "ana", "just chatting")
	d.Routed = false
	check(b, "unclear", b.accept(d).Outcome, inbox.Ignored)
	d = b.text(p, "ana", "yes")
	d.Routed = false
	check(b, "clear", b.accept(d).Outcome, inbox.AnsweredQuestion)
	check(b, "answer", b.answer(q).Outcome, confirm.Approved)
}

func groupSolo(b *bench) {
	ana, ben := groupUser("team", "ana"), groupUser("team", "ben")
	qa, qb := b.question(ana, "ana"), b.question(ben, "ben")
	b.say(ana, "ana", "make it two", inbox.AnsweredQuestion)
	b.say(ben, "ben", "yes", inbox.AnsweredQuestion)
	check(b, "ana's", b.answer(qa).Outcome, confirm.Replied)
	check(b, "ben's", b.answer(qb).Outcome, confirm.Approved)
	var edits []string
	for _, e := range b.send(ana) {
		edits = append(edits, string(e.Target))
	}
	if d := cmp.Diff([]string{"sent-1", "sent-2"}, edits); d != "" {
		b.Errorf("edits: %s", d)
	}
}
