package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/outbox"
)

// Noter is a driver that can keep a line beside the database without a commit:
// it outlives the process, though not the machine. T8 leaves one, so that a
// process that is killed between a platform's receipt and the commit doesn't
// make the next one send again what is known to have been sent.
type Noter interface {
	// Note keeps a line, which has no line break, until drop.
	Note(line []byte) (drop func())
	// Noted are the lines that the process before left, until ForgetNoted.
	Noted() [][]byte
	ForgetNoted()
}

// receipt is the line that T8 leaves. An entry is named by its content too: its
// number may be another one's after the chat was forgotten.
type receipt struct {
	Chat   string             `json:"c"`
	Seq    int64              `json:"s"`
	Digest []byte             `json:"d"`
	ID     channels.MessageID `json:"i,omitempty"`
}

func digest(payload []byte) []byte {
	sum := sha256.Sum256(payload)
	return sum[:8]
}

// note keeps a receipt until its commit.
func (s *Store) note(e outbox.Entry, r channels.Receipt) (drop func()) {
	n, ok := s.db.(Noter)
	if !ok {
		return func() {}
	}
	part := e.Part
	part.Key = "" // the row has none
	payload, err := json.Marshal(part)
	if err != nil {
		return func() {}
	}
	line, err := json.Marshal(receipt{Chat: e.ChatKey, Seq: e.Seq, Digest: digest(payload), ID: r.ID})
	if err != nil {
		return func() {}
	}
	return n.Note(line)
}

// Receipts commits what the process before knew to be sent and didn't live to
// commit. It must come before anything is sent. sent counts the entries.
func (s *Store) Receipts(ctx context.Context) (sent int, err error) {
	n, ok := s.db.(Noter)
	if !ok {
		return 0, nil
	}
	for _, line := range n.Noted() {
		var r receipt
		if err := json.Unmarshal(line, &r); err != nil {
			continue // cut short, or not ours
		}
		did, err := write(ctx, s, r.Chat, func(tx Tx, now time.Time) (bool, error) { return late(tx, now, r) })
		if err != nil {
			return sent, fmt.Errorf("committing what was sent before: %w", err)
		}
		if did {
			sent++
		}
	}
	n.ForgetNoted()
	return sent, nil
}

// late is T8 for an entry that is still marked as sending.
func late(tx Tx, now time.Time, r receipt) (bool, error) {
	c, found, err := getChat(tx, r.Chat)
	if err != nil || !found {
		return false, err
	}
	e := outbox.Entry{ChatKey: r.Chat, Channel: c.channel, Seq: r.Seq}
	var payload []byte
	var editOf, nextAt, created int64
	var token, state string
	found, err = tx.Row(qOutGet, []any{r.Chat, r.Seq}, (*string)(&e.Kind), &payload, &editOf, &token, &state, &e.Attempts, &e.Doubts, &nextAt, &created)
	if err != nil || !found || state != "sending" || !bytes.Equal(digest(payload), r.Digest) {
		return false, wrap("reading entry", err)
	}
	if err := json.Unmarshal(payload, &e.Part); err != nil {
		return false, fmt.Errorf("decoding entry %d of chat: %w", e.Seq, err)
	}
	if editOf != 0 {
		if _, err := tx.Row(qOutTarget, []any{r.Chat, editOf}, (*string)(&e.Target)); err != nil {
			return false, fmt.Errorf("reading edited entry: %w", err)
		}
	}
	if err := c.sent(tx, now, e, r.ID); err != nil {
		return false, err
	}
	return true, c.save(tx)
}
