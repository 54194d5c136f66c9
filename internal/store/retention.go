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

// rule deletes or clears old rows; the query takes the oldest time to keep and
// cleanMax.
type rule struct {
	query string
	keep  time.Duration
}

func (k Keep) rules() []rule {
	return []rule{
		{`DELETE FROM dedupe WHERE key IN (SELECT key FROM dedupe WHERE seen_at<?1 LIMIT ?2)`, k.Dedupe},
		{`UPDATE inbox SET payload=NULL WHERE (lane, seq) IN (SELECT i.lane, i.seq FROM inbox i JOIN lane l ON l.key=i.lane
 WHERE i.payload IS NOT NULL AND i.received_at<?1 AND i.seq<=l.done_seq AND l.turn='' LIMIT ?2)`, k.Payload},
		{`DELETE FROM inbox WHERE (lane, seq) IN (SELECT lane, seq FROM inbox WHERE payload IS NULL AND received_at<?1 LIMIT ?2)`, k.Dedupe},
		{`DELETE FROM outbox WHERE (chat, seq) IN (SELECT o.chat, o.seq FROM outbox o JOIN chat c ON c.key=o.chat
 WHERE o.updated_at<?1 AND o.seq<=c.sent_seq
 AND NOT EXISTS (SELECT 1 FROM wait w WHERE w.chat_key=o.chat AND w.state='pending' AND o.seq BETWEEN w.first_seq AND w.last_seq)
 AND NOT EXISTS (SELECT 1 FROM outbox e WHERE e.chat=o.chat AND e.seq>c.sent_seq AND e.edit_of=o.seq) LIMIT ?2)`, k.Outbox},
		{`DELETE FROM call WHERE id IN (SELECT id FROM call WHERE ended_at>0 AND ended_at<?1 AND state<>'unknown' LIMIT ?2)`, k.Turns},
		{`DELETE FROM call WHERE id IN (SELECT id FROM call WHERE ended_at>0 AND ended_at<?1 LIMIT ?2)`, k.Unknown},
		{`DELETE FROM wait WHERE token IN (SELECT w.token FROM wait w WHERE w.state<>'pending' AND w.ended_at<?1
 AND NOT EXISTS (SELECT 1 FROM turn t WHERE t.id=w.turn AND t.state='running') LIMIT ?2)`, k.Turns},
		{`DELETE FROM turn WHERE id IN (SELECT id FROM turn WHERE state<>'running' AND updated_at<?1 LIMIT ?2)`, k.Turns},
		{`DELETE FROM run WHERE (lane, call) IN (SELECT lane, call FROM run WHERE keep_until<?1 LIMIT ?2)`, time.Nanosecond},
		{`DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at<?1 AND id<=coalesce((SELECT min(id) FROM cursor), id) LIMIT ?2)`, k.Audit},
		{`DELETE FROM log WHERE (chat, n) IN (SELECT chat, n FROM log WHERE at<?1 LIMIT ?2)`, k.Log},
		{`DELETE FROM history WHERE (lane, n) IN (SELECT lane, n FROM history WHERE at<?1 LIMIT ?2)`, k.History},
	}
}

// Clean deletes rows that are past their time, at most 1,000 of a kind. more
// tells that some are left. It goes behind all other writes.
func (s *Store) Clean(ctx context.Context, keep Keep) (removed int, more bool, err error) {
	for _, r := range keep.rules() {
		if r.keep == 0 {
			continue
		}
		var n int64
		err := s.db.Later(ctx, func(tx Tx) (err error) {
			n, err = tx.Exec(r.query, ms(s.db.Now().Add(-r.keep)), cleanMax)
			return err
		})
		if err != nil {
			return removed, more, fmt.Errorf("cleaning up: %w", err)
		}
		removed += int(n)
		more = more || n == cleanMax
	}
	return removed, more, nil
}
