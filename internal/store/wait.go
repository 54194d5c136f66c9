package store

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/inbox"
)

// undeliverable is how long a question may take to leave (behaviour B27).
const undeliverable = time.Hour

const (
	waitColumns = `spec, state, first_seq, last_seq, delivered_at, expires_at, created_at, message_id, answer`
	qWaitGet    = `SELECT ` + waitColumns + ` FROM wait WHERE token=?1`
	qWaitChat   = `SELECT ` + waitColumns + ` FROM wait WHERE chat_key=?1 AND state='pending' ORDER BY created_at, token`
	qWaitTurn   = `SELECT ` + waitColumns + ` FROM wait WHERE turn=?1 AND state<>'pending' ORDER BY last_seq DESC LIMIT 1`
	qWaitOpen   = `SELECT ` + waitColumns + ` FROM wait WHERE turn=?1 AND state='pending'`
	qWaitDue    = `SELECT ` + waitColumns + ` FROM wait WHERE state='pending' AND expires_at<=?1 ORDER BY expires_at LIMIT ?2`
	// Of a question these never change.
	qWaitPlace  = `SELECT lane, chat_key FROM wait WHERE token=?1`
	qWaitLanes  = `SELECT lane FROM wait WHERE chat_key=?1 AND state='pending'`
	qWaitNext   = `SELECT min(expires_at) FROM wait WHERE state='pending'`
	qWaitInsert = `INSERT INTO wait(token, lane, chat_key, turn, state, spec, first_seq, last_seq, delivered_at, expires_at, created_at, message_id, answer)
 VALUES(?1, ?2, ?3, ?4, 'pending', ?5, ?6, ?7, 0, ?8, ?9, '', NULL)`
	qWaitEnd  = `UPDATE wait SET state=?2, answer=?3, ended_at=?4 WHERE token=?1 AND state='pending'`
	qWaitSent = `UPDATE wait SET delivered_at=?2, message_id=?3, expires_at=?4 WHERE token=?1 AND state='pending' AND expires_at>?2`
)

// waitRow is a wait with its place in the outbox.
type waitRow struct {
	confirm.Saved
	firstSeq, lastSeq int64
}

func scanWait(scan func(...any) error) (w waitRow, err error) {
	var spec, answer []byte
	var state string
	var delivered, expires, created int64
	if err := scan(&spec, &state, &w.firstSeq, &w.lastSeq, &delivered, &expires, &created, (*string)(&w.MessageID), &answer); err != nil {
		return w, err
	}
	if err := json.Unmarshal(spec, &w.Wait); err != nil {
		return w, fmt.Errorf("decoding question: %w", err)
	}
	if len(answer) > 0 {
		w.Answer = new(confirm.Answer)
		if err := json.Unmarshal(answer, w.Answer); err != nil {
			return w, fmt.Errorf("decoding answer: %w", err)
		}
	}
	w.State = confirm.State(state)
	w.Delivered, w.Expires, w.Created = fromMS(delivered), fromMS(expires), fromMS(created)
	return w, nil
}

func queryWaits(tx Tx, query string, args ...any) (out []waitRow, err error) {
	err = tx.Rows(query, args, func(scan func(...any) error) error {
		w, err := scanWait(scan)
		if err != nil {
			return err
		}
		out = append(out, w)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading questions: %w", err)
	}
	return out, nil
}

func queryWait(tx Tx, query string, args ...any) (waitRow, bool, error) {
	rows, err := queryWaits(tx, query, args...)
	if err != nil || len(rows) == 0 {
		return waitRow{}, false, err
	}
	return rows[0], true, nil
}

func getWait(tx Tx, token string) (confirm.Saved, bool, error) {
	w, ok, err := queryWait(tx, qWaitGet, token)
	return w.Saved, ok, err
}

func pendingWaits(tx Tx, chatKey string) ([]confirm.Saved, error) {
	rows, err := queryWaits(tx, qWaitChat, chatKey)
	out := make([]confirm.Saved, len(rows))
	for i, w := range rows {
		out[i] = w.Saved
	}
	return out, err
}

// park saves the question that the lane now waits for.
func park(tx Tx, now time.Time, w *confirm.Wait, first, last int64) error {
	spec, err := json.Marshal(w)
	if err != nil {
		return fmt.Errorf("encoding question: %w", err)
	}
	_, err = tx.Exec(qWaitInsert, w.Token, w.Lane, w.ChatKey, w.Turn, spec, first, last, ms(now.Add(undeliverable)), ms(now))
	if err != nil {
		return fmt.Errorf("saving question: %w", err)
	}
	return nil
}

// endWait takes the question from pending to state; false where somebody else
// did before. It withdraws what wasn't sent, or edits it. The question's lane
// is locked already.
func endWait(tx Tx, now time.Time, w waitRow, state confirm.State, ans *confirm.Answer) (spoke, ok bool, err error) {
	var saved []byte
	value := ""
	if ans != nil {
		saved, value = confirm.MarshalAnswer(*ans), ans.Value()
	}
	if _, _, err := getChat(tx, w.ChatKey); err != nil {
		return false, false, err
	}
	n, err := tx.Exec(qWaitEnd, w.Token, string(state), saved, ms(now))
	if err != nil || n == 0 {
		return false, false, wrap("ending question", err)
	}
	spoke, err = closeQuestion(tx, now, w, value)
	return spoke, true, err
}

// resolve is the one transaction that lets an answer count (T0′). It needs no
// lease: it changes the wait and unparks the lane, and whoever claims the lane
// next sees it.
func resolve(tx Tx, now time.Time, saved confirm.Saved, ans confirm.Answer) (inbox.Accepted, error) {
	acc := inbox.Accepted{Outcome: inbox.AnsweredQuestion}
	l, found, err := getLane(tx, saved.Lane)
	if err != nil {
		return acc, err
	}
	w, ok, err := queryWait(tx, qWaitGet, saved.Token)
	if err != nil || !ok {
		return acc, err
	}
	spoke, ok, err := endWait(tx, now, w, confirm.Answered, &ans)
	if err != nil {
		return acc, err
	}
	if !ok {
		return inbox.Accepted{Outcome: inbox.Stale}, nil
	}
	if found && l.turn == w.Turn {
		l.parked = false
		if err := l.save(tx, now, true); err != nil {
			return acc, err
		}
	}
	acc.Wake, acc.Lane, acc.Speak = true, w.Lane, spoke
	acc.Resolved = resolved(w, string(ans.Outcome), now)
	return acc, addEvent(tx, w.ChatKey, audit.Event{
		At: ms(now), Type: eventOf(ans.Outcome), Step: w.Step, Turn: w.Turn, Tool: w.Tool, CallID: w.CallID,
		ChatKey: w.Lane, Actor: string(ans.By), DurationMs: max(0, now.Sub(w.Created).Milliseconds()),
	})
}

func eventOf(o confirm.Outcome) string {
	switch o {
	case confirm.Approved:
		return audit.ConfirmApproved
	case confirm.Denied:
		return audit.ConfirmDenied
	case confirm.Replied:
		return audit.ConfirmReplied
	default:
		return audit.ConfirmCancelled
	}
}

func resolved(w waitRow, outcome string, now time.Time) *inbox.Resolved {
	since := w.Delivered
	if since.IsZero() {
		since = w.Created
	}
	return &inbox.Resolved{Tool: w.Tool, Outcome: outcome, Waited: max(0, now.Sub(since))}
}

// closeQuestion withdraws the parts of a question that have not left, and
// edits the last one where it has and the channel can.
func closeQuestion(tx Tx, now time.Time, w waitRow, value string) (spoke bool, err error) {
	if err := withdraw(tx, now, w); err != nil {
		return false, err
	}
	if w.Closing == nil {
		return true, nil
	}
	var state string
	ok, err := tx.Row(`SELECT state FROM outbox WHERE chat=?1 AND seq=?2`, []any{w.ChatKey, w.lastSeq}, &state)
	if err != nil || !ok {
		return true, wrap("reading question's entry", err)
	}
	if state != "sending" && state != "sent" {
		return true, nil // there is nothing to edit, or no telling what
	}
	l, _, err := getLane(tx, w.Lane)
	if err != nil {
		return true, err
	}
	part := channels.Part{
		Chat: w.Chat, Text: w.Closing.ClosedText(value), Markup: w.Closing.Markup, Plain: w.Closing.ClosedPlain(value),
	}
	_, err = say(tx, now, l.channel, w.ChatKey, []channels.Part{part}, saying{editOf: w.lastSeq})
	return true, err
}

// withdraw takes back what of a question hasn't left.
func withdraw(tx Tx, now time.Time, w waitRow) error {
	if _, err := tx.Exec(`UPDATE outbox SET state='withdrawn', payload=NULL, updated_at=?4 WHERE chat=?1 AND seq BETWEEN ?2 AND ?3 AND state='queued'`,
		w.ChatKey, w.firstSeq, w.lastSeq, ms(now)); err != nil {
		return fmt.Errorf("withdrawing question: %w", err)
	}
	return skipEnded(tx, w.ChatKey)
}

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
