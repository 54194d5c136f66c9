package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// table is a Source in memory.
type table struct {
	mu      sync.Mutex
	rows    []Row
	cursor  map[string]int64
	reads   int
	broken  error
	unsaved error
}

func newTable(n int) *table {
	t := &table{cursor: map[string]int64{}}
	t.add(n)
	return t
}

func (t *table) add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range n {
		id := int64(len(t.rows) + 1)
		t.rows = append(t.rows, Row{ID: id, Event: json.RawMessage(fmt.Sprintf(`{"at":%d,"type":"tool.call"}`, id))})
	}
}

func (t *table) set(read, save error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.broken, t.unsaved = read, save
}

func (t *table) After(_ context.Context, cursor int64, limit int) ([]Row, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reads++
	if t.broken != nil {
		return nil, t.broken
	}
	rows := t.rows[cursor:]
	return slices.Clone(rows[:min(limit, len(rows))]), nil
}

func (t *table) Cursor(_ context.Context, sink string) (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cursor[sink], t.broken
}

func (t *table) SetCursor(_ context.Context, sink string, id int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unsaved == nil {
		t.cursor[sink] = id
	}
	return t.unsaved
}

// memory is a Sink that fails on demand.
type memory struct {
	mu     sync.Mutex
	ids    []int64
	tries  int
	fail   error
	closed bool
}

func (m *memory) Name() string { return "memory" }
func (m *memory) Close() error { m.closed = true; return nil }

func (m *memory) Write(_ context.Context, rows []Row) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tries++
	if m.fail != nil {
		return m.fail
	}
	for _, r := range rows {
		m.ids = append(m.ids, r.ID)
	}
	return nil
}

func (m *memory) set(err error) { m.mu.Lock(); defer m.mu.Unlock(); m.fail = err }

func (m *memory) got() ([]int64, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.ids), m.tries
}

func upTo(n int64) []int64 {
	var out []int64
	for i := range n {
		out = append(out, i+1)
	}
	return out
}

// follow runs a follower in the bubble until the returned function stops it.
func follow(t *testing.T, src Source, sink Sink) (*Follower, func()) {
	t.Helper()
	f := NewFollower(src, sink, slog.New(slog.DiscardHandler), NewMetrics(prometheus.NewRegistry()))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	return f, func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	}
}

func TestFollower_D2_CatchesUpWakesAndPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, sink := newTable(2*batch+3), &memory{}
		f, stop := follow(t, src, sink)
		synctest.Wait()
		if got, tries := sink.got(); !slices.Equal(got, upTo(2*batch+3)) || tries != 3 {
			t.Fatalf("caught up with %d rows in %d batches", len(got), tries)
		}
		src.add(1)
		f.Wake()
		f.Wake()
		synctest.Wait()
		if got, _ := sink.got(); len(got) != 2*batch+4 {
			t.Errorf("not woken: %d rows", len(got))
		}
		src.add(1)
		synctest.Wait()
		if got, _ := sink.got(); len(got) != 2*batch+4 {
			t.Errorf("a row that nobody told of came at once: %d", len(got))
		}
		<-time.After(poll) // the bubble's clock
		synctest.Wait()
		if got, _ := sink.got(); !slices.Equal(got, upTo(2*batch+5)) {
			t.Errorf("not found by polling: %d rows", len(got))
		}
		stop()
		if !sink.closed {
			t.Error("the sink stays open")
		}
	})
}

func TestFollower_D2_NothingLostWhenTheSinkFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, sink := newTable(3), &memory{fail: errors.New("down")}
		_, stop := follow(t, src, sink)
		<-time.After(10 * time.Minute)
		got, tries := sink.got()
		// Half a second, doubled up to a minute: about 16 in ten minutes.
		if len(got) != 0 || tries < 10 || tries > 30 {
			t.Errorf("%d rows after %d tries", len(got), tries)
		}
		sink.set(nil)
		<-time.After(maxBackoff)
		synctest.Wait()
		if got, _ := sink.got(); !slices.Equal(got, upTo(3)) {
			t.Errorf("got %v", got)
		}
		stop()
	})
}

type busy struct{}

func (busy) Error() string             { return "busy" }
func (busy) RetryAfter() time.Duration { return 90 * time.Second }

func TestFollower_WaitsAsLongAsAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, sink := newTable(1), &memory{fail: fmt.Errorf("write: %w", busy{})}
		_, stop := follow(t, src, sink)
		<-time.After(89 * time.Second)
		synctest.Wait()
		if _, tries := sink.got(); tries != 1 {
			t.Errorf("%d tries before the time", tries)
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if _, tries := sink.got(); tries != 2 {
			t.Errorf("%d tries after the time", tries)
		}
		stop()
	})
}

func TestFollower_D2_RestartGoesOnBehindTheCursor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, sink := newTable(5), &memory{}
		_, stop := follow(t, src, sink)
		synctest.Wait()
		stop()
		src.add(2)
		again := &memory{}
		_, stop = follow(t, src, again)
		synctest.Wait()
		stop()
		if got, _ := again.got(); !slices.Equal(got, []int64{6, 7}) {
			t.Errorf("got %v", got)
		}
	})
}

func TestFollower_StoreTrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, sink := newTable(2), &memory{}
		src.set(errors.New("store is away"), nil)
		_, stop := follow(t, src, sink)
		<-time.After(time.Second)
		src.set(nil, errors.New("read-only"))
		<-time.After(2 * maxBackoff)
		synctest.Wait()
		// A cursor that can't be saved repeats nothing in this process.
		if got, _ := sink.got(); !slices.Equal(got, upTo(2)) {
			t.Errorf("got %v", got)
		}
		stop()
		// It does after a restart: at least once.
		src.set(nil, nil)
		again := &memory{}
		_, stop = follow(t, src, again)
		synctest.Wait()
		stop()
		if got, _ := again.got(); !slices.Equal(got, upTo(2)) {
			t.Errorf("got %v", got)
		}
	})
}

func TestMetrics_DroppedExists(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	NewFollower(newTable(0), &memory{}, slog.New(slog.DiscardHandler), NewMetrics(reg))
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		got = append(got, f.GetName())
	}
	if d := cmp.Diff([]string{"parley_audit_dropped_total", "parley_audit_retries_total", "parley_audit_written_total"}, got); d != "" {
		t.Error(d)
	}
}
