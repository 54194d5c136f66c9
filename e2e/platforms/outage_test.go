package platforms

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// away is a platform that can be away.
type away interface {
	platform
	down()
	up()
}

// TestOutage_G1_G5_NothingLostNothingTwice: while twenty people write, the
// platform is away, comes back, and the bot is started again; many messages are
// delivered more than once. Each is answered once, in order.
func TestOutage_G1_G5_NothingLostNothingTwice(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"telegram_polling", "telegram_webhook", "discord_gateway", "whatsapp_cloud", "whatsapp_web", "twilio_sms", "twilio_whatsapp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const (
				people, messages = 20, 12
				pause            = 100 * time.Millisecond
				gone             = 700 * time.Millisecond
			)
			p, ok := open()[name](t).(away)
			if !ok {
				t.Fatal("it can't be away")
			}
			m := newMind()
			released := make(chan struct{})
			m.stuck = released
			b := &bot{t: t, on: []platform{p}, model: m}
			b.start()
			var talking sync.WaitGroup
			for i := range people {
				who := person(1 + i)
				talking.Go(func() { chatter(p, who, messages, pause) })
			}
			// Each has an answer under way when the platform goes.
			if !until(t.Context(), func() bool { return m.waiting() == people }) {
				t.Fatalf("the model thinks about %d texts, want %d", m.waiting(), people)
			}
			p.down()
			close(released)
			after(gone)
			p.up()
			after(pause)
			b.stop()
			after(pause)
			b.start()
			talking.Wait()
			begun := time.Now()
			for i := range people {
				who := person(1 + i)
				if !until(t.Context(), func() bool { return len(p.shown(who)) >= messages }) {
					t.Errorf("person %d got %d answers of %d", who, len(p.shown(who)), messages)
				}
			}
			caughtUp := time.Since(begun)
			b.stop()
			b.atRest()
			for i := range people {
				who := person(1 + i)
				var got, want []string
				for _, s := range p.shown(who) {
					got = append(got, s.text)
				}
				for n := range messages {
					text := saying(who, n)
					want = append(want, "You said: "+text)
					// A turn that the stop cut short begins anew.
					if heard := m.times(text); heard < 1 || heard > 2 {
						t.Errorf("the model heard %q %d times", text, heard)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("person %d: wanted (-), got (+):\n%s", who, cmp.Diff(want, got))
				}
			}
			refused := len(b.column(`SELECT 1 FROM outbox WHERE attempts>1`))
			t.Logf("%d answers, %d of them sent again, %s after the last message", people*messages, refused, caughtUp)
			if refused < people {
				t.Error("the platform was never away for some")
			}
		})
	}
}

// saying is what a person writes as the n-th, from 0. The model thinks about the second.
func saying(who person, n int) string {
	text := fmt.Sprintf("%d says %d", who, n)
	if n == 1 {
		return "wait, " + text
	}
	return text
}

// chatter is a person who writes on and on, with a network that delivers every
// third message again.
func chatter(p platform, who person, messages int, pause time.Duration) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for n := range messages {
		again := p.say(who, saying(who, n))
		if n%3 == 0 {
			again()
		}
		<-tick.C
	}
}

// after lets some time pass: load, and its absence, take time.
func after(d time.Duration) { <-time.After(d) }
