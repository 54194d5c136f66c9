package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/store"
)

const (
	// beginWrite also gives the transaction's id, by which its outcome can be
	// asked for, and the time.
	beginWrite = `begin isolation level read committed read write; select pg_current_xact_id()::text, ` + serverTime
	beginRead  = `begin read only, isolation level repeatable read`
	// maxClashes is how often a call that lost against others runs.
	maxClashes = 20
	// maxBreaks is how often one whose connection broke runs.
	maxBreaks = 4
)

// Write implements store.DB. Once it has a connection a call runs to its end:
// ctx bounds only the wait for that.
func (db *DB) Write(ctx context.Context, lane string, fn func(store.Tx) error) error {
	leave, err := db.lanes.enter(ctx, lane)
	if err != nil {
		return err
	}
	defer leave()
	return db.again(ctx, func() error { return db.commit(ctx, fn) })
}

// Later implements store.DB: one process cleans up at a time.
func (db *DB) Later(ctx context.Context, fn func(store.Tx) error) error {
	return db.Write(ctx, "\x00clean", func(t store.Tx) error {
		if _, err := t.Exec(lockClean); err != nil {
			return err
		}
		return fn(t)
	})
}

// Read implements store.DB: fn has one snapshot.
func (db *DB) Read(ctx context.Context, fn func(store.Tx) error) error {
	return db.again(ctx, func() error {
		return db.pool.with(ctx, func(ctx context.Context, c *conn) error {
			t := &tx{ctx: ctx, c: c}
			if _, err := c.pc.Exec(ctx, beginRead).ReadAll(); err != nil {
				return broken(err)
			}
			if err := protect(fn, t); err != nil {
				db.leave(c)
				return broken(err)
			}
			// Nothing is kept, so that it is no matter how this ends.
			db.leave(c)
			return nil
		})
	})
}

// Peek implements store.DB.
func (db *DB) Peek(ctx context.Context, fn func(store.Tx) error) error {
	return db.again(ctx, func() error {
		return db.pool.with(ctx, func(ctx context.Context, c *conn) error {
			return broken(protect(fn, &tx{ctx: ctx, c: c}))
		})
	})
}

// again runs a transaction until it has an outcome of its own.
func (db *DB) again(ctx context.Context, once func() error) error {
	for clashes, breaks := 0, 0; ; {
		err := once()
		_, isBroken := errors.AsType[*brokenError](err)
		var most, n int
		switch {
		case err == nil:
			return nil
		case clash(err):
			clashes++
			most, n = maxClashes, clashes
		case isBroken:
			breaks++
			db.pool.reset() // the others are likely to be broken too
			most, n = maxBreaks, breaks
		default:
			return explain(err)
		}
		if n >= most || !pass(ctx, time.Duration(n)*time.Duration(1+rand.Int64N(int64(5*time.Millisecond)))) {
			return explain(err)
		}
	}
}

// pass lets d go by; false where ctx ended.
func pass(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// broken marks an error after which the connection is of no use: the server
// has kept nothing of the transaction.
func broken(err error) error {
	if err == nil {
		return nil
	}
	c := code(err)
	switch {
	case c == protocol:
		return err
	case c == "57P01", c == "57P02", c == "57P03", c == "25P03", c != "" && c[:2] == "08":
	case c == "" && network(err):
	default:
		return err
	}
	return &brokenError{err}
}

// network tells an error of the connection from one of the call.
func network(err error) bool {
	if pgconn.SafeToRetry(err) || pgconn.Timeout(err) {
		return true
	}
	return lost(err)
}

// commit runs fn in a transaction, once.
func (db *DB) commit(ctx context.Context, fn func(store.Tx) error) error {
	var doubt string
	err := db.pool.with(ctx, func(ctx context.Context, c *conn) error {
		start := time.Now()
		xid, err := db.begin(ctx, c)
		if err != nil {
			return broken(err)
		}
		if err := protect(fn, &tx{ctx: ctx, c: c, write: true}); err != nil {
			db.leave(c)
			return broken(err)
		}
		pc := c.pc
		if db.opts.OnCommit != nil {
			db.opts.OnCommit(pc.PID())
		}
		res, err := pc.Exec(ctx, "commit").ReadAll()
		switch {
		case err == nil && len(res) == 1 && res[0].CommandTag.String() == "COMMIT":
			if db.opts.Observe != nil {
				db.opts.Observe(time.Since(start))
			}
			return nil
		case err == nil:
			return errRolledBack
		case code(err) != "" && code(err)[:2] != "57" && code(err)[:2] != "08":
			return broken(err) // it was refused: nothing was kept
		case pgconn.SafeToRetry(err):
			return &brokenError{err} // it was never sent
		default:
			doubt = xid
			return err
		}
	})
	if doubt == "" {
		return err
	}
	return db.resolve(ctx, doubt, err)
}

func (db *DB) begin(ctx context.Context, c *conn) (xid string, err error) {
	asked := time.Now()
	row, err := c.ask(ctx, beginWrite)
	if err != nil {
		return "", err
	}
	server, err := micros(row, 1)
	if err != nil {
		return "", err
	}
	db.clock.set(asked, server)
	return row[0], nil
}

// leave ends a transaction of which nothing is to stay. A connection that can't
// is closed, and the pool drops it.
func (db *DB) leave(c *conn) {
	pc := c.pc
	if pc.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectTime)
	defer cancel()
	if _, err := pc.Exec(ctx, "rollback").ReadAll(); err != nil {
		_ = pc.Close(ctx) // it is lost anyway
	}
}

// doubtTime is how long the outcome of a commit is asked for: longer than the
// server keeps a transaction that nobody goes on with (idleTime).
const doubtTime = 20 * time.Second

// resolve asks the server what became of a transaction whose COMMIT had no
// answer. While it runs its rows are locked, so that nothing else can come
// between.
func (db *DB) resolve(ctx context.Context, xid string, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), doubtTime)
	defer cancel()
	db.log.Warn("connection was lost at a commit, its outcome is asked for", "err", cause)
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		var status string
		err := db.pool.with(ctx, func(ctx context.Context, c *conn) error {
			row, err := c.ask(ctx, `select coalesce(pg_xact_status('`+xid+`'::xid8), '')`)
			if err == nil {
				status = row[0]
			}
			return err
		})
		switch {
		case errors.Is(err, errClosed):
			return fmt.Errorf("%w: whether it was committed isn't known: %w", inbox.ErrUnavailable, cause)
		case err != nil: // the server is away still
		case status == "":
			return fmt.Errorf("%w: whether it was committed isn't known: %w", inbox.ErrUnavailable, cause)
		case status == "committed":
			return nil
		case status == "aborted":
			return &brokenError{cause}
		}
		if !pass(ctx, wait) {
			return fmt.Errorf("%w: whether it was committed isn't known: %w", inbox.ErrUnavailable, cause)
		}
	}
}

// Settled implements store.Settler.
func (db *DB) Settled(ctx context.Context) (last int64, err error) {
	err = db.again(ctx, func() error {
		return db.pool.with(ctx, func(ctx context.Context, c *conn) error {
			row, err := c.ask(ctx, `begin isolation level read committed read only; `+lockAudit+
				`; select case when is_called then last_value else 0 end from audit_id; commit`)
			if err != nil {
				db.leave(c)
				return broken(err)
			}
			last, err = strconv.ParseInt(row[0], 10, 64)
			return err
		})
	})
	return last, err
}
