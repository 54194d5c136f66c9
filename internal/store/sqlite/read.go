package sqlite

import (
	"context"
	"fmt"

	"github.com/parley-bot/parley/internal/store"
)

// Read runs fn on one snapshot.
func (db *DB) Read(ctx context.Context, fn func(store.Tx) error) error {
	return db.Peek(ctx, func(tx store.Tx) error { return snapshot(tx, fn) })
}

// snapshot runs fn in a transaction that reads.
func snapshot(tx store.Tx, fn func(store.Tx) error) error {
	if _, err := tx.Exec("BEGIN"); err != nil {
		return err
	}
	err := protect(fn, tx)
	if _, end := tx.Exec("COMMIT"); end != nil && err == nil {
		err = end
	}
	return err
}

// Peek runs fn on a reading connection, which is opened when first needed.
func (db *DB) Peek(ctx context.Context, fn func(store.Tx) error) error {
	var c *conn
	select {
	case c = <-db.reads:
	case <-db.writer.quit:
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { db.reads <- c }()
	if c == nil {
		var err error
		if c, err = newConn(db.path, false); err != nil {
			return fmt.Errorf("opening a reading connection: %w", explain(err))
		}
	}
	if err := protect(fn, c); err != nil {
		return db.writer.judge(err)
	}
	return nil
}
