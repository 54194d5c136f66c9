package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/parley-bot/parley/internal/store"
)

// Reader is a database that is only read, beside the process that owns it.
type Reader struct {
	db    *sql.DB
	clock func() time.Time
}

var errReadOnly = errors.New("the database was opened for reading only")

// OpenReader opens an existing file without its lock. It changes nothing.
func OpenReader(ctx context.Context, path string) (*Reader, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("opening database: %w (has parley been started here?)", err)
	}
	db, err := sql.Open("sqlite", source(path, false))
	if err != nil {
		return nil, fmt.Errorf("opening database %s: %w", path, err)
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening database %s: %w", path, explain(err)), db.Close())
	}
	return &Reader{db: db, clock: time.Now}, nil
}

// Write implements store.DB.
func (r *Reader) Write(context.Context, string, func(store.Tx) error) error { return errReadOnly }

// Later implements store.DB.
func (r *Reader) Later(context.Context, func(store.Tx) error) error { return errReadOnly }

// Read implements store.DB.
func (r *Reader) Read(ctx context.Context, fn func(store.Tx) error) error {
	c, err := newConn(ctx, r.db)
	if err != nil {
		return fmt.Errorf("opening a reading connection: %w", explain(err))
	}
	if _, err := c.Exec("BEGIN"); err != nil {
		return errors.Join(explain(err), c.close())
	}
	err = fn(c)
	_, end := c.Exec("COMMIT")
	return errors.Join(explain(err), explain(end), c.close())
}

// Peek implements store.DB.
func (r *Reader) Peek(ctx context.Context, fn func(store.Tx) error) error { return r.Read(ctx, fn) }

// Now implements store.DB.
func (r *Reader) Now() time.Time { return r.clock() }

// Claims implements store.DB: a reader works on nothing.
func (r *Reader) Claims() store.Claims { return &claims{taken: map[string]struct{}{}} }

// Close implements store.DB.
func (r *Reader) Close() error { return r.db.Close() }

var (
	_ store.DB = (*DB)(nil)
	_ store.DB = (*Reader)(nil)
)
