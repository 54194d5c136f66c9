package outbox

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/parley-bot/parley/channels"
)

type fakeTyper struct {
	fakeAdapter
	begun time.Time
	mu2   sync.Mutex
	signs []string
}

func (a *fakeTyper) Typing(_ context.Context, _ channels.Chat, until time.Time) {
	a.mu2.Lock()
	defer a.mu2.Unlock()
	if until.IsZero() {
		a.signs = append(a.signs, fmt.Sprint(time.Since(a.begun), " off"))
		return
	}
	a.signs = append(a.signs, fmt.Sprint(time.Since(a.begun), " until ", until.Sub(a.begun)))
}

func TestTyping(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		life time.Duration
		work time.Duration
		want []string
	}{
		{"plain fast turn", 4 * time.Second, 100 * time.Millisecond, nil},
		{"one sign", 4 * time.Second, time.Second, []string{"150ms until 4.15s", "1s off"}},
		{"renewed before it runs out", 4 * time.Second, 7 * time.Second,
			[]string{"150ms until 4.15s", "3.15s until 7.15s", "6.15s until 10.15s", "7s off"}},
		{"no sign there", 0, 7 * time.Second, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := &fakeTyper{begun: time.Now()}
				a.caps.Typing = tt.life
				o := start(t, Config{}, newStore(), map[string]channels.Adapter{"tg": a})
				stop := o.Typing("tg", channels.Chat{ID: "c"})
				time.Sleep(tt.work)
				stop()
				stop()
				time.Sleep(time.Minute)
				synctest.Wait()
				if diff := cmp.Diff(tt.want, a.signs); diff != "" {
					t.Errorf("signs (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestTyping_EndsByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &fakeTyper{begun: time.Now()}
		a.caps.Typing = 10 * time.Second
		o := start(t, Config{}, newStore(), map[string]channels.Adapter{"tg": a})
		stop := o.Typing("tg", channels.Chat{ID: "c"})
		defer stop()
		time.Sleep(time.Hour)
		synctest.Wait()
		if last := a.signs[len(a.signs)-1]; last != "10m0.15s off" {
			t.Errorf("last sign: %s", last)
		}
	})
}

func TestTyping_EndsWithTheOutbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &fakeTyper{begun: time.Now()}
		a.caps.Typing = 10 * time.Second
		o := start(t, Config{}, newStore(), map[string]channels.Adapter{"tg": a})
		o.Typing("tg", channels.Chat{ID: "c"})
		time.Sleep(time.Second)
		o.Typing("tg", channels.Chat{ID: "d"}) // not shown yet
		if err := o.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"150ms until 10.15s", "1s off"}, a.signs); diff != "" {
			t.Errorf("signs (-want +got):\n%s", diff)
		}
	})
}

// Not parallel: it counts allocations.
func TestTyping_NoTyperCostsNothing(t *testing.T) {
	o := New(Config{}, Deps{Store: newStore(), Adapters: map[string]channels.Adapter{"sms": new(fakeAdapter)}})
	if n := testing.AllocsPerRun(100, func() { o.Typing("sms", channels.Chat{})() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	o.Typing("gone", channels.Chat{})()
}

func TestMetrics_SeriesExistBeforeTheFirstSend(t *testing.T) {
	t.Parallel()
	s := newStore()
	reg := prometheus.NewPedanticRegistry()
	New(Config{}, Deps{Store: s, Registerer: reg, Adapters: map[string]channels.Adapter{"tg": new(fakeAdapter)}})
	if s.calls["pending"] != 0 {
		t.Error("the store was asked at construction")
	}
	want := `
# HELP parley_outbox_pending Messages and edits that wait to be sent.
# TYPE parley_outbox_pending gauge
parley_outbox_pending 42
# HELP parley_outbox_retries_total Messages and edits put back to be sent again.
# TYPE parley_outbox_retries_total counter
parley_outbox_retries_total{channel="tg"} 0
# HELP parley_outbox_sends_total Sends and edits by outcome: ok, the class of the failure, expired (too old) or dropped (nothing to edit).
# TYPE parley_outbox_sends_total counter
parley_outbox_sends_total{channel="tg",outcome="dropped"} 0
parley_outbox_sends_total{channel="tg",outcome="expired"} 0
parley_outbox_sends_total{channel="tg",outcome="ok"} 0
parley_outbox_sends_total{channel="tg",outcome="permanent_chat"} 0
parley_outbox_sends_total{channel="tg",outcome="permanent_message"} 0
parley_outbox_sends_total{channel="tg",outcome="permanent_token"} 0
parley_outbox_sends_total{channel="tg",outcome="rate_limited"} 0
parley_outbox_sends_total{channel="tg",outcome="temporary"} 0
parley_outbox_sends_total{channel="tg",outcome="unknown"} 0
# HELP parley_rate_limited_total Sends that the platform refused for its rate limit.
# TYPE parley_rate_limited_total counter
parley_rate_limited_total{channel="tg"} 0
`
	for range 3 {
		err := testutil.GatherAndCompare(reg, strings.NewReader(want), "parley_outbox_pending",
			"parley_outbox_retries_total", "parley_outbox_sends_total", "parley_rate_limited_total")
		if err != nil {
			t.Fatal(err)
		}
	}
	if s.calls["pending"] != 1 {
		t.Errorf("the store was asked %d times by scrapes at once", s.calls["pending"])
	}
}
