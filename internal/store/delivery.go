package store

import (
	"context"
	"strings"
	"time"

	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/outbox"
)

const (
	qOutByID = `SELECT seq FROM outbox WHERE chat=?1 AND platform_id=?2 AND kind='send' ORDER BY seq DESC LIMIT 1`
	// An entry that is being sent right now is meant too: a report can be
	// faster than the answer to the send, whose outcome then changes nothing.
	// One that waits to be sent again is left: its next attempt decides.
	qOutUndelivered = `UPDATE outbox SET state='failed', error=?3, updated_at=?4
 WHERE chat=?1 AND seq=?2 AND kind='send' AND state IN ('sent','sending','unknown') AND (platform_id='' OR ?5='' OR platform_id=?5) RETURNING wait`
)

// undelivered is what DeliveryFailed returns.
type undelivered struct {
	acc   inbox.Accepted
	known bool
}

// DeliveryFailed marks a message that the platform took as failed.
func (s *Store) DeliveryFailed(ctx context.Context, u inbox.Undelivered) (inbox.Accepted, bool, error) {
	chatKey, of, named := outbox.ParseKey(u.Key)
	switch {
	case named && strings.HasPrefix(chatKey, u.Channel+":"):
	case u.ID == "":
		return inbox.Accepted{}, false, nil
	default:
		chatKey, of = u.ChatKey, 0
	}
	out, err := write(ctx, s, chatKey, func(tx Tx, now time.Time) (out undelivered, err error) {
		seq := of
		if seq == 0 {
			if ok, err := tx.Row(qOutByID, []any{chatKey, string(u.ID)}, &seq); err != nil || !ok {
				return out, wrap("finding undelivered entry", err)
			}
		}
		if err := hold(tx, chatKey, seq); err != nil {
			return out, err
		}
		var token string
		out.known, err = tx.Row(qOutUndelivered, []any{chatKey, seq, u.Cause, ms(now), string(u.ID)}, &token)
		if err != nil || !out.known {
			return out, wrap("marking undelivered entry", err)
		}
		out.acc, err = undeliver(tx, now, chatKey, token)
		return out, err
	})
	return out.acc, out.known, err
}

// undeliver lets the chat go on without the entry, and cancels the turn whose
// question it was part of: what wasn't shown can't be answered.
func undeliver(tx Tx, now time.Time, chatKey, token string) (inbox.Accepted, error) {
	var acc inbox.Accepted
	if token != "" {
		w, ok, err := queryWait(tx, qWaitGet, token)
		if err != nil {
			return acc, err
		}
		if ok && w.State == confirm.Pending {
			l, spoke, err := endQuestion(tx, now, w, confirm.Expired, "undeliverable")
			if err != nil {
				return acc, err
			}
			acc.Lane, acc.Wake, acc.Speak = w.Lane, l.ready != 0, spoke
			acc.Resolved = resolved(w, "cancelled", now)
		}
	}
	c, found, err := getChat(tx, chatKey)
	if err != nil || !found {
		return acc, err
	}
	if err := c.pass(tx); err != nil {
		return acc, err
	}
	acc.Speak = acc.Speak || c.sentSeq < c.outSeq
	return acc, c.save(tx)
}
