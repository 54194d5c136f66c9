package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/parley-bot/parley/internal/store"
)

// Reader is a database that is only read, beside the process that owns it.
type Reader struct {
	path  string
	clock func() time.Time
}

var errReadOnly = errors.New("the database was opened for reading only")

// OpenReader opens an existing file without its lock. It changes nothing.
func OpenReader(ctx context.Context, path string) (*Reader, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("opening database: %w (has parley been started here?)", err)
	}
	r := &Reader{path: path, clock: time.Now}
	err := r.Peek(ctx, func(tx store.Tx) error {
		var tables int
		_, err := tx.Row(`SELECT count(*) FROM sqlite_schema`, nil, &tables)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("opening database %s: %w", path, err)
	}
	return r, nil
}

// Write implements store.DB.
func (r *Reader) Write(context.Context, string, func(store.Tx) error) error { return errReadOnly }

// Later implements store.DB.
func (r *Reader) Later(context.Context, func(store.Tx) error) error { return errReadOnly }

// Read implements store.DB.
func (r *Reader) Read(ctx context.Context, fn func(store.Tx) error) error {
	return r.Peek(ctx, func(tx store.Tx) error { return snapshot(tx, fn) })
}

// Peek implements store.DB. A reader holds no connection in between: it must
// not keep the daemon from clearing its log.
func (r *Reader) Peek(_ context.Context, fn func(store.Tx) error) error {
	c, err := newConn(r.path, false)
	if err != nil {
		return fmt.Errorf("opening a reading connection: %w", explain(err))
	}
	return errors.Join(explain(protect(fn, c)), c.close())
}

// Now implements store.DB.
func (r *Reader) Now() time.Time { return r.clock() }

// Owner implements store.DB: a reader works on nothing.
func (r *Reader) Owner() string { return "" }

// Close implements store.DB.
func (r *Reader) Close() error { return nil }

var (
	_ store.DB = (*DB)(nil)
	_ store.DB = (*Reader)(nil)
)
