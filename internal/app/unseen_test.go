package app

import (
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/internal/audit"
)

// newUnseen is a bed whose question about two coffees is saved but has not
// left: the platform holds the call until release is closed, and then answers
// as failure says.
func newUnseen(t *testing.T, failure channeltest.Failure, opts ...option) (b *bed, s *spy, release chan struct{}) {
	t.Helper()
	release = make(chan struct{})
	s = returns(`{"id":"P-1"}`)
	b = newBed(t, append([]option{withTools(placeOrder(s))}, opts...)...)
	failure.Op, failure.Hold = channeltest.OpSend, release
	b.fake.FailNext(failure)
	b.model.then(calls("place_order", twoCoffees), says("done"))
	b.say("two coffees")
	b.parked()
	return b, s, release
}

// parked waits until the turn waits for an answer.
func (b *bed) parked() {
	b.t.Helper()
	b.until("the turn waits", func() bool {
		var n int
		b.row(`SELECT count(*) FROM wait WHERE state='pending'`, nil, &n)
		return n == 1
	})
}

func TestConfirm_B27_TextBeforeTheDeliveryIsNoAnswer(t *testing.T) {
	t.Parallel()
	b, s, release := newUnseen(t, channeltest.Failure{})
	b.say("yes")
	b.event(audit.ConfirmReplied)
	close(release)
	b.wants(2, "done")
	b.settled()
	if r := one(t, b); b.reason() != "user_replied" || field(t, r.Content, "userReply") != "yes" || s.count() != 0 {
		t.Fatalf("the model was told %s, ran %d times", r.Content, s.count())
	}
	b.closed(1, question) // it was under way, so it was shown and then closed
}

func TestConfirm_B27_QueuedQuestionIsWithdrawn(t *testing.T) {
	t.Parallel()
	// The chat's first message is held, so the question waits behind it.
	release := make(chan struct{})
	s := returns(`1`)
	b := newBed(t, withTools(placeOrder(s)))
	b.fake.FailNext(channeltest.Failure{Op: channeltest.OpSend, Hold: release})
	b.model.then(says("hello"), calls("place_order", twoCoffees), says("tea then"))
	b.say("hi")
	b.until("the first turn is over", func() bool {
		var n int
		b.row(`SELECT count(*) FROM history`, nil, &n)
		return n == 1
	})
	b.say("two coffees")
	b.parked()
	b.say("no, tea")
	b.until("the turn is over", func() bool {
		var n int
		b.row(`SELECT count(*) FROM history`, nil, &n)
		return n == 2
	})
	close(release)
	b.wants(2, "tea then")
	b.silent(2)
	if b.reason() != "user_replied" || s.count() != 0 {
		t.Fatalf("the model was told %s", one(t, b).Content)
	}
}

func TestConfirm_B27_TextsBeforeTheQuestionTakeItsPlace(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := returns(`1`)
	b := newBed(t, withTools(placeOrder(s)))
	b.model.then(holds(release, calls("place_order", twoCoffees)), says("tea then"), says("bye"))
	b.say("two coffees")
	b.thinking()
	b.say("yes")
	b.say("or rather tea")
	close(release)
	b.wants(1, "tea then") // nobody was asked
	b.silent(1)
	if r := one(t, b); field(t, r.Content, "userReply") != "yes\nor rather tea" || s.count() != 0 {
		t.Fatalf("the model was told %s", r.Content)
	}
	b.sequence(audit.ToolCall, audit.ConfirmRequested, audit.ConfirmReplied)
	// They were taken: no turn of their own, and each a line of the history.
	b.say("thanks")
	b.wants(2, "bye")
	same(t, []string{"user: two coffees", "user: yes", "user: or rather tea", "assistant: tea then", "user: thanks"}, b.model.lines(3))
}

func TestConfirm_B27_SeveralRepliesAreJoined(t *testing.T) {
	t.Parallel()
	b, s, release := newUnseen(t, channeltest.Failure{}, withYAML("limits: {workers: 1}"))
	// The only worker is kept busy by somebody else, so that the turn can't
	// go on between the two texts.
	hold := make(chan struct{})
	chat, bo := channeltest.Direct("bo")
	b.model.mu.Lock()
	b.model.next = append([]answer{holds(hold, says("hi Bo"))}, b.model.next...)
	b.model.mu.Unlock()
	<-b.model.asked // for the question
	if _, err := b.fake.Say(b.ctx, chat, bo, "hi"); err != nil {
		t.Fatal(err)
	}
	b.thinking()
	b.say("wait")
	b.say("three of them")
	close(hold)
	close(release)
	if _, err := b.fake.NthMessage(b.ctx, chat.ID, 1); err != nil {
		t.Fatal(err)
	}
	b.until("the turn is over", func() bool { return b.idle(b.chat) })
	if r := one(t, b); field(t, r.Content, "userReply") != "wait\nthree of them" || s.count() != 0 {
		t.Fatalf("the model was told %s", r.Content)
	}
}

func TestConfirm_B27_AnUnknownOutcomeIsNoDelivery(t *testing.T) {
	t.Parallel()
	unknown := channeltest.Failure{Op: channeltest.OpSend, Class: channels.Unknown, Shown: true}
	for _, how := range []string{"text", "press"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := returns(`1`)
			b := newBed(t, withTools(placeOrder(s)))
			b.fake.FailNext(unknown)
			b.model.then(calls("place_order", twoCoffees), says("done"))
			b.say("two coffees")
			b.message(1)
			b.until("the send is known to be unknown", func() bool {
				var n int
				b.row(`SELECT count(*) FROM outbox WHERE maybe=1`, nil, &n)
				return n == 1
			})
			if how == "press" {
				// Whoever presses has seen it.
				same(t, channels.PressAck{Outcome: channels.PressAccepted}, b.press("yes"))
			} else {
				b.say("yes")
			}
			b.until("the bot has answered", func() bool {
				all := b.fake.Texts(b.chat.ID)
				return all[len(all)-1] == "done"
			})
			if want := map[string]int{"text": 0, "press": 1}[how]; s.count() != want {
				t.Fatalf("ran %d times, want %d", s.count(), want)
			}
		})
	}
}

func TestConfirm_B27_NotSentWithinAnHour(t *testing.T) {
	t.Parallel()
	s := returns(`1`)
	b := newBed(t, withTools(placeOrder(s)))
	b.fake.FailWhen(func(op channeltest.Op, _ channels.Part) *channeltest.Failure {
		return &channeltest.Failure{Class: channels.Temporary, After: time.Hour}
	})
	b.model.then(calls("place_order", twoCoffees), says("hello again"))
	b.say("two coffees")
	b.parked()
	b.passes(59 * time.Minute)
	b.sequence(audit.ToolCall, audit.ConfirmRequested)
	b.passes(2 * time.Minute)
	b.until("the turn is cancelled", func() bool { return len(b.events()) == 3 })
	b.event(audit.ConfirmCancelled)
	b.fake.FailWhen(nil)
	b.say("still there?")
	b.wants(1, "hello again") // the question was withdrawn
	b.silent(1)
	same(t, []string{"user: two coffees", "user: still there?"}, b.model.lines(2))
	if s.count() != 0 {
		t.Fatal("ran unasked")
	}
}

func TestConfirm_B27_PermanentFailureCancels(t *testing.T) {
	t.Parallel()
	b, s, release := newUnseen(t, channeltest.Failure{Class: channels.PermanentMessage})
	close(release)
	b.until("the turn is cancelled", func() bool { return len(b.events()) == 3 })
	if e := b.event(audit.ConfirmCancelled); e.Error != "undeliverable" || s.count() != 0 {
		t.Fatalf("event %+v, ran %d times", e, s.count())
	}
	b.silent(0)
	b.say("hello?")
	b.wants(1, "done")
	same(t, []string{"user: two coffees", "user: hello?"}, b.model.lines(2))
}
