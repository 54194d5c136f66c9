package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/lease"
	"github.com/parley-bot/parley/internal/turn"
)

const (
	qTurnInsert = `INSERT INTO turn(id, lane, seq_from, seq_to, state, version, journal, user_lines, created_at, updated_at, error)
 VALUES(?1, ?2, ?3, ?4, 'running', ?5, ?6, ?7, ?8, ?8, '')`
	qTurnSave   = `UPDATE turn SET version=?2, journal=?3, user_lines=?4, updated_at=?5 WHERE id=?1`
	qTurnJrnl   = `UPDATE turn SET version=?2, journal=?3, updated_at=?4 WHERE id=?1`
	qCallInsert = `INSERT INTO call(id, turn, tool, args, effect, state, fence, started_at, ended_at, result) VALUES(?1, ?2, ?3, ?4, ?5, 'proposed', ?6, 0, 0, NULL)`
	qCallStart  = `UPDATE call SET state='started', fence=?3, started_at=?4 WHERE id=?1 AND turn=?2 AND state IN ('proposed','started')`
	qCallEnd    = `UPDATE call SET state=?3, result=?4, ended_at=?5 WHERE id=?1 AND turn=?2`
	// A call whose turn ends while it runs may have taken effect.
	qCallsEnd = `UPDATE call SET state=CASE state WHEN 'started' THEN 'unknown' ELSE 'failed' END, ended_at=?2 WHERE turn=?1 AND state IN ('proposed','started')`
)

// Step is T3.
func (s *Store) Step(ctx context.Context, l lease.Lane, st turn.Step) (turn.Stepped, error) {
	out, err := write(ctx, s, l.Key, func(tx Tx, now time.Time) (turn.Stepped, error) {
		return step(tx, now, l, st, s.db.Owner() != "")
	})
	if err == nil && st.Wait != nil && len(out.Texts) == 0 {
		s.claims.drop(l.Key) // parked: nobody works on the lane
	}
	return out, err
}

func step(tx Tx, now time.Time, l lease.Lane, st turn.Step, leased bool) (out turn.Stepped, err error) {
	row, err := ownLane(tx, l)
	if err != nil {
		return out, err
	}
	row.give = leased && st.Wait != nil
	if st.Wait != nil {
		texts, err := said(tx, row, st)
		if err != nil || len(texts) > 0 {
			return turn.Stepped{Texts: texts}, err
		}
	}
	if err := saveTurn(tx, now, &row, st); err != nil {
		return out, err
	}
	for _, c := range st.Calls {
		if _, err := tx.Exec(qCallInsert, c.ID, st.TurnID, c.Tool, []byte(c.Args), string(c.Effect), l.Fence); err != nil {
			return out, fmt.Errorf("saving call: %w", err)
		}
	}
	if st.Started != "" {
		if err := startCall(tx, now, l, st.TurnID, st.Started); err != nil {
			return out, err
		}
	}
	if err := take(tx, row.key, st.TurnID, st.Take); err != nil {
		return out, err
	}
	row.attempt = 0
	if st.Wait != nil {
		if out.Spoke, err = ask(tx, now, &row, st); err != nil {
			return out, err
		}
	}
	if err := addEvents(tx, row.chatKey, st.Events); err != nil {
		return out, err
	}
	return out, row.save(tx, now, true)
}

func saveTurn(tx Tx, now time.Time, row *lane, st turn.Step) error {
	lines, err := json.Marshal(st.UserLines)
	if err != nil {
		return fmt.Errorf("encoding turn: %w", err)
	}
	if row.turn == st.TurnID {
		_, err = tx.Exec(qTurnSave, st.TurnID, st.Version, []byte(st.Journal), lines, ms(now))
		return wrap("saving turn", err)
	}
	if row.turn != "" {
		return lease.ErrLost
	}
	row.turn = st.TurnID
	_, err = tx.Exec(qTurnInsert, st.TurnID, row.key, st.SeqFrom, st.SeqTo, st.Version, []byte(st.Journal), lines, ms(now))
	return wrap("saving new turn", err)
}

// ask parks the lane on the question that is the last of what is said.
func ask(tx Tx, now time.Time, row *lane, st turn.Step) (turn.Spoke, error) {
	spoke, err := say(tx, now, row.channel, row.chatKey, st.Say, saying{own: st.Own, wait: st.Wait.Token})
	if err != nil {
		return spoke, err
	}
	row.parked = true
	row.fence++ // whoever asked has given the lane back
	if len(st.Say) == 1 {
		spoke.Asks = st.Wait.Timeout
	}
	return spoke, park(tx, now, st.Wait, spoke.Seq, spoke.Seq+int64(len(st.Say))-1)
}

// said finds the requester's texts that wait behind the turn: they were
// written before the question could be seen, so they come instead of it.
func said(tx Tx, row lane, st turn.Step) ([]turn.Input, error) {
	queued, err := queuedAfter(tx, row.key, st.SeqTo, 50)
	if err != nil {
		return nil, err
	}
	taken := map[int64]bool{}
	for _, seq := range st.Take {
		taken[seq] = true
	}
	var out []turn.Input
	for _, in := range queued {
		if in.In.From.ID == st.Wait.Requester && in.In.Text != "" && !taken[in.Seq] {
			out = append(out, in)
		}
	}
	return out, nil
}

const qInboxQueue = `SELECT seq, payload FROM inbox WHERE lane=?1 AND seq>?2 AND taken_by='' ORDER BY seq LIMIT ?3`

func queuedAfter(tx Tx, lane string, seq int64, limit int) (out []turn.Input, err error) {
	err = tx.Rows(qInboxQueue, []any{lane, seq, limit}, func(scan func(...any) error) error {
		var in turn.Input
		var payload []byte
		if err := scan(&in.Seq, &payload); err != nil {
			return err
		}
		if err := json.Unmarshal(payload, &in.In); err != nil {
			return fmt.Errorf("decoding message %d: %w", in.Seq, err)
		}
		out = append(out, in)
		return nil
	})
	return out, wrap("reading queue", err)
}

// Start is T4.
func (s *Store) Start(ctx context.Context, l lease.Lane, st turn.Start) error {
	_, err := write(ctx, s, l.Key, func(tx Tx, now time.Time) (none, error) {
		row, err := ownTurn(tx, now, l, st.TurnID, st.Version, st.Journal)
		if err != nil {
			return none{}, err
		}
		if err := startCall(tx, now, l, st.TurnID, st.CallID); err != nil {
			return none{}, err
		}
		return none{}, addEvents(tx, row.chatKey, st.Events)
	})
	return err
}

// startCall saves the intent to make a call. One that isn't open must not be
// made.
func startCall(tx Tx, now time.Time, l lease.Lane, turnID, callID string) error {
	n, err := tx.Exec(qCallStart, callID, turnID, l.Fence, ms(now))
	if err == nil && n == 0 {
		err = fmt.Errorf("call %s is not an open one", callID)
	}
	return wrap("starting call", err)
}

// ownTurn checks the lease, saves the journal and sets the attempts back.
func ownTurn(tx Tx, now time.Time, l lease.Lane, id string, version int, journal json.RawMessage) (lane, error) {
	row, err := ownLane(tx, l)
	if err != nil {
		return row, err
	}
	if row.turn != id {
		return row, lease.ErrLost
	}
	if _, err := tx.Exec(qTurnJrnl, id, version, []byte(journal), ms(now)); err != nil {
		return row, fmt.Errorf("saving turn: %w", err)
	}
	if row.attempt != 0 {
		row.attempt = 0
		return row, row.save(tx, now, true)
	}
	return row, nil
}

// Result is T5.
func (s *Store) Result(ctx context.Context, l lease.Lane, r turn.Result) error {
	_, err := write(ctx, s, l.Key, func(tx Tx, now time.Time) (none, error) {
		row, err := ownTurn(tx, now, l, r.TurnID, r.Version, r.Journal)
		if err != nil {
			return none{}, err
		}
		if _, err := tx.Exec(qCallEnd, r.CallID, r.TurnID, r.State, []byte(r.Value), ms(now)); err != nil {
			return none{}, fmt.Errorf("ending call: %w", err)
		}
		for _, w := range r.Writes {
			if err := put(tx, w); err != nil {
				return none{}, err
			}
		}
		if r.Run != nil {
			if err := addRun(tx, l.Key, *r.Run); err != nil {
				return none{}, err
			}
		}
		return none{}, addEvents(tx, row.chatKey, r.Events)
	})
	return err
}

// Late keeps a result that came after its lane was lost. That of a turn which
// is no longer there is of a forgotten chat.
func (s *Store) Late(ctx context.Context, key string, e audit.Event) error {
	_, err := write(ctx, s, key, func(tx Tx, _ time.Time) (none, error) {
		filed := e.ChatKey
		if e.Turn != "" {
			var id string
			there, err := tx.Row(`SELECT id FROM turn WHERE id=?1`, []any{e.Turn}, &id)
			if err != nil {
				return none{}, fmt.Errorf("reading turn: %w", err)
			}
			if !there {
				e = tombstone(e)
			}
		}
		return none{}, addEvent(tx, filed, e)
	})
	return err
}

// Finish is T6.
func (s *Store) Finish(ctx context.Context, l lease.Lane, f turn.Finish) (turn.Finished, error) {
	out, err := write(ctx, s, l.Key, func(tx Tx, now time.Time) (turn.Finished, error) {
		return finish(tx, now, l, f, s.db.Owner() != "")
	})
	if err == nil {
		s.claims.drop(l.Key)
	}
	return out, err
}

func finish(tx Tx, now time.Time, l lease.Lane, f turn.Finish, leased bool) (out turn.Finished, err error) {
	row, err := ownLane(tx, l)
	if err != nil {
		return out, err
	}
	if row.turn != f.TurnID || f.SeqTo <= row.doneSeq {
		return out, lease.ErrLost
	}
	if row.turn != "" {
		if f.State != "done" { // else every call has a result
			if _, err := leftBegun(tx, now, &row, true); err != nil {
				return out, err
			}
		}
		if err := endTurn(tx, now, row.turn, f.State, f.Error); err != nil {
			return out, err
		}
	}
	if err := take(tx, row.key, f.TurnID, f.Take); err != nil {
		return out, err
	}
	row.turn, row.parked, row.attempt, row.give = "", false, 0, leased
	row.fence++
	if err := row.advance(tx, f.SeqTo); err != nil {
		return out, err
	}
	if err := addHistory(tx, now, &row, f.Lines); err != nil {
		return out, err
	}
	if row.failure != f.Error {
		if _, err := tx.Exec(`UPDATE lane SET error=?2 WHERE key=?1`, row.key, f.Error); err != nil {
			return out, fmt.Errorf("writing lane's error: %w", err)
		}
	}
	edit, err := endDraft(tx, now, row.key)
	if err != nil {
		return out, err
	}
	if out.Spoke, err = say(tx, now, row.channel, row.chatKey, f.Say, saying{own: f.Own, finish: edit}); err != nil {
		return out, err
	}
	if err := addEvents(tx, row.chatKey, f.Events); err != nil {
		return out, err
	}
	if err := row.save(tx, now, true); err != nil {
		return out, err
	}
	out.More = row.ready != 0
	return out, nil
}

// endTurn ends a saved turn, and the calls that it leaves open.
func endTurn(tx Tx, now time.Time, id, state, why string) error {
	if _, err := tx.Exec(qTurnEnd, id, state, why, ms(now)); err != nil {
		return fmt.Errorf("ending turn: %w", err)
	}
	_, err := tx.Exec(qCallsEnd, id, ms(now))
	return wrap("ending turn's calls", err)
}

// userLines makes history lines of what a person wrote; a picture without a
// caption leaves none.
func userLines(texts []string) []turn.Line {
	out := make([]turn.Line, 0, len(texts))
	for _, t := range texts {
		if t != "" {
			out = append(out, turn.Line{Role: "user", Text: t})
		}
	}
	return out
}

// savedInput decodes a message kept with a turn.
func savedInput(tx Tx, lane string, seq int64) (in channels.Inbound, err error) {
	var payload []byte
	ok, err := tx.Row(qInboxHead, []any{lane, seq}, &payload)
	if err != nil || !ok {
		return in, wrap("reading turn's message", err)
	}
	return in, wrap("decoding turn's message", json.Unmarshal(payload, &in))
}
