package dispatch

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-bot/parley/internal/lease"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeStore holds lanes in memory and checks that the dispatcher keeps the
// rules: one owner a lane, work in order, no release of what isn't held.
type fakeStore struct {
	mu       sync.Mutex
	lanes    map[string]*fakeLane
	clock    int64 // ready order
	claims   int
	releases int
	away     error // every call fails with it
	noRel    error // Release fails with it
	broken   map[string]error
	expiries []expiry
	expired  int // calls to Expire
	lost     []string
	waits    int // calls to Waiting
	faults   []string
}

type fakeLane struct {
	in, done int
	ready    int64
	owned    bool
	fence    int64
	attempt  int
	working  bool
}

type expiry struct {
	at    time.Time
	ended Ended
}

func newStore() *fakeStore {
	return &fakeStore{lanes: make(map[string]*fakeLane), broken: make(map[string]error)}
}

func (s *fakeStore) lane(key string) *fakeLane {
	l := s.lanes[key]
	if l == nil {
		l = &fakeLane{}
		s.lanes[key] = l
	}
	return l
}

// add queues n messages in a lane.
func (s *fakeStore) add(key string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lane(key)
	l.in += n
	s.clock++
	if l.ready == 0 {
		l.ready = s.clock
	}
}

// finish is what a turn's last commit does: one message done, lease given back.
func (s *fakeStore) finish(got lease.Lane) (more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lane(got.Key)
	if !l.owned || l.fence != got.Fence {
		return false, lease.ErrLost
	}
	l.done++
	l.owned, l.attempt = false, 0
	s.clock++
	l.ready = s.clock
	if l.done > l.in {
		s.faults = append(s.faults, "worked on a message that doesn't exist in "+got.Key)
	}
	return l.in > l.done, nil
}

func (s *fakeStore) Ready(_ context.Context, limit int) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away != nil {
		return nil, s.away
	}
	var keys []string
	for key, l := range s.lanes {
		if !l.owned && l.in > l.done {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return int(s.lanes[a].ready - s.lanes[b].ready) })
	return keys[:min(len(keys), limit)], nil
}

func (s *fakeStore) Claim(_ context.Context, key string) (lease.Lane, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims++
	if s.away != nil {
		return lease.Lane{}, false, s.away
	}
	if err := s.broken[key]; err != nil {
		return lease.Lane{}, false, err
	}
	l := s.lane(key)
	if l.owned || l.in == l.done {
		return lease.Lane{}, false, nil
	}
	l.owned = true
	l.fence++
	return lease.Lane{Key: key, Fence: l.fence, Attempt: l.attempt}, true, nil
}

func (s *fakeStore) Release(_ context.Context, got lease.Lane) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releases++
	if s.noRel != nil {
		return s.noRel
	}
	if l := s.lane(got.Key); l.owned && l.fence == got.Fence {
		l.owned = false
	}
	return nil
}

func (s *fakeStore) Expire(_ context.Context, limit int) (ended []Ended, next time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired++
	var left []expiry
	for _, e := range s.expiries {
		switch {
		case !e.at.After(time.Now()) && len(ended) < limit:
			ended = append(ended, e.ended)
		default:
			left = append(left, e)
			if next.IsZero() || e.at.Before(next) {
				next = e.at
			}
		}
	}
	s.expiries = left
	return ended, next, s.away
}

func (s *fakeStore) Renew(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lost := s.lost
	s.lost = nil
	for _, key := range lost {
		s.lane(key).fence++
	}
	return lost, nil
}

func (s *fakeStore) Waiting(context.Context) (lanes, questions int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits++
	return 7, 3, s.away
}

func (s *fakeStore) set(f func(*fakeStore)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

// left lists lanes with unfinished work or an owner.
func (s *fakeStore) left() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, key := range slices.Sorted(maps.Keys(s.lanes)) {
		if l := s.lanes[key]; l.owned || l.in != l.done {
			out = append(out, fmt.Sprintf("%s (%d of %d, owned %v)", key, l.done, l.in, l.owned))
		}
	}
	return append(out, s.faults...)
}

// worker wraps a turn so that two at once in one lane are a fault.
func (s *fakeStore) worker(turn func(ctx context.Context, got lease.Lane) (bool, error)) func(context.Context, lease.Lane) (bool, error) {
	return func(ctx context.Context, got lease.Lane) (bool, error) {
		s.set(func(s *fakeStore) {
			if l := s.lane(got.Key); l.working {
				s.faults = append(s.faults, "two turns at once in "+got.Key)
			} else {
				l.working = true
			}
		})
		defer s.set(func(s *fakeStore) { s.lane(got.Key).working = false })
		return turn(ctx, got)
	}
}

// start runs a dispatcher until the test ends.
func start(t *testing.T, cfg Config, s *fakeStore, turn func(context.Context, lease.Lane) (bool, error)) *Dispatcher {
	t.Helper()
	return startWith(t, cfg, Deps{Store: s, Work: s.worker(turn)})
}

func startWith(t *testing.T, cfg Config, deps Deps) *Dispatcher {
	t.Helper()
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	d := New(cfg, deps)
	d.Start(t.Context())
	t.Cleanup(func() {
		if err := d.Stop(context.Background()); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	return d
}

// records is how many lanes are remembered.
func (d *Dispatcher) records() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.lanes)
}
