package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/store"
)

// stall occupies the writer until release is called; it returns once the
// writer is busy.
func stall(t *testing.T, db *DB) (release func()) {
	t.Helper()
	busy, free := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := db.Write(context.Background(), "", func(store.Tx) error {
			close(busy)
			<-free
			return nil
		})
		if err != nil {
			t.Errorf("the call that held the writer: %v", err)
		}
	})
	<-busy
	return func() { close(free); wg.Wait() }
}

// queued waits until that many calls wait in the queue.
func queued(t *testing.T, queue chan *call, n int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); len(queue) < n; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d calls are queued, want %d", len(queue), n)
		}
	}
}

func TestWriter_ManyCallsShareOneCommit(t *testing.T) {
	t.Parallel()
	var batches []int
	db := openDB(t, file(t), Options{Observe: func(_ time.Duration, calls int) { batches = append(batches, calls) }})
	release := stall(t, db)
	var wg sync.WaitGroup
	errRefused := errors.New("refused")
	for i := range 100 {
		wg.Go(func() {
			switch i {
			case 50:
				err := db.Write(t.Context(), "", func(tx store.Tx) error {
					return errors.Join(put("refused")(tx), errRefused)
				})
				if !errors.Is(err, errRefused) {
					t.Errorf("the failing call: %v", err)
				}
			case 70:
				err := db.Write(t.Context(), "", func(tx store.Tx) error {
					_ = put("panicked")(tx)
					panic("out of the blue")
				})
				if err == nil {
					t.Error("the panicking call ended well")
				}
			case 90:
				// A statement of the call's own that can't work.
				if err := db.Write(t.Context(), "", put("0")); err == nil {
					if err := db.Write(t.Context(), "", put("0")); err == nil {
						t.Error("the same key twice")
					}
				}
			default:
				if err := db.Write(t.Context(), "", put(fmt.Sprint("row", i))); err != nil {
					t.Errorf("call %d: %v", i, err)
				}
			}
		})
	}
	queued(t, db.writer.now, 100)
	release()
	wg.Wait()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if batches[0] != 101 {
		t.Errorf("commits of %v calls, want the first to hold 101", batches)
	}
	db = openDB(t, db.path, Options{})
	if n := rows(t, db); n != 98 {
		t.Errorf("%d rows, want 98", n)
	}
}

func TestWriter_FailedCallLeavesItsNeighbours(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(store.Tx) error{
		"error":      func(store.Tx) error { return errors.New("no") },
		"panic":      func(store.Tx) error { panic("no") },
		"constraint": put("before"),
		"syntax":     func(tx store.Tx) error { _, err := tx.Exec("SELEKT 1"); return err },
		"half read": func(tx store.Tx) error {
			return tx.Rows(`SELECT name FROM sqlite_schema`, nil, func(func(...any) error) error { panic("while reading") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var commits atomic.Int64
			db := openDB(t, file(t), Options{OnCommit: func(n int64, _ string) { commits.Store(n) }})
			release := stall(t, db)
			var wg sync.WaitGroup
			run := func(n int, fn func(store.Tx) error, ok bool) {
				wg.Go(func() {
					if err := db.Write(context.Background(), "", fn); (err == nil) != ok {
						t.Errorf("call %d: %v", n, err)
					}
				})
				queued(t, db.writer.now, n)
			}
			run(1, put("before"), true)
			run(2, func(tx store.Tx) error {
				if err := put("undone")(tx); err != nil {
					return err
				}
				return fail(tx)
			}, false)
			run(3, put("after"), true)
			release()
			wg.Wait()
			if commits.Load() != 1 {
				t.Errorf("%d commits, want 1", commits.Load())
			}
			var keys []string
			err := db.Read(t.Context(), func(tx store.Tx) error {
				return tx.Rows(`SELECT key FROM state ORDER BY key`, nil, func(scan func(...any) error) error {
					var k string
					err := scan(&k)
					keys = append(keys, k)
					return err
				})
			})
			if d := cmp.Diff([]string{"after", "before"}, keys); d != "" || err != nil {
				t.Errorf("%s, error %v", d, err)
			}
		})
	}
}

func TestWriter_CommitPhasesAreAnnounced(t *testing.T) {
	t.Parallel()
	var seen []string
	var inside atomic.Bool
	db := openDB(t, file(t), Options{OnCommit: func(n int64, phase string) {
		if !inside.Load() {
			t.Error("a commit before its call ran")
		}
		seen = append(seen, fmt.Sprint(n, phase))
	}})
	for i := range 2 {
		err := db.Write(t.Context(), "", func(tx store.Tx) error {
			inside.Store(true)
			return put(fmt.Sprint(i))(tx)
		})
		if err != nil {
			t.Fatal(err)
		}
		// The answer comes after the commit.
		if want := fmt.Sprint(i+1, "after"); !slices.Contains(seen, want) {
			t.Errorf("answered before %s: %v", want, seen)
		}
	}
	if d := cmp.Diff([]string{"1before", "1after", "2before", "2after"}, seen); d != "" {
		t.Error(d)
	}
}

func TestWriter_CleaningGoesLast(t *testing.T) {
	t.Parallel()
	db := openDB(t, file(t), Options{})
	release := stall(t, db)
	var mu sync.Mutex
	var order []string
	note := func(what string) func(store.Tx) error {
		return func(store.Tx) error {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, what)
			return nil
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := db.Later(context.Background(), note("later")); err != nil {
			t.Error(err)
		}
	})
	queued(t, db.writer.later, 1)
	for range 3 {
		wg.Go(func() {
			if err := db.Write(context.Background(), "", note("now")); err != nil {
				t.Error(err)
			}
		})
	}
	queued(t, db.writer.now, 3)
	release()
	wg.Wait()
	if d := cmp.Diff([]string{"now", "now", "now", "later"}, order); d != "" {
		t.Error(d)
	}
}

func TestWriter_FullQueueWaitsForTheCallersTime(t *testing.T) {
	t.Parallel()
	db := openDB(t, file(t), Options{})
	release := stall(t, db)
	var wg sync.WaitGroup
	for range queueMax {
		wg.Go(func() {
			if err := db.Write(context.Background(), "", func(store.Tx) error { return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	queued(t, db.writer.now, queueMax)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := db.Write(ctx, "", func(store.Tx) error { t.Error("it ran"); return nil })
	if !errors.Is(err, inbox.ErrUnavailable) {
		t.Errorf("past a full queue: %v", err)
	}
	release()
	wg.Wait()
}

// Who waits for room must not keep those from their lock who make it.
func TestWriter_EndsWithAFullQueue(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"close", "fatal"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			db := openDB(t, file(t), Options{})
			busy, free := make(chan struct{}), make(chan struct{})
			var once sync.Once
			first := func(tx store.Tx) (err error) {
				once.Do(func() {
					if end == "fatal" {
						err = takeOver(tx) // the next commit will see it
					}
					close(busy)
					<-free
				})
				return err
			}
			var wg sync.WaitGroup
			var ran, refused atomic.Int64
			call := func() {
				if err := db.Write(context.Background(), "", first); err == nil {
					ran.Add(1)
				} else {
					refused.Add(1)
				}
			}
			wg.Go(call)
			<-busy
			const waiting = 100
			for range queueMax + waiting {
				wg.Go(call)
			}
			queued(t, db.writer.now, queueMax)
			if end == "close" {
				wg.Go(func() {
					if err := db.Close(); err != nil {
						t.Error(err)
					}
				})
				<-db.writer.quit
			}
			close(free)
			wg.Wait() // a deadlock ends the test at its deadline
			if got := ran.Load() + refused.Load(); got != queueMax+waiting+1 {
				t.Errorf("%d calls were answered", got)
			}
			if end == "close" && ran.Load() < queueMax+1 {
				t.Errorf("only %d of the queued calls ran", ran.Load())
			}
			if end == "fatal" && ran.Load() > batchMax {
				t.Errorf("%d calls ran, of them some on a file of another", ran.Load())
			}
		})
	}
}
