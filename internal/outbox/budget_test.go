package outbox

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
)

// timed is an adapter that remembers when it sent what.
type timed struct {
	fakeEditor
	begun time.Time
	times sync.Mutex
	log   []string
	at    []time.Duration
}

func newTimed(caps channels.Capabilities) *timed {
	a := &timed{begun: time.Now()}
	a.caps = caps
	a.answer = func(_ context.Context, p channels.Part) error { a.note(p); return nil }
	a.edit = func(_ channels.MessageID, p channels.Part) error { a.note(p); return nil }
	return a
}

func (a *timed) note(p channels.Part) {
	a.times.Lock()
	defer a.times.Unlock()
	at := time.Since(a.begun)
	a.at = append(a.at, at)
	a.log = append(a.log, fmt.Sprintf("%s %s%s", at.Round(time.Millisecond), p.Chat.ID, p.Text))
}

// sent is what was sent and when, once all is still.
func (a *timed) sent() ([]string, []time.Duration) {
	synctest.Wait()
	a.times.Lock()
	defer a.times.Unlock()
	return slices.Clone(a.log), slices.Clone(a.at)
}

func rated(chat, account channels.Rate) channels.Capabilities {
	return channels.Capabilities{Budget: channels.Budget{Chat: chat, Account: account}}
}

func first(log []string, _ []time.Duration) []string { return log }

func TestBucket(t *testing.T) {
	t.Parallel()
	begun := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name       string
		rate       channels.Rate
		asked, got []time.Duration // since begun
	}{
		{"none", channels.Rate{}, []time.Duration{0, 0, 0}, []time.Duration{0, 0, 0}},
		{"half a rate is none", channels.Rate{Sends: 1}, []time.Duration{0, 0}, []time.Duration{0, 0}},
		{"one a second", channels.Rate{Sends: 1, Per: time.Second}, []time.Duration{0, 0, 0, 9e9, 9e9}, []time.Duration{0, 1e9, 2e9, 9e9, 10e9}},
		{"three in three seconds", channels.Rate{Sends: 3, Per: 3 * time.Second}, []time.Duration{0, 0, 0, 0, 0, 1e9}, []time.Duration{0, 0, 0, 1e9, 2e9, 3e9}},
		{"rest fills it", channels.Rate{Sends: 2, Per: 2 * time.Second}, []time.Duration{0, 0, 1e9, 1e9, 60e9, 60e9, 60e9}, []time.Duration{0, 0, 1e9, 2e9, 60e9, 60e9, 61e9}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var b bucket
			var got []time.Duration
			for _, asked := range tt.asked {
				var at time.Time
				at, b = b.take(begun.Add(asked), tt.rate)
				got = append(got, at.Sub(begun))
			}
			if diff := cmp.Diff(tt.got, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A chat that is over its budget waits; the one sender there is goes on with
// the others.
func TestBudget_G2_ChatWaitsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a := newStore(), newTimed(rated(channels.Rate{Sends: 1, Per: time.Second}, channels.Rate{}))
		o := start(t, Config{Senders: 1}, s, map[string]channels.Adapter{"tg": a})
		s.say("tg", "a", "1", "2", "3")
		s.say("tg", "b", "1")
		o.Wake("tg", "tg:a")
		o.Wake("tg", "tg:b")
		time.Sleep(1500 * time.Millisecond)
		s.say("tg", "b", "2")
		o.Wake("tg", "tg:b")
		time.Sleep(time.Minute)
		want := []string{"0s a1", "0s b1", "1s a2", "1.5s b2", "2s a3"}
		if diff := cmp.Diff(want, first(a.sent())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if left := s.left("sent"); left != nil {
			t.Errorf("left: %v", left)
		}
		if n := o.records(); n != 0 {
			t.Errorf("%d chats are remembered", n)
		}
	})
}

func TestBudget_G5_Account(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const chats, most = 200, 30
		s, a := newStore(), newTimed(rated(channels.Rate{Sends: 1, Per: time.Second}, channels.Rate{Sends: most, Per: time.Second}))
		other := newTimed(channels.Capabilities{})
		o := start(t, Config{}, s, map[string]channels.Adapter{"tg": a, "web": other})
		for i := range chats {
			chat := fmt.Sprint("chat-", i)
			s.say("tg", chat, "1", "2")
			o.Wake("tg", "tg:"+chat)
		}
		s.say("web", "w", "1")
		o.Wake("web", "web:w")
		time.Sleep(time.Minute)
		synctest.Wait()
		if left := s.left("sent"); left != nil {
			t.Fatalf("left: %v", left)
		}
		if _, at := other.sent(); len(at) != 1 || at[0] != 0 {
			t.Errorf("the other channel's message left at %v", at)
		}
		// A full bucket, and then one each thirtieth of a second.
		_, times := a.sent()
		slices.Sort(times)
		for i, at := range times {
			least := time.Duration(max(0, i-most+1)) * (time.Second / most)
			if at < least || at > least+2*time.Second {
				t.Fatalf("send %d at %v, want about %v", i, at, least)
			}
		}
	})
}

func TestBudget_EditsCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		caps := rated(channels.Rate{Sends: 2, Per: 2 * time.Second}, channels.Rate{})
		s, a := newStore(), newTimed(caps)
		o := start(t, Config{}, s, map[string]channels.Adapter{"tg": a})
		chat := channels.Chat{ID: "a"}
		s.say("tg", "a", "1")
		for _, text := range []string{"2", "3", "4"} {
			s.add("tg", "a", Entry{Kind: Edit, Target: "m", Part: channels.Part{Chat: chat, Text: text}})
		}
		o.Wake("tg", "tg:a")
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"0s a1", "0s a2", "1s a3", "2s a4"}, first(a.sent())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestBudget_MinIntervalOfEdits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a := newStore(), newTimed(channels.Capabilities{Edit: channels.EditLimits{Text: true, MinInterval: 3 * time.Second}})
		o := start(t, Config{}, s, map[string]channels.Adapter{"tg": a})
		for _, e := range []struct{ target, text string }{{"m", "1"}, {"m", "2"}, {"other", "3"}, {"m", "4"}} {
			s.add("tg", "a", Entry{Kind: Edit, Target: channels.MessageID(e.target), Part: channels.Part{Chat: channels.Chat{ID: "a"}, Text: e.text}})
		}
		s.say("tg", "b", "1")
		o.Wake("tg", "tg:a")
		o.Wake("tg", "tg:b")
		time.Sleep(time.Minute)
		log, _ := a.sent()
		slices.Sort(log)
		if diff := cmp.Diff([]string{"0s a1", "0s b1", "3s a2", "3s a3", "6s a4"}, log); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Those who waited for their turn while the account was paused don't all come
// at once when it goes on.
func TestBudget_G5_AfterAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a := newStore(), newTimed(rated(channels.Rate{}, channels.Rate{Sends: 1, Per: time.Second}))
		var refused atomic.Bool
		a.answer = func(_ context.Context, p channels.Part) error {
			if refused.CompareAndSwap(false, true) {
				return sendErr(channels.PermanentToken) // pauses for half a minute
			}
			a.note(p)
			return nil
		}
		o := start(t, Config{}, s, map[string]channels.Adapter{"tg": a})
		for i := range 10 {
			chat := fmt.Sprint("chat-", i)
			s.say("tg", chat, "x")
			o.Wake("tg", "tg:"+chat)
		}
		time.Sleep(5 * time.Minute)
		if left := s.left("sent"); left != nil {
			t.Fatalf("left: %v", left)
		}
		log, at := a.sent()
		for i := 1; i < len(at); i++ {
			if gap := at[i] - at[i-1]; gap < time.Second {
				t.Errorf("sends %d and %d are %v apart: %v", i-1, i, gap, log)
			}
		}
	})
}

// What waits when the program stops is put back, not lost and not sent early.
func TestBudget_G7_StopPutsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a := newStore(), newTimed(rated(channels.Rate{Sends: 1, Per: time.Hour}, channels.Rate{}))
		o := New(Config{}, Deps{Store: s, Adapters: map[string]channels.Adapter{"tg": a}})
		o.Start(t.Context())
		s.say("tg", "a", "1")
		last := s.say("tg", "a", "2")
		o.Wake("tg", "tg:a")
		time.Sleep(time.Second)
		begun := time.Now()
		if err := o.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
		log, _ := a.sent()
		if got := s.entry(last); got.state != "queued" || len(log) != 1 || time.Since(begun) > time.Second {
			t.Errorf("after %v the waiting entry is %s, sent %v", time.Since(begun), got.state, log)
		}
	})
}

func TestBudget_ForgetsFullBuckets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a := newStore(), newTimed(rated(channels.Rate{Sends: 1, Per: time.Second}, channels.Rate{}))
		o := start(t, Config{}, s, map[string]channels.Adapter{"tg": a})
		for i := range 3 * minSweep {
			chat := fmt.Sprint("chat-", i)
			s.say("tg", chat, "x")
			o.Wake("tg", "tg:"+chat)
			if i%minSweep == 0 {
				time.Sleep(2 * time.Second)
			}
		}
		time.Sleep(time.Minute)
		acc := o.accounts["tg"]
		acc.mu.Lock()
		defer acc.mu.Unlock()
		if n := len(acc.budget.chats); n > 2*minSweep {
			t.Errorf("%d buckets are kept", n)
		}
	})
}
