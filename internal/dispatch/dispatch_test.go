package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/lease"
)

func TestDispatch_G2_EveryMessageOnceInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		d := start(t, Config{Workers: 8}, s, func(_ context.Context, got lease.Lane) (bool, error) { return s.finish(got) })
		var g sync.WaitGroup
		for p := range 8 {
			g.Go(func() {
				for i := range 500 {
					key := fmt.Sprintf("lane-%d", (i+p)%40)
					s.add(key, 1)
					d.Wake(key)
				}
			})
		}
		g.Wait()
		synctest.Wait()
		if left := s.left(); left != nil {
			t.Errorf("without any poll, left over: %v", left)
		}
		if n := d.records(); n != 0 {
			t.Errorf("%d idle lanes are remembered, want 0", n)
		}
	})
}

func TestDispatch_G2_SlowLaneDelaysNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		open := make(chan struct{})
		d := start(t, Config{Workers: 2}, s, func(_ context.Context, got lease.Lane) (bool, error) {
			if got.Key == "slow" {
				<-open
			}
			return s.finish(got)
		})
		s.add("slow", 1)
		d.Wake("slow")
		for i := range 100 {
			key := fmt.Sprint("quick-", i)
			s.add(key, 2)
			d.Wake(key)
		}
		synctest.Wait()
		if got := s.left(); len(got) != 1 || !strings.HasPrefix(got[0], "slow") {
			t.Errorf("left while one lane is slow: %v, want that lane only", got)
		}
		close(open)
	})
}

// One idle worker must not be counted on twice.
func TestDispatch_G2_TwoWakesAtOnceNeedTwoWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		open := make(chan struct{})
		d := start(t, Config{Workers: 4}, s, func(_ context.Context, got lease.Lane) (bool, error) {
			if got.Key == "slow" {
				<-open
			}
			return s.finish(got)
		})
		s.add("first", 1)
		d.Wake("first")
		synctest.Wait() // its worker is idle now
		s.add("slow", 1)
		s.add("quick", 1)
		d.Wake("slow")
		d.Wake("quick")
		synctest.Wait()
		if left := s.left(); len(left) != 1 || !strings.HasPrefix(left[0], "slow") {
			t.Errorf("left: %v, want the slow one only", left)
		}
		close(open)
	})
}

func TestDispatch_LaneWithMoreWorkGoesToTheBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		var order []string
		s.add("a", 3)
		s.add("b", 2)
		s.add("c", 1)
		start(t, Config{Workers: 1}, s, func(_ context.Context, got lease.Lane) (bool, error) {
			order = append(order, got.Key)
			return s.finish(got)
		})
		synctest.Wait()
		if want := []string{"a", "b", "c", "a", "b", "a"}; !slices.Equal(order, want) {
			t.Errorf("order = %v, want %v", order, want)
		}
	})
}

func TestDispatch_WakeDuringWorkIsNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		open := make(chan struct{})
		turns := 0
		d := start(t, Config{}, s, func(_ context.Context, got lease.Lane) (bool, error) {
			turns++
			<-open
			_, err := s.finish(got)
			return false, err // the message came after the last commit looked
		})
		s.add("a", 1)
		d.Wake("a")
		synctest.Wait()
		s.add("a", 1)
		for range 50 {
			d.Wake("a")
		}
		close(open)
		synctest.Wait()
		if left := s.left(); left != nil || turns != 2 {
			t.Errorf("%d turns, left %v; want 2 and nothing", turns, left)
		}
	})
}

func TestDispatch_G3_WorkOfAnEarlierProcessIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		for i := range 3000 {
			s.add(fmt.Sprint("lane-", i), 1)
		}
		begun := time.Now()
		start(t, Config{Workers: 4}, s, func(_ context.Context, got lease.Lane) (bool, error) { return s.finish(got) })
		synctest.Wait()
		if left := s.left(); left != nil || time.Since(begun) != 0 {
			t.Errorf("%d lanes left before the first poll", len(left))
		}
		s.add("late", 1) // by another process: nobody wakes it
		time.Sleep(time.Second)
		synctest.Wait()
		if left := s.left(); left != nil {
			t.Errorf("not found by the poll: %v", left)
		}
	})
}

func TestDispatch_G6_DroppedHintsAreFoundAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		open := make(chan struct{})
		most := 0
		d := start(t, Config{Workers: 2, MaxHints: 10}, s, func(_ context.Context, got lease.Lane) (bool, error) {
			<-open
			return s.finish(got)
		})
		for i := range 500 {
			key := fmt.Sprint("lane-", i)
			s.add(key, 1)
			d.Wake(key)
			most = max(most, d.records())
		}
		if most > 10+2 {
			t.Errorf("%d lanes remembered, want at most the bound and the workers", most)
		}
		begun := time.Now()
		close(open)
		synctest.Wait()
		if left := s.left(); left != nil || time.Since(begun) != 0 {
			t.Errorf("%d lanes left, want none before the next poll", len(left))
		}
	})
}

func TestDispatch_B2_ParkedLanesCostNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		d := start(t, Config{Workers: 4}, s, func(_ context.Context, got lease.Lane) (bool, error) { return s.finish(got) })
		for i := range 100_000 {
			key := fmt.Sprint("lane-", i)
			s.add(key, 1)
			d.Wake(key)
			if i%5000 == 0 {
				synctest.Wait()
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n := d.records(); n != 0 {
			t.Errorf("%d records for lanes that wait for a person, want 0", n)
		}
		if left := s.left(); left != nil {
			t.Errorf("%d lanes left", len(left))
		}
	})
}

func TestDispatch_B5_CutCancelsTheTurnThatRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		var causes []error
		d := start(t, Config{}, s, func(ctx context.Context, got lease.Lane) (bool, error) {
			if len(causes) == 0 {
				<-ctx.Done()
				causes = append(causes, context.Cause(ctx))
				return false, fmt.Errorf("calling the model: %w", ctx.Err())
			}
			return s.finish(got)
		})
		s.add("a", 1)
		s.add("b", 0)
		d.Wake("a")
		synctest.Wait()
		d.Cut("b")
		d.Cut("nobody")
		synctest.Wait()
		if len(causes) != 0 {
			t.Fatalf("cutting another lane ended this one: %v", causes)
		}
		begun := time.Now()
		d.Cut("a")
		synctest.Wait()
		if len(causes) != 1 || !errors.Is(causes[0], ErrCut) {
			t.Fatalf("causes = %v, want ErrCut", causes)
		}
		if left := s.left(); left != nil || time.Since(begun) != 0 {
			t.Errorf("what came after the cut waits: %v", left)
		}
	})
}

func TestDispatch_LostLeaseCancelsTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		var causes []error
		d := start(t, Config{}, s, func(ctx context.Context, got lease.Lane) (bool, error) {
			<-ctx.Done()
			causes = append(causes, context.Cause(ctx))
			s.set(func(s *fakeStore) { s.lane(got.Key).done = s.lane(got.Key).in }) // by the other replica
			_, err := s.finish(got)
			return false, err
		})
		s.add("a", 1)
		d.Wake("a")
		synctest.Wait()
		s.set(func(s *fakeStore) { s.lost = []string{"a"} })
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(causes) != 1 || !errors.Is(causes[0], lease.ErrLost) {
			t.Errorf("causes = %v, want lease.ErrLost once", causes)
		}
	})
}

func TestDispatch_StopGivesRunningWorkTheGrace(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		takes time.Duration
		want  error
		after time.Duration
	}{
		{"ends in time", 3 * time.Second, nil, 3 * time.Second},
		{"is cancelled", time.Hour, ErrStopping, 10 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStore()
				var cause error
				turns := 0
				d := start(t, Config{Grace: 10 * time.Second, Workers: 1}, s, func(ctx context.Context, got lease.Lane) (bool, error) {
					turns++
					select {
					case <-time.After(tt.takes):
						return s.finish(got)
					case <-ctx.Done():
						cause = context.Cause(ctx)
						return false, ctx.Err()
					}
				})
				s.add("a", 2)
				s.add("b", 2)
				d.Wake("a")
				d.Wake("b")
				synctest.Wait()
				begun := time.Now()
				var g sync.WaitGroup
				for range 2 { // idempotent, also at the same time
					g.Go(func() {
						if err := d.Stop(t.Context()); err != nil {
							t.Errorf("Stop: %v", err)
						}
					})
				}
				g.Wait()
				if took := time.Since(begun); took != tt.after {
					t.Errorf("stopped after %v, want %v", took, tt.after)
				}
				if !errors.Is(cause, tt.want) || (tt.want == nil) != (cause == nil) {
					t.Errorf("cause = %v, want %v", cause, tt.want)
				}
				if turns != 1 {
					t.Errorf("%d turns were begun, want 1: none after Stop", turns)
				}
				for key, l := range s.lanes {
					if l.owned {
						t.Errorf("lane %s wasn't given back", key)
					}
				}
			})
		})
	}
}

func TestDispatch_StopIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		open := make(chan struct{})
		d := New(Config{}, Deps{Store: s, Work: func(context.Context, lease.Lane) (bool, error) {
			<-open // deaf to its context
			return false, nil
		}})
		d.Start(t.Context())
		s.add("a", 1)
		d.Wake("a")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		err := d.Stop(ctx)
		if err == nil || !strings.Contains(err.Error(), "1 turns") {
			t.Errorf("Stop = %v, want it to name the turn that doesn't end", err)
		}
		if diff := cmp.Diff(time.Second+abortTime, time.Since(begun)); diff != "" {
			t.Errorf("Stop took (-want +got):\n%s", diff)
		}
		close(open)
		if err := d.Stop(t.Context()); err != nil {
			t.Errorf("second Stop: %v", err)
		}
	})
}

func TestDispatch_StopBeforeStart(t *testing.T) {
	t.Parallel()
	d := New(Config{}, Deps{Store: newStore()})
	if err := d.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.Start(t.Context())
	d.Wake("a")
	if err := d.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}
