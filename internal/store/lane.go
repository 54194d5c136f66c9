package store

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/parley-bot/parley/internal/lease"
)

// lane is a lane's row.
type lane struct {
	key, channel, chatKey string
	inSeq, doneSeq        int64
	// ready is since when the lane has work, 0 where it has none.
	ready   int64
	turn    string
	parked  bool
	attempt int
	fence   int64
	turns   int64 // turns in the history
	lang    string
	over    bool   // the notice of a full queue was given
	failure string // of the last turn, where it failed
	// give is set where save is to end the lease that the row has.
	give bool
}

const qLaneGet = `SELECT channel, chat_key, in_seq, done_seq, coalesce(ready_at,0), turn, parked, head_attempt, fence, turns, lang, noticed, error FROM lane WHERE key=?1 /*lock*/`

func getLane(tx Tx, key string) (l lane, ok bool, err error) {
	l.key = key
	ok, err = tx.Row(qLaneGet, []any{key}, &l.channel, &l.chatKey, &l.inSeq, &l.doneSeq, &l.ready,
		&l.turn, &l.parked, &l.attempt, &l.fence, &l.turns, &l.lang, &l.over, &l.failure)
	if err != nil {
		return l, false, fmt.Errorf("reading lane: %w", err)
	}
	return l, ok, nil
}

// ownLane reads the lane for a write of the lease's holder.
func ownLane(tx Tx, l lease.Lane) (lane, error) {
	row, ok, err := getLane(tx, l.Key)
	if err != nil {
		return row, err
	}
	if !ok || row.fence != l.Fence {
		return row, lease.ErrLost
	}
	return row, nil
}

const (
	qLaneInsert = `INSERT INTO lane(key, channel, chat_key, in_seq, done_seq, ready_at, turn, parked, head_attempt, fence, turns, lang, noticed)
 VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`
	qLaneUpdate = `UPDATE lane SET in_seq=?2, done_seq=?3, ready_at=?4, turn=?5, parked=?6, head_attempt=?7, fence=?8, turns=?9, lang=?10, noticed=?11 WHERE key=?1`
	qLaneGive   = `UPDATE lane SET in_seq=?2, done_seq=?3, ready_at=?4, turn=?5, parked=?6, head_attempt=?7, fence=?8, turns=?9, lang=?10, noticed=?11,
 owner='', lease_until=0 WHERE key=?1`
)

// save writes the row back, and works out whether the lane has work.
func (l *lane) save(tx Tx, now time.Time, found bool) error {
	l.refresh(now)
	ready := sql.NullInt64{Int64: l.ready, Valid: l.ready != 0}
	var err error
	if found {
		query := qLaneUpdate
		if l.give {
			query = qLaneGive
		}
		_, err = tx.Exec(query, l.key, l.inSeq, l.doneSeq, ready, l.turn, l.parked, l.attempt, l.fence, l.turns, l.lang, l.over)
	} else {
		_, err = tx.Exec(qLaneInsert, l.key, l.channel, l.chatKey, l.inSeq, l.doneSeq, ready, l.turn, l.parked, l.attempt, l.fence, l.turns, l.lang, l.over)
	}
	if err != nil {
		return fmt.Errorf("writing lane: %w", err)
	}
	return nil
}

// refresh uses nothing but the row itself: a sub-query on another table would
// be blind to what another transaction just added (PostgreSQL).
func (l *lane) refresh(now time.Time) {
	work := !l.parked && (l.turn != "" || l.inSeq > l.doneSeq)
	switch {
	case !work:
		l.ready = 0
	case l.ready == 0:
		l.ready = ms(now)
	}
}

const qInboxTaken = `SELECT taken_by FROM inbox WHERE lane=?1 AND seq=?2`

// advance ends all messages up to seq, and those behind it that a turn took.
func (l *lane) advance(tx Tx, seq int64) error {
	l.doneSeq = max(l.doneSeq, seq)
	for l.doneSeq < l.inSeq {
		var by string
		ok, err := tx.Row(qInboxTaken, []any{l.key, l.doneSeq + 1}, &by)
		if err != nil {
			return fmt.Errorf("reading queue: %w", err)
		}
		if ok && by == "" {
			return nil
		}
		l.doneSeq++
	}
	return nil
}

const qInboxTake = `UPDATE inbox SET taken_by=?3 WHERE lane=?1 AND seq=?2`

// plainTurn stands for the id of a turn that was never saved.
const plainTurn = "-"

// take marks queued messages as consumed by a turn.
func take(tx Tx, lane, turn string, seqs []int64) error {
	if turn == "" {
		turn = plainTurn // the empty id means that nobody took it
	}
	for _, seq := range seqs {
		if _, err := tx.Exec(qInboxTake, lane, seq, turn); err != nil {
			return fmt.Errorf("taking queued message: %w", err)
		}
	}
	return nil
}
