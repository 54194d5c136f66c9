package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/lease"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/turn"
)

// process is one of several on a database.
type process struct {
	*store.Store
	db *DB
}

// processes share a database and a clock.
func processes(t *testing.T, n int) ([]process, *standing) {
	t.Helper()
	url, clock := fresh(t), new(standing)
	var all []process
	for range n {
		db := openDB(t, url, Options{Clock: clock.now, MaxConns: 8})
		all = append(all, process{store.New(db), db})
	}
	return all, clock
}

func alone(chat string) inbox.Place {
	key := "web:" + chat
	return inbox.Place{Channel: "web", Lane: key, ChatKey: key, Chat: channels.Chat{ID: channels.ChatID(chat)}}
}

func text(p inbox.Place, id, from string) inbox.Delivery {
	return inbox.Delivery{
		Place: p, DedupeKey: p.ChatKey + ":message:" + id, Answers: true, Class: confirm.Other, Routed: true,
		In: channels.Inbound{
			Kind: channels.KindMessage, ID: channels.MessageID(id), Chat: p.Chat, From: channels.User{ID: channels.UserID(from)}, Text: "text " + id,
		},
	}
}

func (p process) say(t *testing.T, to inbox.Place, id string) {
	t.Helper()
	if acc, err := p.Accept(t.Context(), text(to, id, "ana")); err != nil || acc.Outcome != inbox.Queued {
		t.Fatalf("accepting %s: %s, %v", id, acc.Outcome, err)
	}
}

func (p process) claim(t *testing.T, lane string) lease.Lane {
	t.Helper()
	l, ok, err := p.Claim(t.Context(), lane)
	if err != nil || !ok {
		t.Fatalf("claiming %s: %v, %v", lane, ok, err)
	}
	return l
}

func (p process) refused(t *testing.T, lane, why string) {
	t.Helper()
	if l, ok, err := p.Claim(t.Context(), lane); err != nil || ok {
		t.Fatalf("%s was claimed (%+v, error %v): %s", lane, l, err, why)
	}
}

func answer(p inbox.Place, seq int64, id string) turn.Finish {
	return turn.Finish{
		TurnID: id, SeqTo: seq, State: "done", Lines: []turn.Line{{Role: "user", Text: "hello"}},
		Say: []channels.Part{{Chat: p.Chat, Text: fmt.Sprint("answer ", seq)}},
	}
}

// G3, G8: a lane goes to another process when its lease has run out, not
// before, and what the first one still writes changes nothing.
func TestLease_TakenOver(t *testing.T) {
	t.Parallel()
	all, clock := processes(t, 2)
	a, b, p := all[0], all[1], alone("ana")
	a.say(t, p, "1")
	zombie := a.claim(t, p.Lane)
	st := turn.Step{
		TurnID: "t", SeqFrom: 1, SeqTo: 1, Journal: []byte(`{}`), UserLines: []string{"x"},
		Calls: []turn.Call{{ID: "c1", Tool: "order"}}, Started: "c1",
	}
	if _, err := a.Step(t.Context(), zombie, st); err != nil {
		t.Fatal(err)
	}
	clock.offset.Store(int64(29 * time.Second))
	b.refused(t, p.Lane, "the lease has a second left")
	if ready, err := b.Ready(t.Context(), 10); err != nil || len(ready) != 0 {
		t.Errorf("ready %v, %v", ready, err)
	}
	if lost, err := a.Renew(t.Context()); err != nil || len(lost) != 0 {
		t.Fatalf("renewing: lost %v, %v", lost, err)
	}
	clock.offset.Store(int64(58 * time.Second))
	b.refused(t, p.Lane, "the lease was renewed")
	clock.offset.Store(int64(60 * time.Second))
	if ready, err := b.Ready(t.Context(), 10); err != nil || !slices.Equal(ready, []string{p.Lane}) {
		t.Errorf("ready %v, %v", ready, err)
	}
	l := b.claim(t, p.Lane)
	if l.Attempt != 1 || l.Fence <= zombie.Fence {
		t.Errorf("taken over as %+v from %+v", l, zombie)
	}
	for doing, err := range map[string]error{
		"step":   second(a.Step(t.Context(), zombie, st)),
		"start":  a.Start(t.Context(), zombie, turn.Start{TurnID: "t", CallID: "c1"}),
		"result": a.Result(t.Context(), zombie, turn.Result{TurnID: "t", CallID: "c1", State: turn.CallSucceeded, Value: []byte(`1`)}),
		"finish": second(a.Finish(t.Context(), zombie, answer(p, 1, "t"))),
		"load":   second(a.Load(t.Context(), zombie, 10)),
		"draft":  second(a.Draft(t.Context(), zombie, turn.Draft{Seq: 1})),
	} {
		if !errors.Is(err, lease.ErrLost) {
			t.Errorf("%s of the zombie: %v, want lease.ErrLost", doing, err)
		}
	}
	if lost, err := a.Renew(t.Context()); err != nil || !slices.Equal(lost, []string{p.Lane}) {
		t.Errorf("renewing: lost %v, %v", lost, err)
	}
	if err := a.Release(t.Context(), zombie); err != nil {
		t.Error(err)
	}
	w, err := b.Load(t.Context(), l, 10)
	if err != nil || w.Saved == nil || len(w.Saved.Calls) != 1 || w.Saved.Calls[0].State != turn.CallStarted {
		t.Fatalf("loaded %+v, %v", w.Saved, err)
	}
	if _, err := b.Finish(t.Context(), l, answer(p, 1, "t")); err != nil {
		t.Error(err)
	}
	a.refused(t, p.Lane, "it has no work")
}

func second[T any](_ T, err error) error { return err }

// A stop in good order gives leases back at once, and counts as no crash.
func TestLease_GivenBackAtTheEnd(t *testing.T) {
	t.Parallel()
	all, _ := processes(t, 2)
	a, b, p := all[0], all[1], alone("ana")
	a.say(t, p, "1")
	a.claim(t, p.Lane)
	b.refused(t, p.Lane, "it is the other's")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if l := b.claim(t, p.Lane); l.Attempt != 0 {
		t.Errorf("attempt %d", l.Attempt)
	}
}

// B5: a turn that another process's command has ended is told of by the
// heartbeat, where nothing else was faster.
func TestLease_CutElsewhere(t *testing.T) {
	t.Parallel()
	all, _ := processes(t, 2)
	a, b, p := all[0], all[1], alone("ana")
	a.say(t, p, "1")
	l := a.claim(t, p.Lane)
	_, err := b.Command(t.Context(), inbox.Command{Place: p, DedupeKey: "cancel", Action: inbox.ActCancel, Say: []channels.Part{{Chat: p.Chat, Text: "stopped"}}})
	if err != nil {
		t.Fatal(err)
	}
	if lost, err := a.Renew(t.Context()); err != nil || !slices.Equal(lost, []string{p.Lane}) {
		t.Errorf("renewing: lost %v, %v", lost, err)
	}
	b.say(t, p, "2")
	b.refused(t, p.Lane, "the other hasn't let go")
	if err := a.Release(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	b.claim(t, p.Lane)
}

// G2: however many processes try, a lane is one's alone.
func TestClaim_OneOfManyProcesses(t *testing.T) {
	t.Parallel()
	all, _ := processes(t, 3)
	const lanes = 20
	for i := range lanes {
		all[0].say(t, alone(fmt.Sprint(i)), "1")
	}
	var holders [lanes]atomic.Int64
	var claims atomic.Int64
	var wg sync.WaitGroup
	for w := range 24 {
		p := all[w%len(all)]
		wg.Go(func() {
			for i := range 60 {
				n := (i*7 + w) % lanes
				l, ok, err := p.Claim(t.Context(), alone(fmt.Sprint(n)).Lane)
				if err != nil {
					t.Error(err)
					return
				}
				if !ok {
					continue
				}
				claims.Add(1)
				if holders[n].Add(1) != 1 {
					t.Errorf("lane %d has two owners", n)
				}
				holders[n].Add(-1)
				if err := p.Release(t.Context(), l); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if claims.Load() < lanes {
		t.Errorf("%d claims only", claims.Load())
	}
	for i := range lanes {
		if l := all[1].claim(t, alone(fmt.Sprint(i)).Lane); l.Attempt != 0 {
			t.Errorf("lane %d: attempt %d after claims that were given back", i, l.Attempt)
		}
	}
}

func (p process) ask(t *testing.T, to inbox.Place, id string) {
	t.Helper()
	l := p.claim(t, to.Lane)
	w, err := p.Load(t.Context(), l, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Step(t.Context(), l, question(to, id, w.Queue[0].Seq)); err != nil {
		t.Fatal(err)
	}
}

func question(p inbox.Place, id string, seq int64) turn.Step {
	call := id + ".1.0"
	return turn.Step{
		TurnID: id, SeqFrom: seq, SeqTo: seq, Journal: []byte(`{}`), UserLines: []string{"order"},
		Calls: []turn.Call{{ID: call, Tool: "order", Args: []byte(`{}`)}},
		Say:   []channels.Part{{Chat: p.Chat, Text: "Really?"}},
		Wait: &confirm.Wait{
			Token: "token-" + id, Lane: p.Lane, ChatKey: p.ChatKey, Chat: p.Chat, Turn: id, Tool: "order", Requester: "ana",
			AnswerBy: confirm.AnswerBy{Anyone: true}, Timeout: time.Minute, CallID: call, Closing: &confirm.Closing{Text: "Really?"},
		},
		Events: []audit.Event{{Type: "confirm.asked", Turn: id, ChatKey: p.Lane}},
	}
}

// G3: a question that is over is ended by one process, whichever comes first.
func TestExpire_OnceAmongProcesses(t *testing.T) {
	t.Parallel()
	all, clock := processes(t, 3)
	const n = 60
	for i := range n {
		p := alone(fmt.Sprint(i))
		all[0].say(t, p, "1")
		all[0].ask(t, p, fmt.Sprint("turn", i))
	}
	clock.offset.Store(int64(2 * time.Hour))
	var ended [n]atomic.Int64
	var left atomic.Int64
	left.Store(n)
	var wg sync.WaitGroup
	for _, p := range all {
		for range 2 {
			wg.Go(func() {
				for left.Load() > 0 {
					over, _, err := p.Expire(t.Context(), 7)
					if err != nil {
						t.Error(err)
						return
					}
					for _, e := range over {
						var i int
						if _, err := fmt.Sscanf(e.Lane, "web:%d", &i); err != nil {
							t.Error(err)
						}
						ended[i].Add(1)
						left.Add(-1)
					}
				}
			})
		}
	}
	wg.Wait()
	for i := range n {
		if got := ended[i].Load(); got != 1 {
			t.Errorf("question %d was ended %d times", i, got)
		}
	}
}

// Processes that start together bring the schema up to date once.
func TestOpen_AllAtOnce(t *testing.T) {
	t.Parallel()
	url := empty(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			db, err := Open(context.Background(), url, Options{MaxConns: 4})
			if err != nil {
				t.Error(err)
				return
			}
			if err := store.New(db).Ping(t.Context()); err != nil {
				t.Error(err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// G5: one process sends for an account. Another, which may have been frozen and
// believes it is the one, gets nothing to send and puts nothing back.
func TestSend_OneProcessForAnAccount(t *testing.T) {
	t.Parallel()
	all, clock := processes(t, 2)
	a, b, p := all[0], all[1], alone("ana")
	if err := a.Tell(t.Context(), "web", p.ChatKey, channels.Part{Text: "one"}); err != nil {
		t.Fatal(err)
	}
	lease := func(of process, want bool) {
		t.Helper()
		if _, ok, err := of.LeaseAccount(t.Context(), "web", store.RoleSend, of.Owner()); err != nil || ok != want {
			t.Fatalf("leased %v, want %v, error %v", ok, want, err)
		}
	}
	lease(a, true)
	lease(b, false)
	e, ok, _, err := a.Next(t.Context(), p.ChatKey)
	if err != nil || !ok {
		t.Fatalf("next: %v, %v", ok, err)
	}
	if _, ok, _, err := b.Next(t.Context(), p.ChatKey); err != nil || ok {
		t.Errorf("the other got it, too: %v, %v", ok, err)
	}
	clock.offset.Add(int64(31 * time.Second))
	lease(b, true)
	again, ok, _, err := b.Next(t.Context(), p.ChatKey)
	if err != nil || !ok || !again.Maybe || again.Seq != e.Seq {
		t.Fatalf("after the takeover: %+v, %v, %v", again, ok, err)
	}
	// The first one wakes up.
	if err := a.Retry(t.Context(), e, a.Now(), false, ""); err != nil {
		t.Error(err)
	}
	if _, err := a.Failed(t.Context(), e, false, "refused"); err != nil {
		t.Error(err)
	}
	if _, ok, err := b.Sent(t.Context(), again, channels.Receipt{ID: "m"}); err != nil || ok {
		t.Errorf("sent: %v, %v", ok, err)
	}
	if _, ok, err := a.Sent(t.Context(), e, channels.Receipt{ID: "m"}); err != nil || ok {
		t.Errorf("sent by the first: %v, %v", ok, err)
	}
	if n, err := a.Pending(t.Context()); err != nil || n != 0 {
		t.Errorf("%d entries wait, %v", n, err)
	}
	if log, err := a.Log(t.Context(), p.ChatKey, 0, 10); err != nil || len(log) != 1 {
		t.Errorf("logged %d times, %v", len(log), err)
	}
}
