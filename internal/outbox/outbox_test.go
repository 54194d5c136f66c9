package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
)

func TestOutbox_G5_OneAtATimeInOrderThroughFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		rnd := rand.New(rand.NewPCG(1, 2))
		var mu sync.Mutex
		a := &fakeAdapter{caps: channels.Capabilities{Idempotent: true}}
		a.answer = func(context.Context, channels.Part) error {
			mu.Lock()
			n, pause := rnd.IntN(10), time.Duration(rnd.IntN(50))*time.Millisecond
			mu.Unlock()
			time.Sleep(pause)
			switch n {
			case 0:
				return sendErr(channels.Temporary)
			case 1:
				return errors.New("connection reset")
			}
			return nil
		}
		o := start(t, Config{Senders: 8}, s, map[string]channels.Adapter{"tg": a})
		const chats, each = 20, 15
		for i := range each {
			for c := range chats {
				chat := fmt.Sprint("chat-", c)
				s.say("tg", chat, fmt.Sprint(i))
				o.Wake("tg", "tg:"+chat)
			}
		}
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if left := s.left("sent"); left != nil {
			t.Fatalf("left: %v", left)
		}
		if a.both != nil {
			t.Errorf("two sends at once in %v", a.both)
		}
		for c := range chats {
			// Repeats of one text stand next to each other; else it's in order.
			got := slices.Compact(a.texts(channels.ChatID(fmt.Sprint("chat-", c))))
			var want []string
			for i := range each {
				want = append(want, fmt.Sprint(i))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("chat %d (-want +got):\n%s", c, diff)
			}
		}
		if n := o.records(); n != 0 {
			t.Errorf("%d chats are remembered with nothing to send", n)
		}
	})
}

func TestOutbox_TakeSendsAtOnceAndGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a := new(fakeAdapter)
		var logged []string
		var asked []time.Duration
		begun := time.Now()
		o := startWith(t, Config{}, Deps{
			Store: s, Adapters: map[string]channels.Adapter{"tg": a},
			OnLogged:   func(key string) { logged = append(logged, key) },
			OnQuestion: func(at time.Time) { asked = append(asked, at.Sub(begun)) },
		})
		synctest.Wait() // the scan of the start is over
		e := s.born("tg", "c", "one")
		e.Asks = 2 * time.Minute
		s.say("tg", "c", "two", "three")
		o.Take(e)
		synctest.Wait()
		if got := a.texts("c"); !slices.Equal(got, []string{"one", "two", "three"}) {
			t.Errorf("sent %v", got)
		}
		if s.calls["next"] != 0 {
			t.Errorf("the store was asked %d times for what was handed over", s.calls["next"])
		}
		if a.parts[0].Key != "tg:c#1" || a.parts[2].Key != "tg:c#3" {
			t.Errorf("keys are %q and %q", a.parts[0].Key, a.parts[2].Key)
		}
		if len(logged) != 3 || !slices.Equal(asked, []time.Duration{2 * time.Minute}) {
			t.Errorf("hooks: logged %v, asked %v", logged, asked)
		}
		if left := s.left("sent"); left != nil {
			t.Error(left)
		}
	})
}

// A commit that bears an entry, and the hand-over of it, are two steps; a hint
// about the chat may come between them.
func TestOutbox_G5_BornEntryFoundByNextIsSentOnce(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"during Next", "during the send", "after it", "twice", "again during the send"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStore()
				var o *Outbox
				var e Entry
				a := &fakeAdapter{answer: func(_ context.Context, p channels.Part) error {
					if p.Text == "one" && strings.HasSuffix(when, "during the send") {
						o.Take(e)
					}
					time.Sleep(time.Second)
					return nil
				}}
				o = start(t, Config{}, s, map[string]channels.Adapter{"tg": a})
				synctest.Wait()
				e = s.born("tg", "c", "one")
				switch when {
				case "during Next":
					s.set(func(s *fakeStore) { s.onNext = func(Entry) { o.Take(e) } })
				case "again during the send":
					o.Take(e)
				case "twice":
					o.Take(e)
					o.Take(e)
				}
				o.Wake("tg", "tg:c")
				time.Sleep(5 * time.Second)
				synctest.Wait()
				if when == "after it" {
					o.Take(e)
				}
				s.set(func(s *fakeStore) { s.onNext = nil })
				s.say("tg", "c", "two")
				o.Wake("tg", "tg:c")
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if got := a.texts("c"); !slices.Equal(got, []string{"one", "two"}) {
					t.Errorf("sent %v, want each once", got)
				}
				if left := s.left("sent"); left != nil {
					t.Error(left)
				}
			})
		})
	}
}

// An entry that was handed over while Next found it too was never tried, so
// its first unknown outcome is the first.
func TestOutbox_G5_BornEntryIsNotTakenForTried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a := new(fakeAdapter)
		a.answer = func(context.Context, channels.Part) error {
			if len(a.texts("")) == 1 {
				return errors.New("EOF")
			}
			return nil
		}
		o := start(t, Config{}, s, map[string]channels.Adapter{"tg": a})
		synctest.Wait()
		e := s.born("tg", "c", "one")
		s.set(func(s *fakeStore) {
			s.onNext = func(Entry) {
				o.Take(e)
				s.set(func(s *fakeStore) { s.onNext = nil })
			}
		})
		o.Wake("tg", "tg:c")
		time.Sleep(time.Minute)
		synctest.Wait()
		if left := s.left("sent"); left != nil {
			t.Error(left)
		}
	})
}

func TestOutbox_G2_DeadChannelDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		dead := &fakeAdapter{answer: func(ctx context.Context, _ channels.Part) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		live := new(fakeAdapter)
		o := start(t, Config{Senders: 4}, s, map[string]channels.Adapter{"dead": dead, "live": live})
		for i := range 50 {
			s.say("dead", fmt.Sprint(i), "x")
			o.Wake("dead", fmt.Sprint("dead:", i))
		}
		begun := time.Now()
		for i := range 50 {
			s.say("live", fmt.Sprint(i), "x")
			o.Wake("live", fmt.Sprint("live:", i))
		}
		synctest.Wait()
		if n := len(live.texts("")); n != 50 || time.Since(begun) != 0 {
			t.Errorf("%d of 50 sent beside a dead channel", n)
		}
		if n := len(dead.texts("")); n != 4 {
			t.Errorf("%d sends at once on one channel, want 4", n)
		}
	})
}

func TestOutbox_G5_LongChatDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a := &fakeAdapter{answer: func(context.Context, channels.Part) error {
			time.Sleep(time.Second)
			return nil
		}}
		for i := range 100 {
			s.say("tg", "long", fmt.Sprint(i))
		}
		s.say("tg", "short", "hello")
		start(t, Config{Senders: 1}, s, map[string]channels.Adapter{"tg": a})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := a.texts("short"); len(got) != 1 {
			t.Errorf("a chat with one message waits behind one with 100: %v", a.texts(""))
		}
	})
}

func TestOutbox_G3_LeftoversAreFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a, b := new(fakeAdapter), new(fakeAdapter)
		a.answer = func(context.Context, channels.Part) error {
			time.Sleep(10 * time.Millisecond)
			return nil
		}
		for i := range 2700 {
			s.say("tg", fmt.Sprintf("%04d", i), "x", "y")
		}
		s.say("wa", "1", "x")
		s.say("gone", "1", "no longer configured")
		start(t, Config{MaxChats: 100}, s, map[string]channels.Adapter{"tg": a, "wa": b})
		synctest.Wait()
		if len(b.texts("")) != 1 {
			t.Error("a channel behind one with many chats wasn't looked at")
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if left := s.left("sent"); len(left) != 1 || !strings.HasPrefix(left[0], "gone:") {
			t.Errorf("%d left: %.200v", len(left), left)
		}
		s.say("tg", "late", "from another process")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got := a.texts("late"); len(got) != 1 {
			t.Error("what another process said wasn't found by the poll")
		}
	})
}

func TestOutbox_G6_TooManyAtHandGoBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		open := make(chan struct{})
		a := &fakeAdapter{answer: func(context.Context, channels.Part) error { <-open; return nil }}
		o := start(t, Config{MaxChats: 10, Senders: 2}, s, map[string]channels.Adapter{"tg": a})
		synctest.Wait()
		for i := range 100 {
			o.Take(s.born("tg", fmt.Sprint(i), "x"))
		}
		if n := o.records(); n != 10 {
			t.Errorf("%d chats at hand, want 10", n)
		}
		close(open)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if left := s.left("sent"); left != nil {
			t.Errorf("left: %v", left)
		}
		if n := len(a.texts("")); n != 100 {
			t.Errorf("%d sends for 100 entries", n)
		}
	})
}

func TestOutbox_RestingChatsHideNoOthers(t *testing.T) {
	t.Parallel()
	for _, most := range []int{100, 10_000} {
		t.Run(fmt.Sprint("MaxChats=", most), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStore()
				a := new(fakeAdapter)
				for i := range 3000 {
					e := s.say("tg", fmt.Sprintf("a%04d", i), "later")
					s.chats[e.ChatKey].entries[0].due = time.Now().Add(8 * time.Minute)
				}
				s.say("tg", "z", "now")
				o := start(t, Config{MaxChats: most}, s, map[string]channels.Adapter{"tg": a})
				time.Sleep(7 * time.Minute)
				synctest.Wait()
				if got := a.texts(""); !slices.Equal(got, []string{"now"}) {
					t.Errorf("sent %v", got)
				}
				if n := s.calls["next"]; n > 7*3000 {
					t.Errorf("%d calls of Next in 7 minutes for entries that aren't due", n)
				}
				if n := o.records(); n > most {
					t.Errorf("%d chats are remembered, want %d at the most", n, most)
				}
				time.Sleep(4 * time.Minute)
				synctest.Wait()
				if left := s.left("sent"); left != nil {
					t.Errorf("%d left", len(left))
				}
			})
		})
	}
}

// behindStore says of every entry that it was due a minute ago, and not now.
type behindStore struct{ *fakeStore }

func (s behindStore) Next(context.Context, string) (Entry, bool, time.Time, error) {
	s.set(func(f *fakeStore) { f.calls["next"]++ })
	return Entry{}, false, time.Now().Add(-time.Minute), nil
}

func TestOutbox_StoreClockBehindIsNoHotLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		o := startWith(t, Config{}, Deps{Store: behindStore{s}, Adapters: map[string]channels.Adapter{"tg": new(fakeAdapter)}})
		o.Wake("tg", "tg:c")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := s.calls["next"]; n > 501 {
			t.Errorf("%d calls in 10 s", n)
		}
	})
}

func TestOutbox_UnknownChannelIsPutBack(t *testing.T) {
	t.Parallel()
	s := newStore()
	o := New(Config{}, Deps{Store: s})
	e := s.born("gone", "c", "x")
	o.Take(e)
	o.Wake("gone", "gone:c")
	if got := s.entry(e); got.state != "queued" || got.Maybe {
		t.Errorf("entry is %s, maybe %v", got.state, got.Maybe)
	}
}
