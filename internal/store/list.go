package store

import (
	"context"
	"time"

	"github.com/parley-bot/parley/channels"
)

// ChatRow is one lane, for people.
type ChatRow struct {
	Lane    string    `json:"lane"`
	Channel string    `json:"channel"`
	Lang    string    `json:"lang,omitempty"`
	Turns   int64     `json:"turns"`
	Queued  int64     `json:"queued"`
	State   string    `json:"state"` // idle, working, waiting
	Since   time.Time `json:"since,omitzero"`
	// Interrupted counts how often work on its head was cut short.
	Interrupted int `json:"interrupted,omitempty"`
	// Failed is the error of its last turn, where that failed.
	Failed string `json:"failed,omitempty"`
}

// ListChats lists lanes in key order, behind after. One that holds nothing is
// left out: of a forgotten chat the counters stay, and the edit that took a
// question's buttons away, without its text.
func (s *Store) ListChats(ctx context.Context, after string, limit int) ([]ChatRow, error) {
	return list(ctx, s, `SELECT l.key, l.channel, l.lang, l.turns, l.in_seq-l.done_seq, l.parked, coalesce(l.ready_at,0), l.head_attempt,
 l.error
 FROM lane l WHERE l.key>?1 AND (l.turns>0 OR l.turn<>'' OR l.lang<>'' OR l.error<>'' OR l.in_seq>l.done_seq OR l.ready_at IS NOT NULL
 OR EXISTS (SELECT 1 FROM log g WHERE g.chat=l.chat_key AND g.text<>'')) ORDER BY l.key LIMIT ?2`, []any{after, limit}, func(scan func(...any) error) (r ChatRow, err error) {
		var parked bool
		var ready int64
		err = scan(&r.Lane, &r.Channel, &r.Lang, &r.Turns, &r.Queued, &parked, &ready, &r.Interrupted, &r.Failed)
		r.Since = fromMS(ready)
		switch {
		case parked:
			r.State = "waiting"
		case ready != 0:
			r.State = "working"
		default:
			r.State = "idle"
		}
		return r, err
	})
}

// QuestionRow is one question, for people.
type QuestionRow struct {
	Token     string          `json:"token"`
	Lane      string          `json:"lane"`
	Tool      string          `json:"tool"`
	CallID    string          `json:"call_id"`
	Requester channels.UserID `json:"requester"`
	State     string          `json:"state"`
	Asked     time.Time       `json:"asked"`
	Delivered time.Time       `json:"delivered,omitzero"`
	Expires   time.Time       `json:"expires,omitzero"`
	Outcome   string          `json:"outcome,omitempty"`
	By        channels.UserID `json:"by,omitempty"`
}

// ListQuestions lists the newest questions; all false: only those pending.
func (s *Store) ListQuestions(ctx context.Context, all bool, limit int) ([]QuestionRow, error) {
	query := `SELECT ` + waitColumns + ` FROM wait WHERE state='pending' ORDER BY created_at DESC, token LIMIT ?1`
	if all {
		query = `SELECT ` + waitColumns + ` FROM wait ORDER BY created_at DESC, token LIMIT ?1`
	}
	return list(ctx, s, query, []any{limit}, func(scan func(...any) error) (r QuestionRow, err error) {
		w, err := scanWait(scan)
		if err != nil {
			return r, err
		}
		r = QuestionRow{
			Token: w.Token, Lane: w.Lane, Tool: w.Tool, CallID: w.CallID, Requester: w.Requester, State: string(w.State),
			Asked: w.Created, Delivered: w.Delivered, Expires: w.Expires,
		}
		if w.Answer != nil {
			r.Outcome, r.By = string(w.Answer.Outcome), w.Answer.By
		}
		return r, nil
	})
}

// EntryRow is one entry of the outbox, for people.
type EntryRow struct {
	Chat     string    `json:"chat"`
	Seq      int64     `json:"seq"`
	Channel  string    `json:"channel"`
	Kind     string    `json:"kind"`
	State    string    `json:"state"`
	Attempts int       `json:"attempts"`
	Created  time.Time `json:"created"`
	Due      time.Time `json:"due,omitzero"`
	Error    string    `json:"error,omitempty"`
}

// ListOutbox lists entries that wait, and with dead those that were given up.
func (s *Store) ListOutbox(ctx context.Context, dead bool, limit int) ([]EntryRow, error) {
	states := openStates
	if dead {
		states = `('queued','sending','failed','unknown')`
	}
	return list(ctx, s, `SELECT o.chat, o.seq, c.channel, o.kind, o.state, o.attempts, o.created_at, o.next_at, o.error
 FROM outbox o JOIN chat c ON c.key=o.chat WHERE o.state IN `+states+` ORDER BY o.created_at DESC, o.chat, o.seq LIMIT ?1`, []any{limit},
		func(scan func(...any) error) (r EntryRow, err error) {
			var created, due int64
			err = scan(&r.Chat, &r.Seq, &r.Channel, &r.Kind, &r.State, &r.Attempts, &created, &due, &r.Error)
			r.Created, r.Due = fromMS(created), fromMS(due)
			return r, err
		})
}

// Idle tells whether a private chat has neither work nor anything to be said.
func (s *Store) Idle(ctx context.Context, chatKey string) (bool, error) {
	return read(ctx, s, func(tx Tx, _ time.Time) (bool, error) {
		var busy int
		_, err := tx.Row(`SELECT (SELECT count(*) FROM lane WHERE chat_key=?1 AND key=?1 AND ready_at IS NOT NULL)
 + (SELECT count(*) FROM chat WHERE key=?1 AND sent_seq<out_seq)`, []any{chatKey}, &busy)
		return busy == 0, wrap("looking whether chat is idle", err)
	})
}

func list[T any](ctx context.Context, s *Store, query string, args []any, one func(scan func(...any) error) (T, error)) ([]T, error) {
	return read(ctx, s, func(tx Tx, _ time.Time) (out []T, err error) {
		err = tx.Rows(query, args, func(scan func(...any) error) error {
			row, err := one(scan)
			out = append(out, row)
			return err
		})
		return out, wrap("listing", err)
	})
}
