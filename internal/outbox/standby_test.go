package outbox

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-bot/parley/channels"
)

func TestStandby_G5_SendsNothingBeforeResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a := newStore(), &fakeAdapter{}
		s.say("tg", "c", "one", "two")
		o := startWith(t, Config{}, Deps{Store: s, Adapters: map[string]channels.Adapter{"tg": a}, Standby: true})
		if o.Sends("tg") || o.Sends("nobody") {
			t.Error("it says that it sends")
		}
		o.Wake("tg", "tg:c")
		born := s.born("tg", "d", "three")
		o.Take(born)
		time.Sleep(time.Minute)
		if got := a.texts(""); got != nil {
			t.Errorf("sent %q", got)
		}
		if got := s.entry(born); got.state != "queued" {
			t.Errorf("the entry handed over is %s, want it put back for who sends", got.state)
		}
		if n := o.records(); n != 0 {
			t.Errorf("%d chats are remembered", n)
		}
		o.Resume("tg")
		if !o.Sends("tg") {
			t.Error("it says that it doesn't send")
		}
		time.Sleep(scanGap)
		synctest.Wait()
		if left := s.left("sent"); left != nil {
			t.Errorf("after Resume left: %v", left)
		}
	})
}

func TestSuspend_G5_LeavesWhatIsMarked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a := &fakeAdapter{answer: func(context.Context, channels.Part) error {
			time.Sleep(time.Second)
			return nil
		}}
		o := start(t, Config{Senders: 1}, s, map[string]channels.Adapter{"tg": a})
		first := s.born("tg", "c", "one")
		s.say("tg", "c", "two")
		o.Take(first)
		synctest.Wait()
		waiting := s.born("tg", "d", "three")
		o.Take(waiting)
		o.Suspend("tg")
		time.Sleep(time.Minute)
		if got := a.texts(""); !slices.Equal(got, []string{"one"}) {
			t.Errorf("sent %q, want only what was under way", got)
		}
		if got := s.entry(first); got.state != "sent" {
			t.Errorf("what was under way is %s, want its outcome kept", got.state)
		}
		// Who sends now may be at it: it isn't put back.
		if got := s.entry(waiting); got.state != "sending" || s.calls["retry"] != 0 {
			t.Errorf("the marked one is %s, %d were put back", got.state, s.calls["retry"])
		}
		if n := o.records(); n != 0 {
			t.Errorf("%d chats are remembered", n)
		}
		// The other process has left them as they were.
		s.set(func(s *fakeStore) {
			for _, c := range s.chats {
				c.busy = 0
			}
		})
		o.Resume("tg")
		time.Sleep(time.Minute)
		if left := s.left("sent"); left != nil {
			t.Errorf("after Resume left: %v", left)
		}
		if got := s.entry(waiting); !got.Maybe {
			t.Error("what was marked before isn't doubted")
		}
	})
}

// An outcome that couldn't be saved is kept for as long as it says that the
// entry was sent: nobody else knows that.
func TestSuspend_G5_KeepsThatItWasSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a := newStore(), &fakeAdapter{}
		s.noSent = context.DeadlineExceeded
		o := start(t, Config{}, s, map[string]channels.Adapter{"tg": a})
		e := s.born("tg", "c", "one")
		o.Take(e)
		synctest.Wait()
		o.Suspend("tg")
		s.set(func(s *fakeStore) { s.noSent = nil })
		time.Sleep(time.Minute)
		o.Resume("tg")
		time.Sleep(time.Minute)
		if got := s.entry(e); got.state != "sent" || len(a.texts("")) != 1 {
			t.Errorf("it is %s after %d sends", got.state, len(a.texts("")))
		}
		if s.faults != nil {
			t.Error(s.faults)
		}
	})
}
