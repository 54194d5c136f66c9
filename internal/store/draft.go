package store

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/lease"
	"github.com/parley-bot/parley/internal/turn"
)

const (
	qDraftGet = `SELECT d.seq, d.out, coalesce(o.state, ''), coalesce(o.platform_id, '') FROM draft d
 LEFT JOIN outbox o ON o.chat=d.chat AND o.seq=d.out WHERE d.lane=?1`
	qDraftAdd = `INSERT INTO draft(lane, seq, chat, out) VALUES(?1, ?2, ?3, ?4)`
	qDraftEnd = `DELETE FROM draft WHERE lane=?1`
)

// draft is a lane's draft with the state of its entry.
type draft struct {
	seq, out int64
	state    string
	sent     channels.MessageID
}

// lost tells whether the entry has ended without being seen for sure.
func (d draft) lost() bool { return d.state != "queued" && d.state != "sending" && d.state != "sent" }

func getDraft(tx Tx, lane string) (d draft, ok bool, err error) {
	ok, err = tx.Row(qDraftGet, []any{lane}, &d.seq, &d.out, &d.state, (*string)(&d.sent))
	return d, ok, wrap("reading draft", err)
}

// Draft says the beginning of an answer, once.
func (s *Store) Draft(ctx context.Context, l lease.Lane, d turn.Draft) (turn.Drafted, error) {
	return write(ctx, s, l.Key, func(tx Tx, now time.Time) (out turn.Drafted, err error) {
		row, err := ownLane(tx, l)
		if err != nil {
			return out, err
		}
		have, ok, err := getDraft(tx, row.key)
		if err != nil {
			return out, err
		}
		if ok && have.seq == d.Seq {
			return drafted(have), nil
		}
		if d.Seq <= row.doneSeq {
			return out, lease.ErrLost
		}
		if err := dropDraft(tx, now, row.key); err != nil {
			return out, err
		}
		if out.Spoke, err = say(tx, now, row.channel, row.chatKey, []channels.Part{d.Part}, saying{own: d.Own}); err != nil {
			return out, err
		}
		out.Seq = out.Spoke.Seq
		_, err = tx.Exec(qDraftAdd, row.key, d.Seq, row.chatKey, out.Seq)
		return out, wrap("keeping draft", err)
	})
}

func drafted(d draft) turn.Drafted { return turn.Drafted{Seq: d.out, Sent: d.sent, Lost: d.lost()} }

// endDraft ends the lane's draft for the answer that takes its place: what
// hasn't left is withdrawn. It returns the entry to edit, 0 where there is none.
func endDraft(tx Tx, now time.Time, lane string) (edit int64, err error) {
	d, ok, err := getDraft(tx, lane)
	if err != nil || !ok {
		return 0, err
	}
	if d.state == "sending" || d.state == "sent" {
		edit = d.out
	}
	return edit, dropDraft(tx, now, lane)
}

// dropDraft forgets the lane's draft, and takes it back where it hasn't left.
func dropDraft(tx Tx, now time.Time, lane string) error {
	var chat string
	var out int64
	ok, err := tx.Row(`SELECT chat, out FROM draft WHERE lane=?1`, []any{lane}, &chat, &out)
	if err != nil || !ok {
		return wrap("reading draft", err)
	}
	if _, _, err := getChat(tx, chat); err != nil {
		return err
	}
	if _, err := tx.Exec(qDraftEnd, lane); err != nil {
		return fmt.Errorf("ending draft: %w", err)
	}
	n, err := tx.Exec(`UPDATE outbox SET state='withdrawn', payload=NULL, updated_at=?3 WHERE chat=?1 AND seq=?2 AND state='queued'`, chat, out, ms(now))
	if err != nil || n == 0 {
		return wrap("withdrawing draft", err)
	}
	return skipEnded(tx, chat)
}
