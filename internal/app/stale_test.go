package app

import (
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/internal/audit"
)

// platforms are one with buttons and edits and one where everything is typed.
func platforms() map[string]channeltest.Config {
	return map[string]channeltest.Config{"buttons": channeltest.Rich(), "typed": channeltest.TextOnly()}
}

// hour is the full hour of the platform's clock, far from the machine's.
func hour(n int) time.Time { return time.Date(2031, 5, 1, n, 0, 0, 0, time.UTC) }

func (b *bed) wrote(text string, at time.Time) {
	b.t.Helper()
	b.hears(channels.Inbound{Text: text, At: at})
}

// Nobody acknowledged a "yes" of the morning, so the platform delivers it again
// in the afternoon, when another question is open.
func TestConfirm_B27_YesOfBeforeTheQuestion(t *testing.T) {
	t.Parallel()
	for name, caps := range platforms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := returns(`{"id":"P-1"}`)
			b := newBed(t, withCaps(caps), withTools(placeOrder(s)))
			b.model.then(calls("place_order", twoCoffees), calls("place_order", twoCoffees), says("done"))
			b.wrote("two coffees", hour(15))
			b.message(1)
			b.settled()
			b.wrote("yes", hour(9))
			b.event(audit.ConfirmReplied)
			b.message(2)
			b.settled()
			if r := one(t, b); b.reason() != "user_replied" || field(t, r.Content, "userReply") != "yes" || s.count() != 0 {
				t.Fatalf("the model was told %s, ran %d times", r.Content, s.count())
			}
			// A yes to the new question counts: within the second in which the
			// turn's newest message was written, and however old that is here.
			b.wrote("yes", hour(15))
			b.wants(3, "done")
			if s.count() != 1 {
				t.Errorf("ran %d times", s.count())
			}
		})
	}
}

// Of several messages in one turn the newest says how old an answer may be:
// what came along behind a reply, or in the question's place.
func TestConfirm_B27_YesOfBeforeTheNewestMessage(t *testing.T) {
	t.Parallel()
	for name, caps := range platforms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := returns(`{"id":"P-1"}`)
			release := make(chan struct{})
			b := newBed(t, withCaps(caps), withTools(placeOrder(s)))
			b.model.then(holds(release, calls("place_order", twoCoffees)), calls("place_order", twoCoffees), calls("place_order", twoCoffees), calls("place_order", twoCoffees), says("done"))
			b.wrote("two coffees", hour(9))
			b.thinking()
			b.wrote("quickly", hour(11)) // comes in the first question's place
			close(release)
			b.message(1)
			b.settled()
			b.wrote("yes", hour(10))
			b.message(2)
			b.settled()
			if s.count() != 0 {
				t.Fatal("a yes of before the newest message was taken")
			}
			b.wrote("really quickly", hour(13)) // a reply
			b.message(3)
			b.settled()
			b.wrote("no", hour(12))
			b.wants(4, "done")
			b.settled()
			if s.count() != 0 || b.reason() != "user_replied" {
				t.Errorf("ran %d times, the model was told %q", s.count(), b.reason())
			}
		})
	}
}

// A press proves that the question was seen, whatever its time says; and what
// was written before it was not meant for the next question.
func TestConfirm_B27_PressesAreNotConcerned(t *testing.T) {
	t.Parallel()
	s := returns(`{"id":"P-1"}`)
	b := newBed(t, withTools(placeOrder(s)))
	b.model.then(calls("place_order", twoCoffees), calls("place_order", twoCoffees), says("done"))
	b.wrote("two coffees", hour(12))
	b.hears(channels.Inbound{Kind: channels.KindPress, Button: b.asked(1).Buttons[0].ID, At: hour(8)})
	b.asked(2)
	b.hears(channels.Inbound{Kind: channels.KindPress, Button: b.message(2).Buttons[0].ID, At: hour(13)})
	b.wants(3, "done")
	if s.count() != 2 {
		t.Errorf("ran %d times", s.count())
	}
}
