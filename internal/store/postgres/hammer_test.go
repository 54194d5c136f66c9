package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/lease"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/turn"
)

// person is one person's session of one of two groups: chats with several
// lanes are where locks could cross.
func person(i int) (p inbox.Place, user string) {
	p = alone(fmt.Sprint("group", i%2))
	p.Chat.Group = true
	user = fmt.Sprint("user", i%6)
	p.Lane += ":" + user
	return p, user
}

// Two processes do everything at once in two groups. Nothing may wait in a
// circle: the server counts deadlocks, which would heal, a second each.
func TestHammer_NoDeadlock(t *testing.T) {
	t.Parallel()
	all, clock := processes(t, 2)
	const workers, rounds = 64, 40
	var wg sync.WaitGroup
	for w := range workers {
		h := &hammer{T: t, process: all[w%2], rnd: rand.New(rand.NewPCG(uint64(w), 1)), w: w, clock: clock}
		wg.Go(func() {
			for i := range rounds {
				h.round(i)
			}
		})
	}
	wg.Wait()
	if n := deadlocks(t, all[0].db); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
	// Whatever is left comes to its end.
	clock.offset.Add(int64(48 * time.Hour))
	h := &hammer{T: t, process: all[0], rnd: rand.New(rand.NewPCG(0, 2)), clock: clock}
	for n := 1; n > 0; {
		h.expire(0)
		h.send(0)
		keys, err := h.Ready(t.Context(), 100)
		h.check("ready", err)
		for _, key := range keys {
			h.work(key)
		}
		lanes, questions, err := h.Waiting(t.Context())
		h.check("waiting", err)
		n = lanes + questions
		clock.offset.Add(int64(time.Hour))
	}
}

func deadlocks(t *testing.T, db *DB) (n int) {
	t.Helper()
	// A session tells of its doings at the latest when it ends.
	db.pool.reset()
	err := db.Peek(t.Context(), func(tx store.Tx) error {
		_, err := tx.Row(`SELECT deadlocks FROM pg_stat_database WHERE datname=current_database()`, nil, &n)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

type hammer struct {
	*testing.T
	process
	rnd   *rand.Rand
	w     int
	clock *standing
}

func (h *hammer) check(doing string, err error) {
	h.Helper()
	if err != nil && !errors.Is(err, lease.ErrLost) && !errors.Is(err, turn.ErrConflict) {
		h.Errorf("%s: %v", doing, err)
	}
}

func (h *hammer) round(i int) {
	ctx := context.Background()
	p, user := person(h.rnd.IntN(12))
	id := fmt.Sprint(h.w, "-", i)
	switch h.rnd.IntN(16) {
	case 0, 1, 2, 3:
		d := text(p, id, user)
		d.Class = []confirm.Class{confirm.Yes, confirm.No, confirm.Other}[h.rnd.IntN(3)]
		_, err := h.Accept(ctx, d)
		h.check("accept", err)
	case 4:
		d := text(p, id, user)
		d.In.Kind, d.In.Button = channels.KindPress, confirm.ButtonID(h.anyToken(ctx), confirm.ValueYes)
		_, err := h.Accept(ctx, d)
		h.check("press", err)
	case 5:
		act := []inbox.Action{inbox.ActReset, inbox.ActCancel, inbox.ActLang, inbox.ActSay}[h.rnd.IntN(4)]
		_, err := h.Command(ctx, inbox.Command{
			Place: p, DedupeKey: id, In: text(p, id, user).In, Action: act, Lang: "es",
			Say: []channels.Part{{Chat: p.Chat, Text: "done"}},
		})
		h.check("command", err)
	case 6, 7, 8, 9:
		h.work(p.Lane)
	case 10, 11, 12:
		h.send(i)
	case 13:
		h.expire(i)
	case 14:
		_, err := h.Renew(ctx)
		h.check("renew", err)
	default:
		if h.rnd.IntN(4) == 0 {
			_, err := h.Forget(ctx, p.ChatKey)
			h.check("forget", err)
		}
		_, _, err := h.DeliveryFailed(ctx, inbox.Undelivered{Channel: "web", ChatKey: p.ChatKey, ID: channels.MessageID(fmt.Sprint("m", h.rnd.IntN(40)))})
		h.check("delivery failed", err)
	}
}

func (h *hammer) anyToken(ctx context.Context) string {
	rows, err := h.ListQuestions(ctx, false, 20)
	h.check("questions", err)
	if len(rows) == 0 {
		return "none"
	}
	return rows[h.rnd.IntN(len(rows))].Token
}

// work does a turn's step or its end.
func (h *hammer) work(lane string) {
	ctx := context.Background()
	l, ok, err := h.Claim(ctx, lane)
	h.check("claim", err)
	if !ok {
		return
	}
	defer func() { h.check("release", h.Release(ctx, l)) }()
	w, err := h.Load(ctx, l, 10)
	if h.check("load", err); err != nil {
		return
	}
	p := alone(w.ChatKey[len("web:"):])
	p.Lane, p.Chat.Group = lane, true
	var id string
	var seq int64
	switch {
	case w.Saved != nil:
		id, seq = w.Saved.ID, w.Saved.SeqTo
	case len(w.Queue) > 0:
		seq = w.Queue[0].Seq
	default:
		return
	}
	if id == "" && h.rnd.IntN(3) > 0 {
		id = fmt.Sprint("turn", h.rnd.Uint64())
		st := question(p, id, seq)
		st.Wait.AnswerBy.Anyone = h.rnd.IntN(2) == 0
		_, err := h.Step(ctx, l, st)
		h.check("step", err)
		return
	}
	if id != "" && h.rnd.IntN(2) == 0 {
		h.check("start", ignoreClosed(h.Start(ctx, l, turn.Start{TurnID: id, CallID: id + ".1.0"})))
		h.check("result", h.Result(ctx, l, turn.Result{
			TurnID: id, CallID: id + ".1.0", State: turn.CallSucceeded, Value: []byte(`1`),
			Writes: []tool.Write{{Scope: "bot", Key: fmt.Sprint(h.rnd.IntN(3)), Value: []byte(`1`)}},
			Events: []audit.Event{{Type: audit.ToolResult, Turn: id, ChatKey: lane}},
		}))
	}
	if _, err := h.Draft(ctx, l, turn.Draft{Seq: seq, Part: channels.Part{Chat: p.Chat, Text: "once upon"}, Own: h.rnd.IntN(2) == 0}); err != nil {
		h.check("draft", err)
		return
	}
	f := answer(p, seq, id)
	f.Own = h.rnd.IntN(2) == 0
	_, err = h.Finish(ctx, l, f)
	h.check("finish", err)
}

// ignoreClosed: the call may have been made in an earlier round.
func ignoreClosed(err error) error {
	if err != nil && !errors.Is(err, inbox.ErrUnavailable) && !errors.Is(err, lease.ErrLost) {
		return nil
	}
	return err
}

func (h *hammer) send(int) {
	ctx := context.Background()
	for _, chat := range []string{"web:group0", "web:group1"} {
		e, ok, _, err := h.Next(ctx, chat)
		h.check("next", err)
		for n := 0; ok && n < 5; n++ {
			switch h.rnd.IntN(6) {
			case 0:
				h.check("retry", h.Retry(ctx, e, h.Now(), h.rnd.IntN(2) == 0, "again"))
				ok = false
			case 1:
				_, err := h.Store.Failed(ctx, e, false, "refused")
				h.check("failed", err)
				ok = false
			default:
				e, ok, err = h.Sent(ctx, e, channels.Receipt{ID: channels.MessageID(fmt.Sprint("m", h.rnd.IntN(40)))})
				h.check("sent", err)
			}
		}
	}
}

func (h *hammer) expire(int) {
	h.clock.offset.Add(int64(20 * time.Second))
	_, _, err := h.Expire(context.Background(), 5)
	h.check("expire", err)
}
