package store

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/inbox"
)

const (
	qSenderGet  = `SELECT expires_at, let_in_at FROM sender WHERE channel=?1 AND "user"=?2 /*lock*/`
	qSenderIs   = `SELECT let_in_at FROM sender WHERE channel=?1 AND "user"=?2`
	qSenderAsk  = `SELECT count(*) FROM sender WHERE channel=?1 AND let_in_at=0 AND expires_at>?2`
	qSenderTell = `INSERT INTO sender(channel, "user", name, code, asked_at, expires_at, let_in_at) VALUES(?1, ?2, ?3, ?4, ?5, ?6, 0)
 ON CONFLICT(channel, "user") DO UPDATE SET name=?3, code=?4, asked_at=?5, expires_at=?6`
	qSenderCode = `SELECT channel, "user" FROM sender WHERE code=?1 AND code<>'' AND expires_at>?2 /*lock*/`
	qSenderIn   = `UPDATE sender SET code='', let_in_at=?3 WHERE channel=?1 AND "user"=?2`
	qSenderOut  = `DELETE FROM sender WHERE channel=?1 AND "user"=?2`
	qSenderList = `SELECT channel, "user", name, code, asked_at, expires_at, let_in_at FROM sender
 WHERE let_in_at>0 OR expires_at>?1 ORDER BY let_in_at=0 DESC, channel, asked_at, "user" LIMIT ?2`
)

// LetIn tells whether a person was let in by a code.
func (s *Store) LetIn(ctx context.Context, channel string, user channels.UserID) (bool, error) {
	return peek(ctx, s, func(tx Tx, _ time.Time) (bool, error) {
		var in int64
		_, err := tx.Row(qSenderIs, []any{channel, string(user)}, &in)
		return in != 0, wrap("reading sender", err)
	})
}

// Knock gives a person a code. It is told in the same commit, and once: who
// has a good code, or was let in meanwhile, is told nothing.
func (s *Store) Knock(ctx context.Context, k inbox.Knock) (inbox.Accepted, error) {
	return write(ctx, s, k.Place.Lane, func(tx Tx, now time.Time) (inbox.Accepted, error) {
		ignored := inbox.Accepted{Outcome: inbox.Ignored}
		if fresh, err := remember(tx, now, k.DedupeKey); err != nil || !fresh {
			return inbox.Accepted{Outcome: inbox.Duplicate}, err
		}
		var expires, in, open int64
		if _, err := tx.Row(qSenderGet, []any{k.Place.Channel, string(k.In.From.ID)}, &expires, &in); err != nil {
			return ignored, fmt.Errorf("reading sender: %w", err)
		}
		if in != 0 || expires > ms(now) {
			return ignored, nil
		}
		if _, err := tx.Row(qSenderAsk, []any{k.Place.Channel, ms(now)}, &open); err != nil {
			return ignored, fmt.Errorf("counting senders: %w", err)
		}
		if open >= int64(k.Max) {
			return ignored, nil
		}
		if _, err := tx.Exec(qSenderTell, k.Place.Channel, string(k.In.From.ID), k.In.From.Name, k.Code, ms(now), ms(now.Add(k.For))); err != nil {
			return ignored, fmt.Errorf("saving sender: %w", err)
		}
		_, err := say(tx, now, k.Place.Channel, k.Place.ChatKey, k.Say, saying{})
		return inbox.Accepted{Outcome: inbox.Told, Speak: true}, err
	})
}

// SenderRow is a person who asked to be let in, or was.
type SenderRow struct {
	Channel string          `json:"channel"`
	User    channels.UserID `json:"user"`
	Name    string          `json:"name,omitempty"`
	Code    string          `json:"code,omitempty"` // of one who waits
	Asked   time.Time       `json:"asked"`
	Expires time.Time       `json:"expires,omitzero"` // of the code
	LetIn   time.Time       `json:"let_in,omitzero"`
}

// ListSenders lists who waits to be let in, then who was.
func (s *Store) ListSenders(ctx context.Context, limit int) ([]SenderRow, error) {
	return list(ctx, s, qSenderList, []any{ms(s.Now()), limit}, func(scan func(...any) error) (r SenderRow, err error) {
		var asked, expires, in int64
		err = scan(&r.Channel, (*string)(&r.User), &r.Name, &r.Code, &asked, &expires, &in)
		r.Asked, r.LetIn = fromMS(asked), fromMS(in)
		if in == 0 {
			r.Expires = fromMS(expires)
		}
		return r, err
	})
}

// Approve lets in whom the code was given to. found is false where no code that
// is still good reads so.
func (s *Store) Approve(ctx context.Context, code string) (channel string, user channels.UserID, found bool, err error) {
	type who struct{ channel, user string }
	w, err := write(ctx, s, "", func(tx Tx, now time.Time) (w who, err error) {
		ok, err := tx.Row(qSenderCode, []any{code, ms(now)}, &w.channel, &w.user)
		if err != nil || !ok {
			return who{}, wrap("reading code", err)
		}
		_, err = tx.Exec(qSenderIn, w.channel, w.user, ms(now))
		return w, wrap("letting sender in", err)
	})
	return w.channel, channels.UserID(w.user), w.channel != "", err
}

// PutOut takes back what Approve gave. found is false where there is no such
// person.
func (s *Store) PutOut(ctx context.Context, channel string, user channels.UserID) (found bool, err error) {
	return write(ctx, s, "", func(tx Tx, _ time.Time) (bool, error) {
		n, err := tx.Exec(qSenderOut, channel, string(user))
		return n > 0, wrap("removing sender", err)
	})
}
