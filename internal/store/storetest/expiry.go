package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/dispatch"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/turn"
)

func expiryTests() []test {
	return []test{
		{"B5_T9_ends_the_turn_silently", expirySilent},
		{"B5_T9_tells_what_it_ended", expiryTells},
		{"B27_never_sent_within_an_hour", expiryUnsent},
		{"B5_T9_goes_in_the_order_of_time", expiryOrder},
		{"B2_many_parked_questions", expiryMany},
	}
}

// expire is T9, expecting how many questions end.
func (b *bench) expire(want int) []dispatch.Ended {
	b.Helper()
	ended, _, err := b.Store.Expire(b.Context(), 100)
	if err != nil || len(ended) != want {
		b.Fatalf("expired %d questions, want %d, error %v", len(ended), want, err)
	}
	return ended
}

func expirySilent(b *bench) {
	p := alone("ana")
	q := b.question(p, "ana")
	b.Advance(timeout)
	b.expire(1)
	b.expire(0)
	b.stale(q.work)
	b.idle(p.Lane)
	sent := b.send(p)
	if len(sent) != 1 || sent[0].Part.Text != "Place order?" || sent[0].Target != "sent-1" || len(sent[0].Part.Buttons) > 0 {
		b.Errorf("sent %+v", sent)
	}
	types := b.events()
	check(b, "event", types[len(types)-1], audit.ConfirmCancelled)
	b.say(p, "ana", "yes", inbox.Queued) // ordinary text now
	w := b.peek(p.Lane)
	if d := cmp.Diff([]turn.Line{{Turn: 1, Role: "user", Text: "hello"}}, w.History); d != "" {
		b.Error(d)
	}
}

func expiryTells(b *bench) {
	ana, ben := groupUser("team", "ana"), alone("ben")
	b.question(ana, "ana")
	b.question(ben, "ben", func(st *turn.Step) { st.Wait.Closing = nil })
	d := b.text(ana, "ana", "more")
	d.Answers = false
	b.accept(d)
	b.Advance(timeout)
	got := map[string]dispatch.Ended{}
	for _, e := range b.expire(2) {
		e.Speak = false // a hint
		got[e.Lane] = e
	}
	want := map[string]dispatch.Ended{
		ana.Lane: {Lane: ana.Lane, ChatKey: ana.ChatKey, Channel: channel, Tool: "place_order", More: true, Waited: timeout},
		ben.Lane: {Lane: ben.Lane, ChatKey: ben.ChatKey, Channel: channel, Tool: "place_order", Waited: timeout},
	}
	if d := cmp.Diff(want, got); d != "" {
		b.Error(d)
	}
}

func expiryUnsent(b *bench) {
	p := alone("ana")
	b.unsent(p)
	b.Advance(time.Hour - time.Millisecond)
	b.expire(0)
	b.Advance(time.Millisecond)
	b.expire(1)
	b.silent(p)
	b.idle(p.Lane)
}

func expiryOrder(b *bench) {
	for i := range 5 {
		b.question(alone(fmt.Sprint("chat", i)), "ana")
		b.Advance(time.Second)
	}
	b.Advance(timeout - 2*time.Second)
	first := b.Store.Now()
	ended, next, err := b.Store.Expire(b.Context(), 3)
	if err != nil || len(ended) != 3 {
		b.Fatalf("%d ended, %v", len(ended), err)
	}
	for i, e := range ended {
		check(b, "lane", e.Lane, fmt.Sprint("web:chat", i))
	}
	// The fourth is over at this very moment, the fifth a second later.
	if next.After(first) {
		b.Errorf("next %v, want not after %v", next, first)
	}
	ended, next, err = b.Store.Expire(b.Context(), 3)
	if err != nil || len(ended) != 1 || next.UnixMilli() != first.Add(time.Second).UnixMilli() {
		b.Errorf("%d ended, next %v, %v", len(ended), next, err)
	}
}

// expiryMany parks many questions: nothing of them may be held in memory or
// slow down what the others need.
func expiryMany(b *bench) {
	n := parkedQuestions
	if testing.Short() {
		n = 2_000
	}
	if b.Parked > 0 {
		n = min(n, b.Parked)
	}
	const writers = 512
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := w; i < n; i += writers {
				if err := b.parkQuestion(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	lanes, questions, err := b.Store.Waiting(b.Context())
	if lanes != 0 || questions != n || err != nil {
		b.Fatalf("%d lanes, %d questions, error %v", lanes, questions, err)
	}
	for i := range 200 {
		b.expire(0)
		if ready, err := b.Store.Ready(b.Context(), 10); len(ready) != min(i, 10) || err != nil {
			b.Fatalf("ready %v, %v", ready, err)
		}
		p := alone(fmt.Sprint("many", i))
		acc, err := b.Store.Accept(b.Context(), inbox.Delivery{
			Place: p, DedupeKey: fmt.Sprint("press", i),
			In: channels.Inbound{Kind: channels.KindPress, From: channels.User{ID: "ana"}, Button: confirm.ButtonID(fmt.Sprint("many", i), confirm.ValueYes)},
		})
		if err != nil || acc.Outcome != inbox.AnsweredQuestion {
			b.Fatalf("%+v, %v", acc, err)
		}
	}
	b.Advance(time.Hour)
	ended, _, err := b.Store.Expire(b.Context(), 1000)
	if len(ended) != 1000 || err != nil {
		b.Errorf("%d ended, %v", len(ended), err)
	}
}

// parkQuestion is the shortest way to an open question.
func (b *bench) parkQuestion(i int) error {
	ctx, name := b.Context(), fmt.Sprint("many", i)
	p := alone(name)
	if _, err := b.Store.Accept(ctx, b.text(p, "ana", "order")); err != nil {
		return err
	}
	l, ok, err := b.Store.Claim(ctx, p.Lane)
	if err != nil || !ok {
		return fmt.Errorf("claiming %s: %v, %w", p.Lane, ok, err)
	}
	w := work{Lane: l, place: p, from: 1, to: 1, user: "ana"}
	st := b.question1(&w)
	st.Wait.Token = name
	_, err = b.Store.Step(ctx, l, st)
	return err
}
