package sqlite

import "github.com/parley-bot/parley/internal/store"

// Shrink gives back the page caches of connections that nobody uses now.
func (db *DB) Shrink() {
	for range db.opts.Readers {
		select {
		case c := <-db.reads:
			if c != nil {
				// A cache that can't be shrunk only stays larger.
				_, _ = c.Exec("PRAGMA shrink_memory")
			}
			db.reads <- c
		default:
		}
	}
	select {
	case db.writer.later <- &call{done: make(chan struct{}), fn: func(tx store.Tx) error {
		_, err := tx.Exec("PRAGMA shrink_memory")
		return err
	}}:
	default: // it has better things to do
	}
}
