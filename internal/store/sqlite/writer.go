package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/store"
)

// Bounds of one commit and of what may wait for it.
const (
	batchMax = 512
	queueMax = 4096
)

var (
	errClosed = errors.New("the database is closed")
	errBoot   = errors.New("another process has taken the database file over")
)

// call is one transaction on its way.
type call struct {
	fn   func(store.Tx) error
	err  error
	done chan struct{}
}

// writer owns the one connection that writes.
type writer struct {
	conn  *conn
	place *place
	boot  string
	opts  Options
	now   chan *call // ingest, answers, results
	later chan *call // cleaning up: only when nothing else waits
	quit  chan struct{}
	ended chan struct{}

	mu     sync.Mutex
	fatal  error
	once   sync.Once
	result error
	n      int64
}

func newWriter(c *conn, p *place, boot string, opts Options) *writer {
	return &writer{
		conn: c, place: p, boot: boot, opts: opts,
		now: make(chan *call, queueMax), later: make(chan *call, 16),
		quit: make(chan struct{}), ended: make(chan struct{}),
	}
}

// Write implements store.DB. Once queued a call runs to its end: ctx bounds
// only the wait for room.
func (db *DB) Write(ctx context.Context, _ string, fn func(store.Tx) error) error {
	return db.writer.do(ctx, db.writer.now, fn)
}

// Later implements store.DB.
func (db *DB) Later(ctx context.Context, fn func(store.Tx) error) error {
	return db.writer.do(ctx, db.writer.later, fn)
}

func (w *writer) do(ctx context.Context, queue chan *call, fn func(store.Tx) error) error {
	c := &call{fn: fn, done: make(chan struct{})}
	if err := w.put(ctx, queue, c); err != nil {
		return err
	}
	select {
	case <-c.done:
		return c.err
	case <-w.ended:
	}
	select {
	case <-c.done:
		return c.err
	default:
		return errClosed // it came when the writer had already gone
	}
}

// put queues the call. It holds no lock while it waits for room: who makes
// that room may need the lock.
func (w *writer) put(ctx context.Context, queue chan *call, c *call) error {
	if err := w.broken(); err != nil {
		return err
	}
	select {
	case <-w.quit:
		return errClosed
	default:
	}
	select {
	case queue <- c:
		return nil
	default:
	}
	select {
	case queue <- c:
		return nil
	case <-w.quit:
		return errClosed
	case <-ctx.Done():
		return fmt.Errorf("%w: its queue is full: %w", inbox.ErrUnavailable, context.Cause(ctx))
	}
}

func (w *writer) run() {
	defer close(w.ended)
	for {
		select {
		case c := <-w.now:
			w.batch(c)
			continue
		default:
		}
		select {
		case c := <-w.now:
			w.batch(c)
		case c := <-w.later:
			w.batch(c)
		case <-w.quit:
			w.drain()
			return
		}
	}
}

// drain runs what was queued before stop.
func (w *writer) drain() {
	for {
		select {
		case c := <-w.now:
			w.batch(c)
		case c := <-w.later:
			w.batch(c)
		default:
			return
		}
	}
}

// batch runs the call and all that is queued behind it in one commit.
func (w *writer) batch(first *call) {
	start := time.Now()
	calls := []*call{first}
	err := w.transact(&calls)
	if err != nil {
		// Nothing was kept: not even the calls that ended well.
		for _, c := range calls {
			c.err = err
		}
	}
	if w.opts.Observe != nil {
		w.opts.Observe(time.Since(start), len(calls))
	}
	for _, c := range calls {
		close(c.done)
	}
}

func (w *writer) transact(calls *[]*call) error {
	if err := w.broken(); err != nil {
		return err
	}
	if err := w.place.check(); err != nil {
		return err
	}
	if _, err := w.conn.Exec("BEGIN IMMEDIATE"); err != nil {
		return w.judge(err)
	}
	var boot string
	if _, err := w.conn.Row(`SELECT value FROM meta WHERE name='boot'`, nil, &boot); err != nil {
		return w.rollback(err)
	}
	if boot != w.boot {
		return w.rollback(errBoot)
	}
	next := (*calls)[0]
	for {
		if err := w.savepoint(next); err != nil {
			return w.rollback(err)
		}
		if len(*calls) >= w.opts.BatchMax {
			break
		}
		select {
		case next = <-w.now:
			*calls = append(*calls, next)
			continue
		default:
		}
		break
	}
	return w.commit()
}

func (w *writer) commit() error {
	w.n++
	if w.opts.OnCommit != nil {
		w.opts.OnCommit(w.n, "before")
	}
	if _, err := w.conn.Exec("COMMIT"); err != nil {
		return w.rollback(err)
	}
	if w.opts.OnCommit != nil {
		w.opts.OnCommit(w.n, "after")
	}
	return nil
}

// savepoint runs one call so that its failure undoes only itself. The error
// it returns is the batch's: the database's own trouble, which may have rolled
// back everything by itself.
func (w *writer) savepoint(c *call) error {
	if _, err := w.conn.Exec("SAVEPOINT c"); err != nil {
		return err
	}
	c.err = protect(c.fn, w.conn)
	if c.err == nil {
		_, err := w.conn.Exec("RELEASE c")
		return err
	}
	if trouble(c.err) {
		return c.err
	}
	if _, err := w.conn.Exec("ROLLBACK TO c"); err != nil {
		return err
	}
	_, err := w.conn.Exec("RELEASE c")
	return err
}

// protect keeps a panic in one call from ending the writer, or from leaving a
// reader's transaction open.
func protect(fn func(store.Tx) error, tx store.Tx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic in a transaction: %v\n%s", r, debug.Stack())
		}
	}()
	return fn(tx)
}

// rollback ends the transaction, if the database hasn't already.
func (w *writer) rollback(cause error) error {
	_, _ = w.conn.Exec("ROLLBACK") // fails where SQLite rolled back by itself
	return w.judge(cause)
}

// judge decides whether the process can go on after an error, of a write or of
// a read. Options.Fatal is told once.
func (w *writer) judge(err error) error {
	err = explain(err)
	if !fatal(err) {
		return err
	}
	w.mu.Lock()
	first := w.fatal == nil
	if first {
		w.fatal = err
	}
	w.mu.Unlock()
	if first && w.opts.Fatal != nil {
		w.opts.Fatal(err)
	}
	return err
}

func (w *writer) broken() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fatal
}

// stop lets the writer finish, then runs end, once.
func (w *writer) stop(end func() error) error {
	w.once.Do(func() {
		close(w.quit)
		<-w.ended
		w.result = end()
	})
	return w.result
}
