package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"
	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/parley-bot/parley/internal/problem"
)

// Options are what a database file is opened with. The zero value works.
type Options struct {
	// Clock is the time that expiry and retention go by. Default time.Now.
	Clock func() time.Time
	// Fatal is told why the database can't be trusted any more: the process
	// must end. Default: nothing, every later call fails.
	Fatal func(error)
	// Gone is told once that the file isn't where it was opened any more:
	// until it is, nothing can be written. It must not block. Default: only
	// the calls that fail are told.
	Gone func(error)
	// UnsafeFS allows a network file system.
	UnsafeFS bool
	// OnCommit, where not nil, is called around each commit with its number,
	// counted from 1: "before" and "after". Crash tests stop there.
	OnCommit func(n int64, phase string)
	// Observe is told of each commit: how long it took and how many calls it
	// held.
	Observe func(took time.Duration, calls int)
	// BatchMax bounds the calls of one commit. Default 512; 1 is a commit for
	// every call, to compare with.
	BatchMax int
	// Readers is how many reading connections are kept. Default 4.
	Readers int
}

// DB is an open database file.
type DB struct {
	path   string
	opts   Options
	lock   *flock.Flock
	place  *place
	reads  chan *conn
	writer *writer
	notes  *notes
	// Unclean is true where the process before this one didn't close it.
	unclean bool
}

// Open opens or creates the file, takes its lock and brings its schema up to
// date. Errors say what to do about them.
func Open(ctx context.Context, path string, opts Options) (*DB, error) {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.BatchMax == 0 {
		opts.BatchMax = batchMax
	}
	if opts.Readers == 0 {
		opts.Readers = 4
	}
	if err := checkFolder(path, opts.UnsafeFS); err != nil {
		return nil, err
	}
	if to := Resolve(path); to != path {
		path = to
		if err := checkFolder(path, opts.UnsafeFS); err != nil {
			return nil, err
		}
	}
	db := &DB{path: path, opts: opts, lock: flock.New(path + ".lock"), place: &place{path: path, told: opts.Gone}}
	if err := db.takeLock(); err != nil {
		return nil, err
	}
	ownerOnly(path)
	if !opts.UnsafeFS {
		db.place.lock = flock.New(path, flock.SetFlag(os.O_RDONLY))
	}
	if err := db.place.take(); err != nil {
		return nil, errors.Join(err, db.lock.Unlock())
	}
	if err := db.open(ctx); err != nil {
		return nil, errors.Join(numbered(fmt.Errorf("opening database %s: %w", path, explain(err))), db.place.leave(), db.lock.Unlock())
	}
	return db, nil
}

func checkFolder(path string, unsafeFS bool) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return problem.StoreFolder.Errorf("creating data folder %s: %w", dir, err)
	}
	name, network, err := fileSystem(dir)
	if err != nil {
		return problem.StoreFolder.Errorf("examining data folder %s: %w", dir, err)
	}
	if network && !unsafeFS {
		return problem.StoreNetworkFS.Errorf("data folder %s is on a network file system (%s), where SQLite's locks can't be trusted: use a local disk, or set store.unsafe_fs", dir, name)
	}
	return nil
}

// ownerOnly makes a new file that only its owner may read: it holds what people
// wrote. SQLite gives the files beside it the same mode. Whatever goes wrong
// opening the file tells.
func ownerOnly(path string) {
	if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err == nil {
		_ = f.Close()
	}
}

func (db *DB) takeLock() error {
	ok, err := db.lock.TryLock()
	if err != nil {
		return problem.StoreFolder.Errorf("locking %s: %w (is the folder writable?)", db.lock.Path(), err)
	}
	if !ok {
		holder, _ := os.ReadFile(db.lock.Path()) // only to name it
		return problem.StoreInUse.Errorf("database %s is in use by another parley process%s: stop that one first", db.path, pidText(holder))
	}
	// The pid is for people; the lock itself is the kernel's.
	if err := os.WriteFile(db.lock.Path(), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o640); err != nil {
		return errors.Join(problem.StoreFolder.Errorf("writing %s: %w", db.lock.Path(), err), db.lock.Unlock())
	}
	return nil
}

func pidText(b []byte) string {
	if pid := strings.TrimSpace(string(b)); pid != "" {
		return " (pid " + pid + ")"
	}
	return ""
}

// source builds a connection string. SQLite's own defaults are kept unless
// they cost safety: FULL survives a power cut.
func source(path string, write bool) string {
	q := url.Values{}
	q.Add("_pragma", "busy_timeout(5000)")
	if write {
		q.Add("_pragma", "journal_mode(WAL)")
		q.Add("_pragma", "synchronous(FULL)")
		q.Add("_pragma", "cache_size(-4000)")
		q.Add("_pragma", "wal_autocheckpoint(4000)")
		q.Set("_txlock", "immediate")
	} else {
		q.Set("mode", "rw") // makes no file
		q.Add("_pragma", "query_only(1)")
		q.Add("_pragma", "cache_size(-1000)")
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

func (db *DB) open(ctx context.Context) error {
	boot, err := db.prepare(ctx)
	if err != nil {
		return err
	}
	if db.notes, err = openNotes(db.path); err != nil {
		return err
	}
	wconn, err := newConn(db.path, true)
	if err != nil {
		return errors.Join(err, db.notes.close(""))
	}
	if err := db.place.settle(); err != nil {
		return errors.Join(err, wconn.close(), db.notes.close(""))
	}
	db.reads = make(chan *conn, db.opts.Readers)
	for range db.opts.Readers {
		db.reads <- nil // opened when first needed
	}
	db.writer = newWriter(wconn, db.place, boot, db.opts)
	go db.writer.run()
	return nil
}

// prepare brings the schema up to date and marks the file as this process's.
func (db *DB) prepare(ctx context.Context) (boot string, err error) {
	pool, err := sql.Open("sqlite", source(db.path, true))
	if err != nil {
		return "", err
	}
	pool.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, pool.Close()) }()
	if err := migrate(ctx, pool, migrations); err != nil {
		return "", err
	}
	return db.mark(ctx, pool)
}

// mark writes this process's boot id, which every batch checks, and learns
// whether the last process ended in good order.
func (db *DB) mark(ctx context.Context, pool *sql.DB) (boot string, err error) {
	boot = uuid.NewString()
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return "", err
	}
	var last string
	err = tx.QueryRowContext(ctx, `SELECT value FROM meta WHERE name='boot'`).Scan(&last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", errors.Join(err, tx.Rollback())
	}
	db.unclean = last != "" && last != closedCleanly
	const set = `INSERT INTO meta(name, value) VALUES('boot', ?1) ON CONFLICT(name) DO UPDATE SET value=?1`
	if _, err := tx.ExecContext(ctx, set, boot); err != nil {
		return "", errors.Join(err, tx.Rollback())
	}
	return boot, tx.Commit()
}

// closedCleanly stands in place of a boot id after Close.
const closedCleanly = "closed"

// markClosed notes that this process ended in good order, unless the file is
// another's by now.
func (db *DB) markClosed() error {
	_, err := db.writer.conn.Exec(`UPDATE meta SET value=?1 WHERE name='boot' AND value=?2`, closedCleanly, db.writer.boot)
	if err != nil {
		return fmt.Errorf("marking database as closed: %w", explain(err))
	}
	return nil
}

// Unclean tells whether the process before this one was cut short.
func (db *DB) Unclean() bool { return db.unclean }

// Now is the clock.
func (db *DB) Now() time.Time { return db.opts.Clock() }

// Owner implements store.DB: one process owns the file.
func (db *DB) Owner() string { return "" }

// Close finishes what is queued and closes the file. It may be called twice.
func (db *DB) Close() error {
	return db.writer.stop(func() error {
		var errs []error
		noted := ""
		if db.writer.broken() == nil {
			errs = append(errs, db.markClosed())
			noted = db.path
		}
		errs = append(errs, db.notes.close(noted))
		errs = append(errs, db.writer.conn.close())
		for range db.opts.Readers {
			if c := <-db.reads; c != nil {
				errs = append(errs, c.close())
			}
		}
		errs = append(errs, db.place.leave(), db.lock.Unlock())
		return errors.Join(errs...)
	})
}
