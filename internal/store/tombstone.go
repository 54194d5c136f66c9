package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/parley-bot/parley/internal/audit"
)

// An event of the audit is filed under the chat, or under the lane where it
// came late.
const (
	qToldOld = `SELECT id FROM audit WHERE id<=?4 AND (chat_key=?1 OR (chat_key>?2 AND chat_key<?3)) ORDER BY id`
	qToldNew = `SELECT id FROM audit WHERE id>?4 AND (chat_key=?1 OR (chat_key>?2 AND chat_key<?3)) ORDER BY id`
	qToldGet = `SELECT chat_key, event FROM audit WHERE id=?1`
)

// toldRows are the audit's events that may be a chat's, up to the event last.
type toldRows struct {
	ids  []int64
	last int64
}

// told looks through the audit, which has no index on chats and is kept for
// ever by default: that is for a reading connection, the writer then only
// looks at what came since.
func (s *Store) told(ctx context.Context, chatKey string) (toldRows, error) {
	settled, err := s.settled(ctx)
	if err != nil {
		return toldRows{}, fmt.Errorf("reading audit: %w", err)
	}
	return read(ctx, s, func(tx Tx, _ time.Time) (t toldRows, err error) {
		if _, err := tx.Row(`SELECT coalesce(max(id),0) FROM audit`, nil, &t.last); err != nil {
			return t, fmt.Errorf("reading audit: %w", err)
		}
		t.last = min(t.last, settled)
		t.ids, err = toldIDs(tx, qToldOld, chatKey, t.last)
		return t, err
	})
}

func toldIDs(tx Tx, query, chatKey string, at int64) (ids []int64, err error) {
	err = tx.Rows(query, []any{chatKey, chatKey + ":", chatKey + ";", at}, func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, wrap("reading audit", err)
}

// audit takes the content out of the chat's events, and learns from them of
// turns whose rows are gone.
func (f *forgetting) audit(old toldRows) error {
	since, err := toldIDs(f.tx, qToldNew, f.chat, old.last)
	if err != nil {
		return err
	}
	for _, id := range append(slices.Clip(old.ids), since...) {
		var key string
		var event []byte
		found, err := f.tx.Row(qToldGet, []any{id}, &key, &event)
		if err != nil {
			return fmt.Errorf("reading audit event %d: %w", id, err)
		}
		if !found || key != f.chat && !slices.Contains(f.out.Cut, key) {
			continue
		}
		var e audit.Event
		if err := json.Unmarshal(event, &e); err != nil {
			return fmt.Errorf("decoding audit event %d: %w", id, err)
		}
		if e.Turn != "" {
			f.turns[e.Turn] = true
		}
		bare, err := json.Marshal(tombstone(e))
		if err != nil {
			return fmt.Errorf("encoding audit event %d: %w", id, err)
		}
		if bytes.Equal(bare, event) {
			continue
		}
		if err := f.exec(`UPDATE audit SET event=?2 WHERE id=?1`, id, bare); err != nil {
			return err
		}
	}
	return nil
}

// tombstone is what stays of an event once its chat is forgotten: that
// something was done, not for whom, with what or by whom.
func tombstone(e audit.Event) audit.Event {
	return audit.Event{At: e.At, Type: e.Type, Step: e.Step, Turn: e.Turn, Tool: e.Tool, CallID: e.CallID, DurationMs: e.DurationMs}
}
