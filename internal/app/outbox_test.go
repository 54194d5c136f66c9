package app

import (
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/internal/audit"
)

func TestDurable_G5_AQuestionNeverOvertakes(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	b := newBed(t, withTools(placeOrder(returns(`1`))))
	b.fake.FailNext(channeltest.Failure{Op: channeltest.OpSend, Hold: release})
	b.model.then(says("hello"), calls("place_order", twoCoffees))
	b.say("hi")
	b.say("two coffees")
	b.parked()
	if got := b.fake.Texts(b.chat.ID); len(got) != 0 {
		t.Fatalf("said %q", got)
	}
	close(release)
	b.message(2)
	same(t, []string{"hello", question}, b.fake.Texts(b.chat.ID))
}

func TestDurable_G5_Retries(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.fake.FailNext(
		channeltest.Failure{Op: channeltest.OpSend, Class: channels.RateLimited, After: 10 * time.Millisecond},
		channeltest.Failure{Op: channeltest.OpSend, Class: channels.Temporary},
	)
	b.model.then(says("one"), says("two"))
	b.say("1")
	b.say("2")
	b.wants(2, "two")
	same(t, []string{"one", "two"}, b.fake.Texts(b.chat.ID)) // in order all the same
}

func TestDurable_G5_PermanentErrorsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.fake.FailNext(channeltest.Failure{Op: channeltest.OpSend, Class: channels.PermanentMessage})
	b.model.then(says("refused"), says("two"))
	b.say("1")
	b.say("2")
	b.wants(1, "two")
	b.silent(1)
	rows, err := b.app.st.ListOutbox(b.ctx, true, 10)
	if err != nil || len(rows) != 1 || rows[0].State != "failed" || rows[0].Error == "" {
		t.Fatalf("%+v, %v", rows, err)
	}
	if !strings.Contains(b.logs.String(), "entry is given up") || b.metric("parley_outbox_sends_total", "channel", "fake", "outcome", "permanent_message") != 1 {
		t.Fatal("it was neither logged nor counted")
	}
}

func TestDurable_G5_GivenUpAfterMaxAge(t *testing.T) {
	t.Parallel()
	b := newBed(t, withYAML("outbox: {max_age: 30ms}"))
	b.fake.FailNext(channeltest.Failure{Op: channeltest.OpSend, Class: channels.Temporary})
	b.model.then(says("never"), says("two"))
	b.say("1")
	b.until("it is given up", func() bool {
		var n int
		b.row(`SELECT count(*) FROM outbox WHERE state='failed'`, nil, &n)
		return n == 1
	})
	b.say("2")
	b.wants(1, "two")
	if !strings.Contains(b.logs.String(), "not sent in time") {
		t.Fatalf("not logged:\n%s", b.logs)
	}
}

func TestDurable_G5_UnknownOutcomes(t *testing.T) {
	t.Parallel()
	shown := channeltest.Failure{Op: channeltest.OpSend, Class: channels.Unknown, Shown: true}
	t.Run("resent once", func(t *testing.T) {
		t.Parallel()
		b := newBed(t)
		b.fake.FailNext(shown, shown, shown)
		b.model.then(says("hello"))
		b.say("hi")
		b.message(1)
		b.until("the send is known to be unknown", func() bool {
			var n int
			b.row(`SELECT count(*) FROM outbox WHERE state='queued' AND maybe=1`, nil, &n)
			return n == 1
		})
		// It comes after half a minute, also in another process.
		b.clock.advance(30 * time.Second)
		b.restart()
		b.message(2)
		b.silent(2) // twice at the most
		rows, err := b.app.st.ListOutbox(b.ctx, true, 10)
		if err != nil || len(rows) != 1 || rows[0].State != "unknown" {
			t.Fatalf("%+v, %v", rows, err)
		}
	})
	t.Run("freely where the platform takes a key", func(t *testing.T) {
		t.Parallel()
		b := newBed(t, withCaps(channeltest.Idempotent()))
		b.fake.FailNext(shown)
		b.model.then(says("hello"))
		b.say("hi")
		b.until("it is sent", func() bool {
			var n int
			b.row(`SELECT count(*) FROM outbox WHERE state='sent'`, nil, &n)
			return n == 1
		})
		b.silent(1)
	})
}

func TestDurable_G5_AnEditFollowsItsSend(t *testing.T) {
	t.Parallel()
	t.Run("the send failed", func(t *testing.T) {
		t.Parallel()
		// The question can't be shown; a press can't come, but a reset can.
		b, _, release := newUnseen(t, channeltest.Failure{Class: channels.PermanentMessage})
		b.say("/reset")
		close(release)
		b.wants(1, resetText)
		b.silent(1)
		for _, e := range b.fake.Events() {
			if e.Op == channeltest.OpEdit {
				t.Fatalf("an edit of nothing: %+v", e)
			}
		}
	})
	t.Run("the send is under way", func(t *testing.T) {
		t.Parallel()
		b, _, release := newUnseen(t, channeltest.Failure{})
		b.say("/reset")
		b.event(audit.ConfirmCancelled)
		close(release)
		b.wants(2, resetText)
		b.closed(1, question)
	})
}

func TestDurable_G5_SplitAtTheLimit(t *testing.T) {
	t.Parallel()
	b := newBed(t, withCaps(channeltest.TextOnly()))
	var words []string
	for range 800 {
		words = append(words, "word")
	}
	text := strings.Join(words, " ")
	b.model.then(says(text))
	b.say("long")
	b.message(3)
	b.settled()
	same(t, text, strings.Join(b.fake.Texts(b.chat.ID), " "))
}

func TestDurable_G5_RowsOfAChannelTakenOutWait(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.fake.FailNext(channeltest.Failure{Op: channeltest.OpSend, Class: channels.Temporary, After: time.Hour})
	b.model.then(says("hello"))
	b.say("hi")
	b.until("the reply is put back", func() bool {
		var n int
		b.row(`SELECT count(*) FROM outbox WHERE state='queued'`, nil, &n)
		return n == 1
	})
	b.stop()
	b.without = true
	b.start()
	rows, err := b.app.st.ListOutbox(b.ctx, false, 10)
	if err != nil || len(rows) != 1 || rows[0].Channel != "fake" {
		t.Fatalf("%+v, %v", rows, err)
	}
	b.stop()
	b.without = false
	b.start()
	b.wants(1, "hello")
}
