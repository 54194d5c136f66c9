package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-bot/parley/channels"
)

func TestStop_G7_FlushesWhatIsAtHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a := &fakeAdapter{answer: func(context.Context, channels.Part) error {
			time.Sleep(time.Second)
			return nil
		}}
		o := start(t, Config{Senders: 1}, s, map[string]channels.Adapter{"tg": a})
		s.say("tg", "c", "one", "two", "three")
		s.say("tg", "d", "one")
		o.Wake("tg", "tg:c")
		o.Wake("tg", "tg:d")
		synctest.Wait()
		begun := time.Now()
		var g sync.WaitGroup
		for range 2 {
			g.Go(func() {
				if err := o.Stop(t.Context()); err != nil {
					t.Errorf("Stop: %v", err)
				}
			})
		}
		g.Wait()
		if left := s.left("sent"); left != nil || time.Since(begun) != 4*time.Second {
			t.Errorf("after %v left: %v", time.Since(begun), left)
		}
		e := s.born("tg", "e", "too late")
		o.Take(e)
		o.Wake("tg", "tg:c")
		if got := s.entry(e); got.state != "queued" {
			t.Errorf("an entry handed over after Stop is %s, want it put back", got.state)
		}
	})
}

func TestStop_G7_CancelsAndPutsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a := &fakeAdapter{answer: func(ctx context.Context, p channels.Part) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		o := start(t, Config{Senders: 1, Grace: 5 * time.Second, SendTimeout: time.Hour}, s, map[string]channels.Adapter{"tg": a})
		synctest.Wait()
		hung := s.born("tg", "c", "one")
		o.Take(hung)
		synctest.Wait()
		held := s.born("tg", "d", "never tried")
		o.Take(held)
		begun := time.Now()
		if err := o.Stop(t.Context()); err != nil {
			t.Fatalf("Stop: %v", err)
		}
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("stopped after %v, want the grace", took)
		}
		if got := s.entry(hung); got.state != "queued" || !got.Maybe {
			t.Errorf("the cancelled one is %s, maybe %v; want its outcome kept as unknown", got.state, got.Maybe)
		}
		if got := s.entry(held); got.state != "queued" || got.Maybe {
			t.Errorf("the untried one is %s, maybe %v; want it put back", got.state, got.Maybe)
		}
		if s.faults != nil {
			t.Error(s.faults)
		}
	})
}

func TestStop_G7_NothingIsBegunAfterTheGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a := new(fakeAdapter)
		o := start(t, Config{}, s, map[string]channels.Adapter{"tg": a})
		synctest.Wait()
		s.set(func(s *fakeStore) { s.onNext = func(Entry) { o.endSends(ErrStopping) } })
		e := s.say("tg", "c", "x")
		o.Wake("tg", "tg:c")
		synctest.Wait()
		if got := s.entry(e); got.state != "queued" || got.Maybe || len(a.texts("")) != 0 {
			t.Errorf("entry is %s, maybe %v, after %d calls", got.state, got.Maybe, len(a.texts("")))
		}
	})
}

func TestStop_IsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		open := make(chan struct{})
		a := &fakeAdapter{answer: func(context.Context, channels.Part) error { <-open; return nil }}
		o := New(Config{}, Deps{Store: s, Adapters: map[string]channels.Adapter{"tg": a}})
		o.Start(t.Context())
		s.say("tg", "c", "x")
		o.Wake("tg", "tg:c")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		err := o.Stop(ctx)
		if err == nil || time.Since(begun) != time.Second+abortTime {
			t.Errorf("Stop = %v after %v", err, time.Since(begun))
		}
		close(open)
		if err := o.Stop(t.Context()); err != nil {
			t.Errorf("second Stop: %v", err)
		}
		if left := s.left("sent"); left != nil {
			t.Error(left)
		}
	})
}

func TestStop_UnsavedOutcomeGetsALastChance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a := new(fakeAdapter)
		o := start(t, Config{}, s, map[string]channels.Adapter{"tg": a})
		synctest.Wait()
		s.set(func(s *fakeStore) { s.noSent = errors.New("disk full") })
		for i := range 5 {
			o.Take(s.born("tg", fmt.Sprint(i), "x"))
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		s.set(func(s *fakeStore) { s.noSent = nil })
		if err := o.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := s.left("sent"); left != nil {
			t.Errorf("left: %v", left)
		}
	})
}

func TestStop_BeforeStart(t *testing.T) {
	t.Parallel()
	s := newStore()
	o := New(Config{}, Deps{Store: s, Adapters: map[string]channels.Adapter{"tg": new(fakeAdapter)}})
	e := s.born("tg", "c", "x")
	o.Take(e)
	if err := o.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.Start(t.Context())
	if got := s.entry(e).state; got != "queued" {
		t.Errorf("entry is %s, want it put back", got)
	}
	if o.records() != 1 || strings.Join(s.faults, "") != "" {
		t.Errorf("records %d, faults %v", o.records(), s.faults)
	}
}
