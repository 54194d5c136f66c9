package dispatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/parley-bot/parley/internal/lease"
)

// tries collects when a lane was worked on, as time since the start.
type tries struct {
	begun time.Time
	at    []time.Duration
}

func (tr *tries) add() { tr.at = append(tr.at, time.Since(tr.begun)) }

// wantGaps checks the waits between tries: each at most most, and no more than
// a fifth below it.
func (tr *tries) wantGaps(t *testing.T, most ...time.Duration) {
	t.Helper()
	if len(tr.at) < len(most)+1 {
		t.Fatalf("tried at %v, want %d tries", tr.at, len(most)+1)
	}
	for i, m := range most {
		gap := tr.at[i+1] - tr.at[i]
		if gap > m || gap < m*4/5-time.Millisecond {
			t.Errorf("wait %d was %v, want %v less a fifth at most (tries at %v)", i+1, gap, m, tr.at)
		}
	}
}

func TestDispatch_FailingLaneBacksOffAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		tr := tries{begun: time.Now()}
		d := start(t, Config{Workers: 1}, s, func(_ context.Context, got lease.Lane) (bool, error) {
			if got.Key == "bad" {
				tr.add()
				return false, errors.New("database row is damaged")
			}
			return s.finish(got)
		})
		s.add("bad", 1)
		d.Wake("bad")
		for range 300 {
			time.Sleep(time.Second)
			d.Wake("bad") // hints don't shorten it
			s.add("good", 1)
			d.Wake("good")
			synctest.Wait()
			if left := s.left(); len(left) > 1 {
				t.Fatalf("left: %v", left)
			}
		}
		sec := time.Second
		tr.wantGaps(t, sec, 2*sec, 4*sec, 8*sec, 16*sec, 30*sec, 30*sec, 30*sec)
		if s.releases != len(tr.at) {
			t.Errorf("%d releases for %d failures", s.releases, len(tr.at))
		}
	})
}

func TestDispatch_CutEndsABackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		fail := true
		d := start(t, Config{}, s, func(_ context.Context, got lease.Lane) (bool, error) {
			if fail {
				return false, errors.New("no")
			}
			return s.finish(got)
		})
		s.add("a", 1)
		d.Wake("a")
		time.Sleep(time.Minute)
		synctest.Wait()
		fail = false
		begun := time.Now()
		d.Cut("a")
		synctest.Wait()
		if left := s.left(); left != nil || time.Since(begun) != 0 {
			t.Errorf("left: %v", left)
		}
	})
}

func TestDispatch_LostLeaseIsNormalButNeverAHotLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		tr := tries{begun: time.Now()}
		var out bytes.Buffer
		d := startWith(t, Config{}, Deps{Store: s, Log: slog.New(slog.NewTextHandler(&out, nil)), Work: func(context.Context, lease.Lane) (bool, error) {
			tr.add()
			return false, fmt.Errorf("saving the step: %w", lease.ErrLost)
		}})
		s.add("a", 1)
		d.Wake("a")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		tr.wantGaps(t, 0, time.Second, 2*time.Second, 4*time.Second)
		if out.Len() > 0 {
			t.Errorf("a lost lease is logged: %s", out.String())
		}
	})
}

func TestDispatch_PanicIsSurvived(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		tr := tries{begun: time.Now()}
		var out bytes.Buffer
		d := startWith(t, Config{}, Deps{Store: s, Log: slog.New(slog.NewJSONHandler(&out, nil)), Work: func(_ context.Context, got lease.Lane) (bool, error) {
			tr.add()
			if len(tr.at) == 5 {
				return s.finish(got)
			}
			panic("my PIN is 4711")
		}})
		s.add("a", 1)
		d.Wake("a")
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		tr.wantGaps(t, time.Second, 2*time.Second, longBackOff, longBackOff)
		if strings.Contains(out.String(), "4711") || !strings.Contains(out.String(), "TestDispatch_PanicIsSurvived") {
			t.Errorf("the log must have the stack and not the value: %s", out.String())
		}
		if n := testutil.ToFloat64(d.metrics.panics); n != 4 {
			t.Errorf("parley_dispatch_panics_total = %v, want 4", n)
		}
		if left := s.left(); left != nil {
			t.Errorf("left: %v", left)
		}
	})
}

func TestDispatch_G9_ClaimsPauseWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		d := start(t, Config{Workers: 8}, s, func(_ context.Context, got lease.Lane) (bool, error) { return s.finish(got) })
		s.set(func(s *fakeStore) { s.away = errors.New("disk full") })
		for i := range 100 {
			key := fmt.Sprint("lane-", i)
			s.add(key, 1)
			d.Wake(key)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		// At most one claim a worker and pause, and pauses grow to 4–5 s.
		if s.claims > 8*180 {
			t.Errorf("%d claims in 10 minutes without a store", s.claims)
		}
		s.set(func(s *fakeStore) { s.away = nil })
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if left := s.left(); len(left) > 1 {
			t.Errorf("%d lanes left 6 s after the store is back: %v", len(left), left)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if left := s.left(); left != nil {
			t.Errorf("left: %v", left)
		}
	})
}

func TestDispatch_G2_UnclaimableLaneDelaysNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		d := start(t, Config{Workers: 1}, s, func(_ context.Context, got lease.Lane) (bool, error) { return s.finish(got) })
		s.broken["bad"] = errors.New("row is damaged")
		s.add("bad", 1)
		d.Wake("bad")
		for i := range 60 {
			key := fmt.Sprint("lane-", i)
			s.add(key, 1)
			d.Wake(key)
			time.Sleep(time.Second)
			synctest.Wait()
			if left := s.left(); len(left) != 1 {
				t.Fatalf("after %d s left: %v", i+1, left)
			}
		}
		if s.claims > 60+10 {
			t.Errorf("%d claims for 60 good lanes and a bad one", s.claims)
		}
	})
}

func TestDispatch_LeaseThatCouldNotBeReleasedIsReleasedLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		turns := 0
		d := start(t, Config{}, s, func(_ context.Context, got lease.Lane) (bool, error) {
			turns++
			if turns == 1 {
				return false, errors.New("no")
			}
			return s.finish(got)
		})
		s.set(func(s *fakeStore) { s.noRel = errors.New("disk full") })
		s.add("a", 1)
		d.Wake("a")
		time.Sleep(time.Minute)
		s.set(func(s *fakeStore) { s.noRel = nil })
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if left := s.left(); left != nil || turns != 2 {
			t.Errorf("%d turns, left %v", turns, left)
		}
	})
}

func TestDispatch_G8_SuspectRunsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		running, most := map[string]bool{}, 0
		var begun []string
		d := start(t, Config{Workers: 8}, s, func(_ context.Context, got lease.Lane) (bool, error) {
			s.set(func(*fakeStore) {
				running[got.Key] = true
				begun = append(begun, got.Key)
				if got.Attempt > 1 {
					most = max(most, len(running))
				}
			})
			time.Sleep(3 * time.Second)
			s.set(func(*fakeStore) { delete(running, got.Key) })
			return s.finish(got)
		})
		s.add("first", 1)
		d.Wake("first")
		synctest.Wait()
		for _, key := range []string{"suspect-1", "suspect-2"} {
			s.add(key, 1)
			s.set(func(s *fakeStore) { s.lane(key).attempt = 2 })
			d.Wake(key)
		}
		synctest.Wait()
		for i := range 5 {
			key := fmt.Sprint("lane-", i)
			s.add(key, 1)
			d.Wake(key)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		s.set(func(*fakeStore) {
			if len(begun) != 1 {
				t.Errorf("begun while a suspect waits: %v", begun)
			}
		})
		// Both suspects have had their time alone by 9 s; woken beside the
		// second, a lane has to wait.
		time.Sleep(5 * time.Second)
		s.add("late", 1)
		d.Wake("late")
		synctest.Wait()
		s.set(func(*fakeStore) {
			if len(running) != 1 || running["late"] {
				t.Errorf("running beside a suspect: %v", running)
			}
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		if most != 1 {
			t.Errorf("%d turns ran beside a suspect's", most-1)
		}
		if left := s.left(); left != nil {
			t.Errorf("left: %v", left)
		}
	})
}

func TestDispatch_G2_SuspectDoesNotHoldOthersForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		d := start(t, Config{Workers: 4, SoloDrain: 5 * time.Second}, s, func(_ context.Context, got lease.Lane) (bool, error) {
			if got.Key == "slow" {
				time.Sleep(9 * time.Minute)
			}
			return s.finish(got)
		})
		s.add("slow", 1)
		d.Wake("slow")
		synctest.Wait()
		s.add("suspect", 1)
		s.set(func(s *fakeStore) { s.lane("suspect").attempt = 2 })
		d.Wake("suspect")
		synctest.Wait()
		s.add("other", 1)
		d.Wake("other")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if left := s.left(); len(left) != 2 {
			t.Errorf("left after 5 s: %v, want the slow one and the suspect", left)
		}
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		if left := s.left(); left != nil {
			t.Errorf("the suspect never ran: %v", left)
		}
	})
}

// Where others are busy all the time, a suspect gets its turn by growing
// patience.
func TestDispatch_G3_SuspectRunsInTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		d := start(t, Config{Workers: 4, SoloDrain: 100 * time.Millisecond}, s, func(_ context.Context, got lease.Lane) (bool, error) {
			if got.Key == "busy" {
				time.Sleep(20 * time.Second)
			}
			return s.finish(got)
		})
		s.add("busy", 1000)
		d.Wake("busy")
		synctest.Wait()
		s.add("suspect", 1)
		s.set(func(s *fakeStore) { s.lane("suspect").attempt = 2 })
		d.Wake("suspect")
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if left := s.left(); len(left) != 1 {
			t.Errorf("left: %v, want the busy one only", left)
		}
		s.set(func(s *fakeStore) { s.lane("busy").in = s.lane("busy").done + 1 })
		time.Sleep(time.Minute)
	})
}
