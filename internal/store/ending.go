package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/dispatch"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/turn"
)

const (
	qTurnLines = `SELECT user_lines, seq_to FROM turn WHERE id=?1`
	qTurnBegun = `SELECT version, journal FROM turn WHERE id=?1`
	// What an unsafe tool was asked to do may have been done.
	qCallBegun = `SELECT tool FROM call WHERE turn=?1 AND state='started' AND effect NOT IN ('read','idempotent') ORDER BY id LIMIT 1`
	qTurnEnd   = `UPDATE turn SET state=?2, error=?3, journal=NULL, updated_at=?4 WHERE id=?1`
	qInboxHead = `SELECT payload FROM inbox WHERE lane=?1 AND seq=?2`
)

// cutTurn ends the turn of the lane from outside: the one that is saved, or
// else the head message that may be worked on right now. The fence makes
// whoever runs it lose. keep stores the person's lines as history, and the
// call that is under way as one of unknown outcome; begun is that call's title.
func cutTurn(tx Tx, now time.Time, l *lane, why string, keep bool) (had bool, begun string, err error) {
	var lines []string
	upTo := l.doneSeq
	switch {
	case l.turn != "":
		var saved []byte
		if _, err := tx.Row(qTurnLines, []any{l.turn}, &saved, &upTo); err != nil {
			return false, "", fmt.Errorf("reading turn: %w", err)
		}
		if err := json.Unmarshal(saved, &lines); err != nil {
			return false, "", fmt.Errorf("decoding turn: %w", err)
		}
		if begun, err = leftBegun(tx, now, l, keep); err != nil {
			return false, "", err
		}
		if err := endTurn(tx, now, l.turn, "cancelled", why); err != nil {
			return false, "", err
		}
	case l.inSeq > l.doneSeq:
		upTo = l.doneSeq + 1
		var payload []byte
		var in channels.Inbound
		if _, err := tx.Row(qInboxHead, []any{l.key, upTo}, &payload); err != nil {
			return false, "", fmt.Errorf("reading message: %w", err)
		}
		if err := json.Unmarshal(payload, &in); err != nil {
			return false, "", fmt.Errorf("decoding message: %w", err)
		}
		lines = []string{in.Text}
	default:
		return false, "", nil
	}
	l.turn, l.parked, l.attempt = "", false, 0
	l.fence++
	if err := dropDraft(tx, now, l.key); err != nil {
		return true, begun, err
	}
	if err := l.advance(tx, upTo); err != nil {
		return true, begun, err
	}
	if !keep {
		return true, begun, nil
	}
	return true, begun, addHistory(tx, now, l, userLines(lines))
}

// leftBegun finds the call of the lane's turn that is under way and may take
// effect, whatever becomes of the turn. keep lets the session remember it as
// one of unknown outcome (behaviour C1).
func leftBegun(tx Tx, now time.Time, l *lane, keep bool) (title string, err error) {
	found, err := tx.Row(qCallBegun, []any{l.turn}, &title)
	if err != nil || !found {
		return "", wrap("reading call under way", err)
	}
	var version int
	var journal []byte
	if _, err := tx.Row(qTurnBegun, []any{l.turn}, &version, &journal); err != nil {
		return "", fmt.Errorf("reading turn: %w", err)
	}
	b, ok := turn.BegunOf(version, journal, now)
	if !ok {
		return title, nil // of a turn that can't be read the tool's name is all there is
	}
	if keep && b.Remember {
		err = addRun(tx, l.key, b.Run)
	}
	return cmp.Or(b.Run.Title, title), err
}

// openQuestion is the pending question of the lane's turn.
func openQuestion(tx Tx, l lane) (waitRow, bool, error) {
	if l.turn == "" {
		return waitRow{}, false, nil
	}
	return queryWait(tx, qWaitOpen, l.turn)
}

// endQuestion ends a pending question without an answer, and its turn with it.
func endQuestion(tx Tx, now time.Time, w waitRow, state confirm.State, why string) (l lane, spoke bool, err error) {
	l, found, err := getLane(tx, w.Lane)
	if err != nil {
		return l, false, err
	}
	spoke, ok, err := endWait(tx, now, w, state, nil)
	if err != nil || !ok || !found {
		return l, spoke, err
	}
	if l.turn == w.Turn {
		if _, _, err := cutTurn(tx, now, &l, why, true); err != nil {
			return l, spoke, err
		}
		if err := l.save(tx, now, true); err != nil {
			return l, spoke, err
		}
	}
	return l, spoke, addEvent(tx, w.ChatKey, cancelled(now, w, why))
}

func cancelled(now time.Time, w waitRow, why string) audit.Event {
	return audit.Event{
		At: ms(now), Type: audit.ConfirmCancelled, Step: w.Step, Turn: w.Turn, Tool: w.Tool, CallID: w.CallID,
		ChatKey: w.Lane, Error: why, DurationMs: max(0, now.Sub(w.Created).Milliseconds()),
	}
}

// Expire is T9.
func (s *Store) Expire(ctx context.Context, limit int) ([]dispatch.Ended, time.Time, error) {
	type expired struct {
		ended []dispatch.Ended
		next  time.Time
	}
	peek, err := read(ctx, s, func(tx Tx, now time.Time) (e expired, err error) {
		e.next, err = nextExpiry(tx)
		return e, err
	})
	if err != nil || peek.next.IsZero() || peek.next.After(s.db.Now()) {
		return nil, peek.next, err
	}
	out, err := write(ctx, s, "", func(tx Tx, now time.Time) (e expired, err error) {
		due, err := dueWaits(tx, now, limit)
		if err != nil {
			return e, err
		}
		for _, w := range due {
			l, spoke, err := endQuestion(tx, now, w, confirm.Expired, "timeout")
			if err != nil {
				return e, err
			}
			e.ended = append(e.ended, dispatch.Ended{
				Lane: w.Lane, ChatKey: w.ChatKey, Channel: l.channel, Tool: w.Tool,
				More: l.ready != 0, Speak: spoke, Waited: resolved(w, "expired", now).Waited,
			})
		}
		e.next, err = nextExpiry(tx)
		return e, err
	})
	return out.ended, out.next, err
}

const qLaneHold = `SELECT key FROM lane WHERE key=?1 /*lock skip*/`

// dueWaits are questions that are over. Their lanes are locked, and then their
// chats; those whose lane somebody else writes to are left for the next time.
func dueWaits(tx Tx, now time.Time, limit int) (due []waitRow, err error) {
	seen, err := queryWaits(tx, qWaitDue, ms(now), limit)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(seen, func(a, b waitRow) int { return strings.Compare(a.Lane, b.Lane) })
	held := seen[:0]
	for _, w := range seen {
		var key string
		ok, err := tx.Row(qLaneHold, []any{w.Lane}, &key)
		if err != nil {
			return nil, fmt.Errorf("locking lane: %w", err)
		}
		if ok {
			held = append(held, w)
		}
	}
	slices.SortStableFunc(held, func(a, b waitRow) int { return strings.Compare(a.ChatKey, b.ChatKey) })
	for _, w := range held {
		if _, _, err := getChat(tx, w.ChatKey); err != nil {
			return nil, err
		}
	}
	// What was seen before the locks may be otherwise by now.
	for _, w := range held {
		w, ok, err := queryWait(tx, qWaitGet, w.Token)
		if err != nil {
			return nil, err
		}
		if ok && w.State == confirm.Pending && !w.Expires.After(now) {
			due = append(due, w)
		}
	}
	return due, nil
}

func nextExpiry(tx Tx) (time.Time, error) {
	var next *int64
	if _, err := tx.Row(qWaitNext, nil, &next); err != nil || next == nil {
		return time.Time{}, wrap("reading next expiry", err)
	}
	return fromMS(*next), nil
}

// Command carries out a chat command.
func (s *Store) Command(ctx context.Context, c inbox.Command) (inbox.Accepted, error) {
	return write(ctx, s, c.Place.Lane, func(tx Tx, now time.Time) (inbox.Accepted, error) {
		return command(tx, now, c)
	})
}

func command(tx Tx, now time.Time, c inbox.Command) (inbox.Accepted, error) {
	acc := inbox.Accepted{Outcome: inbox.Commanded, Lane: c.Place.Lane, Logged: true, Did: true}
	if fresh, err := remember(tx, now, c.DedupeKey); err != nil || !fresh {
		return inbox.Accepted{Outcome: inbox.Duplicate}, err
	}
	var l lane
	if c.Action != inbox.ActSay {
		var err error
		if l, err = needLane(tx, now, c.Place); err != nil {
			return acc, err
		}
	}
	if err := logUser(tx, now, c.Place, c.In); err != nil {
		return acc, err
	}
	begun := ""
	if c.Action != inbox.ActSay {
		var err error
		if begun, err = act(tx, now, c, &l, &acc); err != nil {
			return acc, err
		}
		if err := l.save(tx, now, true); err != nil {
			return acc, err
		}
		acc.Wake = l.ready != 0
	}
	parts := c.Say
	switch {
	case !acc.Did && c.SayNothing != nil:
		parts = c.SayNothing
	case begun != "" && c.SayBegun != nil:
		parts = c.SayBegun(begun)
	}
	acc.Speak = true
	_, err := say(tx, now, c.Place.Channel, c.Place.ChatKey, parts, saying{})
	return acc, err
}

// needLane reads a lane, which it makes where there is none: before its chat is
// touched, as it is locked.
func needLane(tx Tx, now time.Time, p inbox.Place) (lane, error) {
	l, found, err := getLane(tx, p.Lane)
	if err != nil || found {
		return l, err
	}
	l = lane{key: p.Lane, channel: p.Channel, chatKey: p.ChatKey}
	return l, l.save(tx, now, false)
}

// act is what the command does to the lane. begun is the title of a call that
// was under way, and may take effect yet.
func act(tx Tx, now time.Time, c inbox.Command, l *lane, acc *inbox.Accepted) (begun string, err error) {
	switch c.Action {
	case inbox.ActLang:
		l.lang = c.Lang
		return "", nil
	case inbox.ActReset:
		if err := supersede(tx, now, l, "reset", acc); err != nil {
			return "", err
		}
		_, begun, err := cutTurn(tx, now, l, "reset", false)
		if err != nil {
			return "", err
		}
		acc.Cut = true
		return begun, forget(tx, l)
	case inbox.ActCancel:
		if err := supersede(tx, now, l, "cancelled", acc); err != nil {
			return "", err
		}
		had, begun, err := cutTurn(tx, now, l, "cancelled", true)
		acc.Cut, acc.Did = had, had
		return begun, err
	default:
		return "", fmt.Errorf("unknown chat command action %q", c.Action)
	}
}

// supersede ends the question of the lane's turn, if it waits for one.
func supersede(tx Tx, now time.Time, l *lane, why string, acc *inbox.Accepted) error {
	w, ok, err := openQuestion(tx, *l)
	if err != nil || !ok {
		return err
	}
	if _, _, err := endWait(tx, now, w, confirm.Superseded, nil); err != nil {
		return err
	}
	acc.Resolved = resolved(w, "superseded", now)
	return addEvent(tx, w.ChatKey, cancelled(now, w, why))
}

// forget drops what the session knows: what waits, history, remembered runs.
// The fence moves even where no turn was found: one may just be starting.
func forget(tx Tx, l *lane) error {
	if _, err := tx.Exec(`DELETE FROM inbox WHERE lane=?1 AND seq>?2`, l.key, l.doneSeq); err != nil {
		return fmt.Errorf("dropping queue: %w", err)
	}
	l.doneSeq = l.inSeq
	l.over = false
	l.fence++
	if _, err := tx.Exec(`DELETE FROM history WHERE lane=?1`, l.key); err != nil {
		return fmt.Errorf("dropping history: %w", err)
	}
	_, err := tx.Exec(`DELETE FROM run WHERE lane=?1`, l.key)
	return wrap("dropping remembered runs", err)
}
