package dispatch

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/parley-bot/parley/internal/lease"
)

func TestExpire_B5_QuestionEndsOnTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		begun := time.Now()
		var got []string
		s.expiries = []expiry{{begun.Add(7 * time.Second), Ended{Lane: "old", Tool: "a"}}}
		d := startWith(t, Config{}, Deps{
			Store:   s,
			Work:    s.worker(func(_ context.Context, l lease.Lane) (bool, error) { return s.finish(l) }),
			OnEnded: func(e Ended) { got = append(got, fmt.Sprint(e.Lane, " ", time.Since(begun))) },
		})
		// Known from the store at the start: to the moment. Asked since then
		// with a hint: to the moment too. Without one: by the sweep.
		synctest.Wait()
		time.Sleep(time.Second)
		s.add("hinted", 1) // queued behind its question
		s.set(func(s *fakeStore) {
			s.expiries = append(s.expiries, expiry{begun.Add(1500 * time.Millisecond), Ended{Lane: "hinted", More: true}},
				expiry{begun.Add(2 * time.Second), Ended{Lane: "next"}})
		})
		d.Deadline(begun.Add(time.Hour))
		d.Deadline(begun.Add(1500 * time.Millisecond))
		time.Sleep(6500 * time.Millisecond)
		s.set(func(s *fakeStore) {
			s.expiries = append(s.expiries, expiry{begun.Add(8 * time.Second), Ended{Lane: "unhinted"}})
		})
		time.Sleep(6 * time.Second)
		synctest.Wait()
		want := []string{"hinted 1.5s", "next 2s", "old 7s", "unhinted 12s"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ended (-want +got):\n%s", diff)
		}
		if left := s.left(); left != nil {
			t.Errorf("the lane behind the question wasn't woken: %v", left)
		}
	})
}

func TestExpire_ManyAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		for i := range 1234 {
			s.expiries = append(s.expiries, expiry{time.Now(), Ended{Lane: fmt.Sprint(i)}})
		}
		n := 0
		startWith(t, Config{}, Deps{Store: s, OnEnded: func(Ended) { n++ }})
		synctest.Wait()
		if n != 1234 {
			t.Errorf("%d ended at once, want all", n)
		}
	})
}

// stuckStore always says that a question is due, and ends none.
type stuckStore struct{ *fakeStore }

func (s stuckStore) Expire(context.Context, int) ([]Ended, time.Time, error) {
	s.set(func(f *fakeStore) { f.expired++ })
	return nil, time.Now().Add(-time.Minute), nil
}

func TestExpire_StoreClockBehindIsNoHotLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		startWith(t, Config{}, Deps{Store: stuckStore{s}})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if s.expired > 201 {
			t.Errorf("%d calls in 10 s", s.expired)
		}
	})
}

func TestMetrics_StoreIsAskedSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		reg := prometheus.NewPedanticRegistry()
		startWith(t, Config{}, Deps{Store: s, Registerer: reg})
		if s.waits != 0 {
			t.Error("the store was asked at construction")
		}
		want := `
# HELP parley_chats_queued Chats that have work in the store.
# TYPE parley_chats_queued gauge
parley_chats_queued 7
# HELP parley_confirmations_pending Questions that wait for a person's answer.
# TYPE parley_confirmations_pending gauge
parley_confirmations_pending 3
# HELP parley_queue_depth Chats queued in memory for a worker.
# TYPE parley_queue_depth gauge
parley_queue_depth 0
# HELP parley_turns_active Turns that run now.
# TYPE parley_turns_active gauge
parley_turns_active 0
`
		for range 10 {
			err := testutil.GatherAndCompare(reg, strings.NewReader(want),
				"parley_chats_queued", "parley_confirmations_pending", "parley_queue_depth", "parley_turns_active")
			if err != nil {
				t.Fatal(err)
			}
		}
		if s.waits != 1 {
			t.Errorf("the store was asked %d times by 10 scrapes at once", s.waits)
		}
		time.Sleep(waitingAge)
		if _, err := reg.Gather(); err != nil {
			t.Fatal(err)
		}
		if s.waits != 2 {
			t.Errorf("the store was asked %d times, want again after %v", s.waits, waitingAge)
		}
	})
}
