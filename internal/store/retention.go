package store

import (
	"context"
	"fmt"
	"time"
)

// Keep is how long rows live. The zero value of a field keeps them for ever.
type Keep struct {
	Payload time.Duration // an inbox message's content, after it was done
	Dedupe  time.Duration // a message's identity
	Outbox  time.Duration // an entry that left
	Turns   time.Duration // turns, calls and questions, after their end
	Unknown time.Duration // calls whose outcome isn't known
	Audit   time.Duration
	Log     time.Duration
	History time.Duration
}

// DefaultKeep is what the configuration starts from.
func DefaultKeep() Keep {
	const day = 24 * time.Hour
	return Keep{Payload: 7 * day, Dedupe: 30 * day, Outbox: 30 * day, Turns: 30 * day, Unknown: 180 * day}
}

// cleanMax bounds one commit of cleaning, so that it never holds others up.
const cleanMax = 1000

// rule deletes or clears old rows. find takes the oldest time to keep and
// cleanMax, and gives the keys; drop takes a key. Looking for old rows reads
// whole tables: that is for a reading connection, the writer only gets keys.
type rule struct {
	find, drop string
	keys       int
	keep       time.Duration
}

func (k Keep) rules() []rule {
	return []rule{
		{`SELECT key FROM dedupe WHERE seen_at<?1 LIMIT ?2`, `DELETE FROM dedupe WHERE key=?1`, 1, k.Dedupe},
		{`SELECT i.lane, i.seq FROM inbox i JOIN lane l ON l.key=i.lane
 WHERE i.payload IS NOT NULL AND i.received_at<?1 AND i.seq<=l.done_seq AND l.turn='' LIMIT ?2`,
			`UPDATE inbox SET payload=NULL WHERE lane=?1 AND seq=?2`, 2, k.Payload},
		{`SELECT lane, seq FROM inbox WHERE payload IS NULL AND received_at<?1 LIMIT ?2`,
			`DELETE FROM inbox WHERE lane=?1 AND seq=?2 AND payload IS NULL`, 2, k.Dedupe},
		// What an open question or a waiting edit points at stays.
		{`SELECT o.chat, o.seq FROM outbox o JOIN chat c ON c.key=o.chat
 WHERE o.updated_at<?1 AND o.seq<=c.sent_seq
 AND NOT EXISTS (SELECT 1 FROM wait w WHERE w.chat_key=o.chat AND w.state='pending' AND o.seq BETWEEN w.first_seq AND w.last_seq)
 AND NOT EXISTS (SELECT 1 FROM outbox e WHERE e.chat=o.chat AND e.seq>c.sent_seq AND e.edit_of=o.seq) LIMIT ?2`,
			`DELETE FROM outbox WHERE chat=?1 AND seq=?2`, 2, k.Outbox},
		{`SELECT id FROM call WHERE ended_at>0 AND ended_at<?1 AND state<>'unknown' LIMIT ?2`, `DELETE FROM call WHERE id=?1`, 1, k.Turns},
		{`SELECT id FROM call WHERE ended_at>0 AND ended_at<?1 LIMIT ?2`, `DELETE FROM call WHERE id=?1`, 1, k.Unknown},
		{`SELECT w.token FROM wait w WHERE w.state<>'pending' AND w.ended_at<?1
 AND NOT EXISTS (SELECT 1 FROM turn t WHERE t.id=w.turn AND t.state='running') LIMIT ?2`, `DELETE FROM wait WHERE token=?1`, 1, k.Turns},
		// A call is its chat's by its turn: Forget must find it.
		{`SELECT id FROM turn t WHERE state<>'running' AND updated_at<?1
 AND NOT EXISTS (SELECT 1 FROM call c WHERE c.turn=t.id) LIMIT ?2`, `DELETE FROM turn WHERE id=?1`, 1, k.Turns},
		{`SELECT lane, call FROM run WHERE keep_until<?1 LIMIT ?2`, `DELETE FROM run WHERE lane=?1 AND call=?2`, 2, time.Nanosecond},
		{`SELECT channel, "user" FROM sender WHERE let_in_at=0 AND expires_at<?1 LIMIT ?2`, `DELETE FROM sender WHERE channel=?1 AND "user"=?2 AND let_in_at=0`, 2, time.Nanosecond},
		{`SELECT id FROM audit WHERE at<?1 AND id<=coalesce((SELECT min(id) FROM cursor), id) LIMIT ?2`, `DELETE FROM audit WHERE id=?1`, 1, k.Audit},
		{`SELECT chat, n FROM log WHERE at<?1 LIMIT ?2`, `DELETE FROM log WHERE chat=?1 AND n=?2`, 2, k.Log},
		{`SELECT lane, n FROM history WHERE at<?1 LIMIT ?2`, `DELETE FROM history WHERE lane=?1 AND n=?2`, 2, k.History},
	}
}

// Clean deletes rows that are past their time, at most 1,000 of a kind. more
// tells that some are left. It goes behind all other writes.
func (s *Store) Clean(ctx context.Context, keep Keep) (removed int, more bool, err error) {
	for _, r := range keep.rules() {
		if r.keep == 0 {
			continue
		}
		n, err := s.apply(ctx, r)
		if err != nil {
			return removed, more, fmt.Errorf("cleaning up: %w", err)
		}
		removed += n
		more = more || n == cleanMax
	}
	return removed, more, nil
}

func (s *Store) apply(ctx context.Context, r rule) (int, error) {
	keys, err := peek(ctx, s, func(tx Tx, now time.Time) (keys [][]any, err error) {
		err = tx.Rows(r.find, []any{ms(now.Add(-r.keep)), cleanMax}, func(scan func(...any) error) error {
			key, dest := make([]any, r.keys), make([]any, r.keys)
			for i := range key {
				dest[i] = &key[i]
			}
			keys = append(keys, key)
			return scan(dest...)
		})
		return keys, err
	})
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	err = s.db.Later(ctx, func(tx Tx) error {
		for _, key := range keys {
			if _, err := tx.Exec(r.drop, key...); err != nil {
				return err
			}
		}
		return nil
	})
	return len(keys), err
}
