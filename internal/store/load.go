package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/lease"
	"github.com/parley-bot/parley/internal/ledger"
	"github.com/parley-bot/parley/internal/turn"
)

// Load is T2. It only reads: that a turn has begun is known from its first
// step.
func (s *Store) Load(ctx context.Context, l lease.Lane, historyMax int) (turn.Work, error) {
	return read(ctx, s, func(tx Tx, now time.Time) (turn.Work, error) {
		return load(tx, now, l, historyMax)
	})
}

func load(tx Tx, now time.Time, l lease.Lane, historyMax int) (w turn.Work, err error) {
	row, err := ownLane(tx, l)
	if err != nil {
		return w, err
	}
	w = turn.Work{Channel: row.channel, ChatKey: row.chatKey, Lang: row.lang}
	behind, limit := row.doneSeq, 1
	if row.turn != "" {
		if w.Saved, err = savedTurn(tx, row); err != nil {
			return w, err
		}
		behind = w.Saved.SeqTo
		if wt := w.Saved.Wait; wt != nil && wt.Answer != nil && wt.Answer.Outcome == confirm.Replied {
			limit = 50
		}
	}
	if w.Queue, err = queuedAfter(tx, row.key, behind, limit); err != nil {
		return w, err
	}
	if row.turns > 0 {
		if w.History, err = history(tx, row.key, historyMax); err != nil {
			return w, err
		}
	}
	if row.turn == "" && len(w.Queue) > 0 {
		d, ok, err := getDraft(tx, row.key)
		if err != nil {
			return w, err
		}
		if ok && d.seq == w.Queue[0].Seq {
			have := drafted(d)
			w.Draft = &have
		}
	}
	w.Runs, err = runs(tx, row.key, now)
	return w, err
}

const (
	qTurnGet = `SELECT seq_from, seq_to, version, journal FROM turn WHERE id=?1`
	qCalls   = `SELECT id, state, effect FROM call WHERE turn=?1 AND state IN ('proposed','started') ORDER BY id`
)

func savedTurn(tx Tx, row lane) (*turn.Saved, error) {
	t := &turn.Saved{ID: row.turn}
	ok, err := tx.Row(qTurnGet, []any{row.turn}, &t.SeqFrom, &t.SeqTo, &t.Version, (*[]byte)(&t.Journal))
	if err != nil {
		return nil, fmt.Errorf("reading turn %s: %w", row.turn, err)
	}
	if !ok {
		return nil, fmt.Errorf("turn %s of lane %s is not there", row.turn, row.key)
	}
	if t.Input, err = savedInput(tx, row.key, t.SeqFrom); err != nil {
		return nil, err
	}
	err = tx.Rows(qCalls, []any{row.turn}, func(scan func(...any) error) error {
		var c turn.CallState
		err := scan(&c.ID, &c.State, (*string)(&c.Effect))
		t.Calls = append(t.Calls, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading calls: %w", err)
	}
	w, ok, err := queryWait(tx, qWaitTurn, row.turn)
	if err != nil {
		return nil, err
	}
	if ok {
		t.Wait = &w.Saved
	}
	return t, nil
}

const (
	qHistAdd  = `INSERT INTO history(lane, n, lines, at) VALUES(?1, ?2, ?3, ?4)`
	qHistRead = `SELECT n, lines FROM history WHERE lane=?1 ORDER BY n DESC LIMIT ?2`
)

// addHistory adds one turn's lines, as a JSON array of strings that start with
// the first letter of their role.
func addHistory(tx Tx, now time.Time, l *lane, lines []turn.Line) error {
	if len(lines) == 0 {
		return nil
	}
	saved := make([]string, len(lines))
	for i, line := range lines {
		saved[i] = line.Role[:1] + line.Text
	}
	b, err := json.Marshal(saved)
	if err != nil {
		return fmt.Errorf("encoding history: %w", err)
	}
	l.turns++
	_, err = tx.Exec(qHistAdd, l.key, l.turns, b, ms(now))
	return wrap("writing history", err)
}

// history reads the newest turns, oldest first: whole ones, until they have
// limit lines together.
func history(tx Tx, key string, limit int) ([]turn.Line, error) {
	var newest [][]turn.Line
	total := 0
	err := tx.Rows(qHistRead, []any{key, limit}, func(scan func(...any) error) error {
		var n int64
		var b []byte
		if err := scan(&n, &b); err != nil {
			return err
		}
		lines, err := historyLines(n, b)
		if err != nil {
			return err
		}
		newest = append(newest, lines)
		if total += len(lines); total >= limit {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("reading history: %w", err)
	}
	out := make([]turn.Line, 0, total)
	for _, lines := range slices.Backward(newest) {
		out = append(out, lines...)
	}
	return out, nil
}

func historyLines(n int64, b []byte) ([]turn.Line, error) {
	var saved []string
	if err := json.Unmarshal(b, &saved); err != nil {
		return nil, err
	}
	lines := make([]turn.Line, 0, len(saved))
	for _, s := range saved {
		role, text := "user", ""
		if s != "" {
			text = s[1:]
			if s[0] == 'a' {
				role = "assistant"
			}
		}
		lines = append(lines, turn.Line{Turn: n, Role: role, Text: text})
	}
	return lines, nil
}

const (
	qRunAdd  = `INSERT INTO run(lane, call, spec, ended_at, keep_until) VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT(lane, call) DO NOTHING`
	qRunRead = `SELECT spec FROM run WHERE lane=?1 AND keep_until>?2 ORDER BY ended_at DESC, call DESC LIMIT 50`
)

func addRun(tx Tx, lane string, r ledger.Run) error {
	spec, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding run: %w", err)
	}
	_, err = tx.Exec(qRunAdd, lane, r.CallID, spec, ms(r.EndedAt), ms(r.KeepUntil))
	return wrap("remembering run", err)
}

func runs(tx Tx, lane string, now time.Time) (out []ledger.Run, err error) {
	err = tx.Rows(qRunRead, []any{lane, ms(now)}, func(scan func(...any) error) error {
		var spec []byte
		if err := scan(&spec); err != nil {
			return err
		}
		var r ledger.Run
		if err := json.Unmarshal(spec, &r); err != nil {
			return err
		}
		out = append(out, r)
		return nil
	})
	return out, wrap("reading remembered runs", err)
}
