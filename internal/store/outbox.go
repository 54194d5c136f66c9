package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/outbox"
)

// chat is a chat's row.
type chat struct {
	key, channel         string
	outSeq, sentSeq, log int64
}

func getChat(tx Tx, key string) (c chat, ok bool, err error) {
	c.key = key
	ok, err = tx.Row(`SELECT channel, out_seq, sent_seq, log_n FROM chat WHERE key=?1 /*lock*/`, []any{key},
		&c.channel, &c.outSeq, &c.sentSeq, &c.log)
	return c, ok, wrap("reading chat", err)
}

func (c *chat) save(tx Tx) error {
	_, err := tx.Exec(`UPDATE chat SET sent_seq=?2, log_n=?3 WHERE key=?1`, c.key, c.sentSeq, c.log)
	return wrap("writing chat", err)
}

const (
	openStates = `('queued','sending')`
	qOutFirst  = `SELECT seq FROM outbox WHERE chat=?1 AND seq>?2 AND state IN ` + openStates + ` ORDER BY seq LIMIT 1`
	qOutGet    = `SELECT kind, payload, edit_of, wait, state, attempts, maybe, next_at, created_at FROM outbox WHERE chat=?1 AND seq=?2`
	qOutMark   = `UPDATE outbox SET state='sending', attempts=attempts+1, maybe=?4, updated_at=?3 WHERE chat=?1 AND seq=?2`
	qOutTarget = `SELECT platform_id FROM outbox WHERE chat=?1 AND seq=?2`
)

// pass moves sent_seq up to the first entry that still waits.
func (c *chat) pass(tx Tx) error {
	if c.sentSeq >= c.outSeq {
		return nil
	}
	var first int64
	ok, err := tx.Row(qOutFirst, []any{c.key, c.sentSeq}, &first)
	if err != nil {
		return fmt.Errorf("reading outbox: %w", err)
	}
	if ok {
		c.sentSeq = first - 1
	} else {
		c.sentSeq = c.outSeq
	}
	return nil
}

const qOutLane = `SELECT coalesce(w.lane, '') FROM outbox o LEFT JOIN wait w ON w.token=o.wait WHERE o.chat=?1 AND o.seq=?2`

// hold locks what the end of an entry may touch: the lane of the question that
// it is part of, if any, and then the chat.
func hold(tx Tx, chatKey string, seq int64) error {
	var lane string
	if _, err := tx.Row(qOutLane, []any{chatKey, seq}, &lane); err != nil {
		return fmt.Errorf("reading entry's question: %w", err)
	}
	if lane != "" {
		if _, _, err := getLane(tx, lane); err != nil {
			return err
		}
	}
	_, _, err := getChat(tx, chatKey)
	return err
}

// skipEnded is pass for entries that were withdrawn.
func skipEnded(tx Tx, chatKey string) error {
	c, ok, err := getChat(tx, chatKey)
	if err != nil || !ok {
		return err
	}
	before := c.sentSeq
	if err := c.pass(tx); err != nil || c.sentSeq == before {
		return err
	}
	return c.save(tx)
}

// next marks the chat's first waiting entry as sending, where it is due.
func (c *chat) next(tx Tx, now time.Time) (e outbox.Entry, ok bool, due time.Time, err error) {
	if c.sentSeq >= c.outSeq {
		return e, false, due, nil
	}
	e = outbox.Entry{ChatKey: c.key, Channel: c.channel, Seq: c.sentSeq + 1}
	var payload []byte
	var editOf, nextAt, created int64
	var token, state string
	found, err := tx.Row(qOutGet, []any{c.key, e.Seq}, (*string)(&e.Kind), &payload, &editOf, &token, &state, &e.Attempts, &e.Doubts, &nextAt, &created)
	if err != nil || !found {
		return e, false, due, wrap("reading entry", err)
	}
	if nextAt > ms(now) {
		return e, false, fromMS(nextAt), nil
	}
	if err := json.Unmarshal(payload, &e.Part); err != nil {
		return e, false, due, fmt.Errorf("decoding entry %d of chat: %w", e.Seq, err)
	}
	if editOf != 0 {
		if _, err := tx.Row(qOutTarget, []any{c.key, editOf}, (*string)(&e.Target)); err != nil {
			return e, false, due, fmt.Errorf("reading edited entry: %w", err)
		}
	}
	if token != "" {
		w, ok, err := queryWait(tx, qWaitGet, token)
		if err != nil {
			return e, false, due, err
		}
		if ok && e.Seq == w.lastSeq && w.State == confirm.Pending {
			e.Asks = w.Timeout
		}
	}
	if state == "sending" {
		// Left by a process that died: nobody knows whether it went.
		e.Doubts++
	}
	if _, err := tx.Exec(qOutMark, c.key, e.Seq, ms(now), e.Doubts); err != nil {
		return e, false, due, fmt.Errorf("marking entry: %w", err)
	}
	e.Maybe = e.Doubts > 0
	e.Attempts++
	e.Created = fromMS(created)
	return e, true, due, nil
}

// nexted is what Next returns.
type nexted struct {
	e   outbox.Entry
	ok  bool
	due time.Time
}

// Next is T7.
func (s *Store) Next(ctx context.Context, chatKey string) (outbox.Entry, bool, time.Time, error) {
	n, err := write(ctx, s, chatKey, func(tx Tx, now time.Time) (n nexted, err error) {
		c, ok, err := getChat(tx, chatKey)
		if err != nil || !ok {
			return n, err
		}
		return s.following(tx, now, c)
	})
	return n.e, n.ok, n.due, err
}

// following is the chat's next entry, for the process that sends.
func (s *Store) following(tx Tx, now time.Time, c chat) (n nexted, err error) {
	if c.sentSeq >= c.outSeq {
		return n, nil
	}
	if other, err := s.foreign(tx, now, c.channel); err != nil || other {
		return n, err
	}
	n.e, n.ok, n.due, err = c.next(tx, now)
	return n, err
}

const (
	qOutSent = `UPDATE outbox SET state='sent', payload=NULL, platform_id=?3, updated_at=?4 WHERE chat=?1 AND seq=?2 AND state='sending' RETURNING wait`
	// A question whose chat was forgotten while it was on its way: its edit
	// needs the id.
	qOutGone = `UPDATE outbox SET state='sent', platform_id=?3, updated_at=?4 WHERE chat=?1 AND seq=?2 AND state='forgotten'`
)

// Sent is T8.
func (s *Store) Sent(ctx context.Context, e outbox.Entry, r channels.Receipt) (outbox.Entry, bool, error) {
	defer s.note(e, r)()
	n, err := write(ctx, s, e.ChatKey, func(tx Tx, now time.Time) (n nexted, err error) {
		c, found, err := getChat(tx, e.ChatKey)
		if err != nil || !found {
			return n, err
		}
		if err := c.sent(tx, now, e, r.ID); err != nil {
			return n, err
		}
		if err := c.save(tx); err != nil {
			return n, err
		}
		return s.following(tx, now, c)
	})
	return n.e, n.ok, err
}

// sent marks an entry as sent, unless it is over already, and logs it.
func (c *chat) sent(tx Tx, now time.Time, e outbox.Entry, id channels.MessageID) error {
	var token string
	ok, err := tx.Row(qOutSent, []any{e.ChatKey, e.Seq, string(id), ms(now)}, &token)
	if err != nil {
		return fmt.Errorf("marking entry as sent: %w", err)
	}
	if !ok {
		if _, err := tx.Exec(qOutGone, e.ChatKey, e.Seq, string(id), ms(now)); err != nil {
			return fmt.Errorf("marking forgotten entry as sent: %w", err)
		}
		return c.pass(tx)
	}
	if token != "" {
		if err := questionLeft(tx, now, token, e.Seq, id); err != nil {
			return err
		}
	}
	c.log++
	entry := channels.LogEntry{N: c.log, ID: id, From: channels.FromBot, Text: e.Part.Text, Buttons: e.Part.Buttons, EditOf: e.Target}
	if e.Part.Plain != "" {
		entry.Text = e.Part.Plain
	}
	if token == forgottenEntry {
		entry.Text = ""
	}
	if e.Kind == outbox.Finish && id != e.Target {
		entry.EditOf = "" // there was nothing to edit: it is a message of its own
	}
	if entry.ID == "" || entry.EditOf != "" {
		entry.ID = channels.MessageID(fmt.Sprintf("%s-%d", e.Kind, e.Seq))
	}
	if err := logEntry(tx, now, e.ChatKey, entry); err != nil {
		return err
	}
	return c.pass(tx)
}

// questionLeft starts the clock of a question when its last part has left: it
// counts from here. One that was over before stays over.
func questionLeft(tx Tx, now time.Time, token string, seq int64, id channels.MessageID) error {
	w, ok, err := queryWait(tx, qWaitGet, token)
	if err != nil || !ok || seq != w.lastSeq {
		return err
	}
	_, err = tx.Exec(qWaitSent, token, ms(now), string(id), ms(now.Add(w.Timeout)))
	return wrap("starting question's clock", err)
}

// Retry puts an entry back, unless it is part of a question that was answered
// or ended while it was on its way: nobody needs to see that any more.
func (s *Store) Retry(ctx context.Context, e outbox.Entry, due time.Time, unknown bool, cause string) error {
	doubts := e.Doubts
	if unknown {
		doubts++
	}
	_, err := write(ctx, s, e.ChatKey, func(tx Tx, now time.Time) (none, error) {
		c, _, err := getChat(tx, e.ChatKey)
		if err != nil {
			return none{}, err
		}
		// Another process that sends may be at the entry.
		if other, err := s.foreign(tx, now, c.channel); err != nil || other {
			return none{}, err
		}
		var token string
		ok, err := tx.Row(`UPDATE outbox SET state='queued', next_at=?3, maybe=?4, error=?5, updated_at=?6 WHERE chat=?1 AND seq=?2 AND state='sending' RETURNING wait`,
			[]any{e.ChatKey, e.Seq, ms(due), doubts, cause, ms(now)}, &token)
		if err != nil || !ok || token == "" {
			return none{}, wrap("putting entry back", err)
		}
		w, ok, err := queryWait(tx, qWaitGet, token)
		if err != nil || !ok || w.State == confirm.Pending {
			return none{}, err
		}
		return none{}, withdraw(tx, now, w)
	})
	return err
}

// Failed ends an entry that won't be sent.
func (s *Store) Failed(ctx context.Context, e outbox.Entry, unknown bool, cause string) (outbox.Failure, error) {
	return write(ctx, s, e.ChatKey, func(tx Tx, now time.Time) (f outbox.Failure, err error) {
		if err := hold(tx, e.ChatKey, e.Seq); err != nil {
			return f, err
		}
		// As in Retry: another process's verdict counts.
		if other, err := s.foreign(tx, now, e.Channel); err != nil || other {
			return f, err
		}
		state := "failed"
		if unknown {
			state = "unknown"
		}
		var token string
		ok, err := tx.Row(`UPDATE outbox SET state=?3, error=?4, updated_at=?5 WHERE chat=?1 AND seq=?2 AND state IN `+openStates+` RETURNING wait`,
			[]any{e.ChatKey, e.Seq, state, cause, ms(now)}, &token)
		if err != nil {
			return f, fmt.Errorf("ending entry: %w", err)
		}
		if ok && token != "" && !unknown {
			if f, err = unasked(tx, now, token); err != nil {
				return f, err
			}
		}
		c, found, err := getChat(tx, e.ChatKey)
		if err != nil || !found {
			return f, err
		}
		if err := c.pass(tx); err != nil {
			return f, err
		}
		f.More = c.sentSeq < c.outSeq
		return f, c.save(tx)
	})
}

// unasked cancels the turn whose question can't be shown.
func unasked(tx Tx, now time.Time, token string) (outbox.Failure, error) {
	w, ok, err := queryWait(tx, qWaitGet, token)
	if err != nil || !ok || w.State != confirm.Pending {
		return outbox.Failure{}, err
	}
	l, _, err := endQuestion(tx, now, w, confirm.Expired, "undeliverable")
	return outbox.Failure{Lane: w.Lane, Ready: l.ready != 0, Tool: w.Tool}, err
}

// Chats lists chats with something to send, in key order.
func (s *Store) Chats(ctx context.Context, names []string, after string, limit int) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	args := []any{after, limit}
	in := make([]string, len(names))
	for i, n := range names {
		args = append(args, n)
		in[i] = fmt.Sprintf("?%d", i+3)
	}
	query := `SELECT key FROM chat WHERE sent_seq<out_seq AND key>?1 AND channel IN (` + strings.Join(in, ",") + `) ORDER BY key LIMIT ?2`
	return read(ctx, s, func(tx Tx, _ time.Time) (out []string, err error) {
		err = tx.Rows(query, args, func(scan func(...any) error) error {
			var key string
			err := scan(&key)
			out = append(out, key)
			return err
		})
		return out, wrap("listing chats", err)
	})
}

// Pending counts entries that wait to be sent.
func (s *Store) Pending(ctx context.Context) (int, error) {
	return read(ctx, s, func(tx Tx, _ time.Time) (n int, err error) {
		_, err = tx.Row(`SELECT coalesce(sum(out_seq-sent_seq),0) FROM chat WHERE sent_seq<out_seq`, nil, &n)
		return n, wrap("counting outbox", err)
	})
}
