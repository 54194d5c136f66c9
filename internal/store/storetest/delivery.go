package storetest

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/outbox"
)

func deliveryTests() []test {
	return []test{
		{"G5_undelivered_message_is_failed_once", deliveryByID},
		{"G5_undelivered_is_found_by_key_before_its_id", deliveryByKey},
		{"G5_undelivered_of_others_changes_nothing", deliveryOthers},
		{"G5_undelivered_unknown_outcome_is_known_then", deliveryUnknown},
		{"G5_undelivered_entry_to_be_sent_again_is_left", deliveryQueued},
		{"B27_undelivered_question_cancels_its_turn", deliveryQuestion},
		{"B27_undelivered_after_the_answer_changes_nothing", deliveryAnswered},
	}
}

// undelivered reports a message of the chat as not delivered.
func (b *bench) undelivered(p inbox.Place, key string, id channels.MessageID) (inbox.Accepted, bool) {
	b.Helper()
	acc, known, err := b.Store.DeliveryFailed(b.Context(), inbox.Undelivered{
		Channel: channel, ChatKey: p.ChatKey, ID: id, Key: key, Cause: "window closed",
	})
	if err != nil {
		b.Fatalf("reporting message %q as undelivered: %v", id, err)
	}
	return acc, known
}

func deliveryByID(b *bench) {
	p := alone("ana")
	b.queue(p, "1", "2")
	first := b.next(p)
	second, _ := b.sent(first)
	b.sent(second)
	acc, known := b.undelivered(p, "", platformID(first))
	check(b, "known", known, true)
	check(b, "lane", acc.Lane, "")
	check(b, "speak", acc.Speak, false)
	_, known = b.undelivered(p, "", platformID(first))
	check(b, "known the second time", known, false)
	_, known = b.undelivered(p, outbox.Key(p.ChatKey, first.Seq), platformID(first))
	check(b, "known by its key then", known, false)
	b.silent(p)
	check(b, "logged", len(b.log(p)), 3)
}

// deliveryByKey: the report came while the send was still being answered. What
// waits behind goes on, and the outcome of the send changes nothing any more.
func deliveryByKey(b *bench) {
	p := alone("ana")
	b.queue(p, "1", "2")
	e := b.next(p)
	acc, known := b.undelivered(p, outbox.Key(p.ChatKey, e.Seq), "early")
	check(b, "known", known, true)
	check(b, "speak", acc.Speak, true)
	next, ok := b.sent(e)
	if !ok || next.Seq != 2 || next.Maybe {
		b.Fatalf("after it: %+v, %v", next, ok)
	}
	b.sent(next)
	var got []string
	for _, e := range b.log(p) {
		got = append(got, e.Text)
	}
	if d := cmp.Diff([]string{"hi", "2"}, got); d != "" {
		b.Error(d)
	}
}

func deliveryOthers(b *bench) {
	p, other := alone("ana"), alone("ben")
	b.queue(p, "1")
	e := b.next(p)
	b.sent(e)
	for name, r := range map[string]struct {
		place inbox.Place
		key   string
		id    channels.MessageID
	}{
		"another chat's id":    {other, "", platformID(e)},
		"no id":                {p, "", ""},
		"an unknown id":        {p, "", "nobody"},
		"another's key":        {p, outbox.Key(other.ChatKey, 1), ""},
		"an unknown key":       {p, outbox.Key(p.ChatKey, 99), ""},
		"another attempt's id": {p, outbox.Key(p.ChatKey, e.Seq), "other"},
		"a key of nonsense":    {p, "%%%", ""},
		"another channel's":    {p, outbox.Key("tg:ana", e.Seq), ""},
	} {
		if _, known := b.undelivered(r.place, r.key, r.id); known {
			b.Errorf("%s was taken for a message of the chat", name)
		}
	}
	if _, known := b.undelivered(p, "", platformID(e)); !known {
		b.Error("the message itself isn't known any more")
	}
}

func deliveryUnknown(b *bench) {
	p := alone("ana")
	b.queue(p, "1")
	e := b.next(p)
	b.failed(e, true)
	_, known := b.undelivered(p, outbox.Key(p.ChatKey, e.Seq), "late")
	check(b, "known", known, true)
}

func deliveryQueued(b *bench) {
	p := alone("ana")
	b.queue(p, "1")
	e := b.next(p)
	b.retry(e, 0, true)
	_, known := b.undelivered(p, outbox.Key(p.ChatKey, e.Seq), "first try")
	check(b, "known", known, false)
	check(b, "sent again", b.next(p).Seq, e.Seq)
}

func deliveryQuestion(b *bench) {
	p := alone("ana")
	q := b.question(p, "ana")
	d := b.text(p, "ana", "and a tart")
	d.Answers = false
	b.accept(d)
	b.Advance(time.Second)
	acc, known := b.undelivered(p, "", messageID(q))
	check(b, "known", known, true)
	want := inbox.Accepted{
		Lane: p.Lane, Wake: true, Speak: acc.Speak,
		Resolved: &inbox.Resolved{Tool: "place_order", Outcome: "cancelled", Waited: time.Second},
	}
	if d := cmp.Diff(want, acc); d != "" {
		b.Error(d)
	}
	b.stale(q.work)
	check(b, "event", slices.Contains(b.events(), audit.ConfirmCancelled), true)
	check(b, "press", b.accept(b.press(q, p, "ana", confirm.ValueYes)).Outcome, inbox.Stale)
	for _, e := range b.send(p) {
		if e.Kind == outbox.Edit {
			b.Errorf("a message that nobody has is edited: %+v", e)
		}
	}
}

func deliveryAnswered(b *bench) {
	p := alone("ana")
	q := b.question(p, "ana")
	b.say(p, "ana", "yes", inbox.AnsweredQuestion)
	acc, known := b.undelivered(p, "", messageID(q))
	check(b, "known", known, true)
	if acc.Lane != "" || acc.Resolved != nil {
		b.Errorf("an answered question ended again: %+v", acc)
	}
	b.begin(p)
}
