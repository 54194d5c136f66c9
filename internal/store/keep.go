package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/turn"
)

const (
	qKVGet = `SELECT value, version FROM kv WHERE scope=?1 AND key=?2 /*lock*/`
	// A row that another process has just made is an error, after which the
	// write runs again.
	qKVNew = `INSERT INTO kv(scope, key, value, version) VALUES(?1, ?2, ?3, 1)`
	qKVPut = `INSERT INTO kv(scope, key, value, version) VALUES(?1, ?2, ?3, 1) ON CONFLICT(scope, key) DO UPDATE SET value=?3, version=kv.version+1`
)

// Get reads one value that tools saved.
func (s *Store) Get(ctx context.Context, scope tool.Scope, key string) (json.RawMessage, int64, error) {
	var version int64
	value, err := read(ctx, s, func(tx Tx, _ time.Time) (v json.RawMessage, err error) {
		v, version, err = getKV(tx, scope, key)
		return v, err
	})
	return value, version, err
}

func getKV(tx Tx, scope tool.Scope, key string) (v json.RawMessage, version int64, err error) {
	_, err = tx.Row(qKVGet, []any{string(scope), key}, (*[]byte)(&v), &version)
	return v, version, wrap("reading saved value", err)
}

// put commits one buffered write. A deleted key keeps its row, so that its
// version never starts again.
func put(tx Tx, w tool.Write) error {
	query := qKVPut
	if w.IfVersion != nil {
		_, version, err := getKV(tx, w.Scope, w.Key)
		if err != nil {
			return err
		}
		if version != *w.IfVersion {
			return turn.ErrConflict
		}
		if version == 0 {
			query = qKVNew
		}
	}
	_, err := tx.Exec(query, string(w.Scope), w.Key, []byte(w.Value))
	return wrap("saving value", err)
}

// List lists the keys that tools saved below a prefix.
func (s *Store) List(ctx context.Context, scope tool.Scope, prefix string) ([]string, error) {
	return read(ctx, s, func(tx Tx, _ time.Time) (out []string, err error) {
		err = tx.Rows(`SELECT key FROM kv WHERE scope=?1 AND key>=?2 AND value IS NOT NULL ORDER BY key LIMIT 1000`, []any{string(scope), prefix}, func(scan func(...any) error) error {
			var key string
			if err := scan(&key); err != nil {
				return err
			}
			if strings.HasPrefix(key, prefix) {
				out = append(out, key)
			}
			return nil
		})
		return out, wrap("listing saved values", err)
	})
}

// StateGet reads what an adapter saved for its account.
func (s *Store) StateGet(ctx context.Context, account, key string) ([]byte, error) {
	return read(ctx, s, func(tx Tx, _ time.Time) (v []byte, err error) {
		found, err := tx.Row(`SELECT value FROM state WHERE account=?1 AND key=?2`, []any{account, key}, &v)
		if found && v == nil {
			v = []byte{} // nil says that there is no such key
		}
		return v, wrap("reading channel's state", err)
	})
}

// StateSwap sets a key of an account if it still holds old.
func (s *Store) StateSwap(ctx context.Context, account, key string, old, value []byte) (bool, error) {
	return write(ctx, s, account, func(tx Tx, _ time.Time) (bool, error) {
		var have []byte
		found, err := tx.Row(`SELECT value FROM state WHERE account=?1 AND key=?2 /*lock*/`, []any{account, key}, &have)
		if err != nil {
			return false, fmt.Errorf("reading channel's state: %w", err)
		}
		if found != (old != nil) || !bytes.Equal(have, old) {
			return false, nil
		}
		switch {
		case value == nil:
			_, err = tx.Exec(`DELETE FROM state WHERE account=?1 AND key=?2`, account, key)
		case found:
			_, err = tx.Exec(`UPDATE state SET value=?3 WHERE account=?1 AND key=?2`, account, key, value)
		default:
			var n int64
			n, err = tx.Exec(`INSERT INTO state(account, key, value) VALUES(?1, ?2, ?3) ON CONFLICT(account, key) DO NOTHING`, account, key, value)
			if err == nil && n == 0 {
				return false, nil
			}
		}
		return err == nil, wrap("saving channel's state", err)
	})
}

const qAuditAdd = `INSERT INTO audit(at, chat_key, event) VALUES(?1, ?2, ?3)`

func addEvent(tx Tx, chatKey string, e audit.Event) error {
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encoding audit event: %w", err)
	}
	_, err = tx.Exec(qAuditAdd, e.At, chatKey, b)
	return wrap("writing audit event", err)
}

func addEvents(tx Tx, chatKey string, events []audit.Event) error {
	for _, e := range events {
		if err := addEvent(tx, chatKey, e); err != nil {
			return err
		}
	}
	return nil
}

// Settler is a driver that gives the numbers of audit events before it commits
// them, so that a low one may be seen after a high one.
type Settler interface {
	// Settled waits until every number up to last can be seen, or never will.
	Settled(ctx context.Context) (last int64, err error)
}

func (s *Store) settled(ctx context.Context) (last int64, err error) {
	if n, ok := s.db.(Settler); ok {
		return n.Settled(ctx)
	}
	return math.MaxInt64, nil
}

// After reads audit events behind a cursor.
func (s *Store) After(ctx context.Context, cursor int64, limit int) ([]audit.Row, error) {
	last, err := s.settled(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading audit: %w", err)
	}
	return read(ctx, s, func(tx Tx, _ time.Time) (out []audit.Row, err error) {
		err = tx.Rows(`SELECT id, event FROM audit WHERE id>?1 AND id<=?3 ORDER BY id LIMIT ?2`, []any{cursor, limit, last}, func(scan func(...any) error) error {
			var r audit.Row
			err := scan(&r.ID, (*[]byte)(&r.Event))
			out = append(out, r)
			return err
		})
		return out, wrap("reading audit", err)
	})
}

// Newest reads the last limit audit events, oldest first.
func (s *Store) Newest(ctx context.Context, limit int) ([]audit.Row, error) {
	return list(ctx, s, `SELECT id, event FROM (SELECT id, event FROM audit ORDER BY id DESC LIMIT ?1) AS newest ORDER BY id`, []any{limit},
		func(scan func(...any) error) (r audit.Row, err error) {
			err = scan(&r.ID, (*[]byte)(&r.Event))
			return r, err
		})
}

// Cursor is how far a sink has read the audit.
func (s *Store) Cursor(ctx context.Context, sink string) (int64, error) {
	return read(ctx, s, func(tx Tx, _ time.Time) (id int64, err error) {
		_, err = tx.Row(`SELECT id FROM cursor WHERE name=?1`, []any{sink}, &id)
		return id, wrap("reading audit cursor", err)
	})
}

// SetCursor moves a sink's cursor.
func (s *Store) SetCursor(ctx context.Context, sink string, id int64) error {
	_, err := write(ctx, s, sink, func(tx Tx, _ time.Time) (none, error) {
		_, err := tx.Exec(`INSERT INTO cursor(name, id) VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET id=?2`, sink, id)
		return none{}, wrap("moving audit cursor", err)
	})
	return err
}
