package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/outbox"
	"github.com/parley-bot/parley/internal/turn"
)

// saying tells say about the entries it makes.
type saying struct {
	own    bool   // this process sends for the channel
	editOf int64  // the entries are edits of that one
	finish int64  // the first takes the place of that one, a draft
	wait   string // token of the question that the parts ask
}

const (
	qChatSay = `INSERT INTO chat(key, channel, out_seq, sent_seq, log_n) VALUES(?1, ?2, ?3, 0, 0)
 ON CONFLICT(key) DO UPDATE SET out_seq=chat.out_seq+?3 RETURNING out_seq, sent_seq`
	qOutInsert = `INSERT INTO outbox(chat, seq, kind, payload, edit_of, wait, state, attempts, maybe, next_at, platform_id, created_at, updated_at, error)
 VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, '', ?10, ?10, '')`
)

// say adds parts to the chat's outbox. The first is born sending where the
// caller's process sends for the channel and nothing else waits there: the
// sender then has it without another commit.
func say(tx Tx, now time.Time, channel, chatKey string, parts []channels.Part, how saying) (turn.Spoke, error) {
	if len(parts) == 0 {
		return turn.Spoke{}, nil
	}
	var last, sent int64
	if _, err := tx.Row(qChatSay, []any{chatKey, channel, len(parts)}, &last, &sent); err != nil {
		return turn.Spoke{}, fmt.Errorf("numbering what is said: %w", err)
	}
	first := last - int64(len(parts)) + 1
	// What takes a draft's place is found in the store, with the draft's id.
	spoke := turn.Spoke{Seq: first, Born: how.own && sent == first-1 && how.finish == 0}
	for i, p := range parts {
		seq := first + int64(i)
		kind, of := outbox.Send, how.editOf
		switch {
		case of != 0:
			kind = outbox.Edit
		case i == 0 && how.finish != 0:
			kind, of = outbox.Finish, how.finish
		}
		payload, err := json.Marshal(p)
		if err != nil {
			return spoke, fmt.Errorf("encoding what is said: %w", err)
		}
		state, attempts := "queued", 0
		if i == 0 && spoke.Born {
			state, attempts = "sending", 1
		}
		if _, err := tx.Exec(qOutInsert, chatKey, seq, string(kind), payload, of, how.wait, state, attempts, 0, ms(now)); err != nil {
			return spoke, fmt.Errorf("queueing what is said: %w", err)
		}
	}
	return spoke, nil
}

const (
	qLogNext   = `INSERT INTO chat(key, channel, out_seq, sent_seq, log_n) VALUES(?1, ?2, 0, 0, 1) ON CONFLICT(key) DO UPDATE SET log_n=chat.log_n+1 RETURNING log_n`
	qLogInsert = `INSERT INTO log(chat, n, id, author, text, buttons, edit_of, at) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`
	qLogRead   = `SELECT n, id, author, text, buttons, edit_of, at FROM log WHERE chat=?1 AND n>?2 ORDER BY n LIMIT ?3`
)

// logUser writes what a person said to the chat's log.
func logUser(tx Tx, now time.Time, p inbox.Place, in channels.Inbound) error {
	var n int64
	if _, err := tx.Row(qLogNext, []any{p.ChatKey, p.Channel}, &n); err != nil {
		return fmt.Errorf("numbering log: %w", err)
	}
	return logEntry(tx, now, p.ChatKey, channels.LogEntry{N: n, ID: in.ID, From: channels.FromUser, Text: in.Text})
}

func logEntry(tx Tx, now time.Time, chatKey string, e channels.LogEntry) error {
	var buttons []byte
	if len(e.Buttons) > 0 {
		var err error
		if buttons, err = json.Marshal(e.Buttons); err != nil {
			return fmt.Errorf("encoding buttons: %w", err)
		}
	}
	_, err := tx.Exec(qLogInsert, chatKey, e.N, string(e.ID), e.From, e.Text, buttons, string(e.EditOf), ms(now))
	return wrap("writing log", err)
}

// Log reads a chat's log: entries with N > after, limit at the most.
func (s *Store) Log(ctx context.Context, chatKey string, after int64, limit int) ([]channels.LogEntry, error) {
	return read(ctx, s, func(tx Tx, _ time.Time) (out []channels.LogEntry, err error) {
		err = tx.Rows(qLogRead, []any{chatKey, after, limit}, func(scan func(...any) error) error {
			var e channels.LogEntry
			var buttons []byte
			var at int64
			if err := scan(&e.N, (*string)(&e.ID), &e.From, &e.Text, &buttons, (*string)(&e.EditOf), &at); err != nil {
				return err
			}
			if len(buttons) > 0 {
				if err := json.Unmarshal(buttons, &e.Buttons); err != nil {
					return err
				}
			}
			e.At = fromMS(at)
			out = append(out, e)
			return nil
		})
		return out, wrap("reading log", err)
	})
}
