package postgres

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/lease"
	"github.com/parley-bot/parley/internal/outbox"
	"github.com/parley-bot/parley/internal/postgrestest"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/turn"
)

// wire stands between the store and the server, and can be cut.
type wire struct {
	t        *testing.T
	listener net.Listener
	socket   string
	mu       sync.Mutex
	open     map[*strand]struct{}
	done     sync.WaitGroup
}

// strand is one connection on the wire.
type strand struct {
	client, server net.Conn
	// mute swallows the server's next answer, and ends the connection.
	mute atomic.Bool
}

func newWire(t *testing.T, direct string) (w *wire, through string) {
	t.Helper()
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	w = &wire{t: t, socket: u.Query().Get("host") + "/.s.PGSQL.5432", open: map[*strand]struct{}{}}
	if w.listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	w.done.Go(w.accept)
	t.Cleanup(func() {
		if err := w.listener.Close(); err != nil {
			t.Error(err)
		}
		w.cut()
		w.done.Wait()
	})
	return w, "postgres://" + u.User.String() + "@" + w.listener.Addr().String() + u.Path + "?sslmode=disable"
}

func (w *wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := (&net.Dialer{}).DialContext(w.t.Context(), "unix", w.socket)
		if err != nil {
			_ = client.Close() // as if nobody had listened
			continue
		}
		s := &strand{client: client, server: server}
		w.mu.Lock()
		w.open[s] = struct{}{}
		w.mu.Unlock()
		w.done.Go(func() { s.copy(client, server, false) })
		w.done.Go(func() { s.copy(server, client, true); w.forget(s) })
	}
}

func (w *wire) forget(s *strand) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, s)
}

func (s *strand) copy(from, to net.Conn, answers bool) {
	defer s.cut()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if n > 0 {
			if answers && s.mute.Load() {
				return
			}
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (s *strand) cut() {
	_ = s.client.Close() // both: whichever was first
	_ = s.server.Close()
}

func (w *wire) each(do func(*strand)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for s := range w.open {
		do(s)
	}
}

func (w *wire) cut()  { w.each((*strand).cut) }
func (w *wire) mute() { w.each(func(s *strand) { s.mute.Store(true) }) }

// G1, G3, G4: whatever becomes of the connection at the commit of each call,
// the call comes to the same end as if nothing had happened, once.
func TestCut_EachCallIsDoneOnce(t *testing.T) {
	t.Parallel()
	want := whole(t, "")
	for _, how := range []string{"cut before it is sent", "no answer", "server process ended"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(want, whole(t, how)); d != "" {
				t.Error(d)
			}
		})
	}
}

// whole makes each kind of call, each with one cut, and gives all that is kept
// at the end.
func whole(t *testing.T, how string) []string {
	t.Helper()
	direct := fresh(t)
	w, through := newWire(t, direct)
	admin := openDB(t, direct, Options{MaxConns: 2})
	var armed atomic.Bool
	var cuts atomic.Int64
	hook := func(pid uint32) {
		if !armed.CompareAndSwap(true, false) {
			return
		}
		switch how {
		case "cut before it is sent":
			w.cut()
		case "no answer":
			w.mute()
		case "server process ended":
			terminate(t, admin, pid)
		default:
			return
		}
		cuts.Add(1)
	}
	clock := new(standing)
	db := openDB(t, through, Options{Clock: clock.now, MaxConns: 4, OnCommit: hook})
	c := &cutter{t: t, s: store.New(db), clock: clock, arm: func() { armed.Store(true) }}
	c.all()
	if how != "" && int(cuts.Load()) != c.calls {
		t.Errorf("%d cuts in %d calls", cuts.Load(), c.calls)
	}
	return c.kept()
}

// terminate ends a server process and waits until it is gone.
func terminate(t *testing.T, admin *DB, pid uint32) {
	t.Helper()
	err := admin.Peek(t.Context(), func(tx store.Tx) error {
		var gone bool
		_, err := tx.Row(`SELECT pg_terminate_backend(CAST(?1 AS INT), 60000)`, []any{int64(pid)}, &gone)
		if err == nil && !gone {
			err = errors.New("it is still there")
		}
		return err
	})
	if err != nil {
		t.Errorf("terminating %d: %v", pid, err)
	}
}

type cutter struct {
	t     *testing.T
	s     *store.Store
	clock *standing
	arm   func()
	calls int
}

// do makes one call, during which the wire is cut once.
func (c *cutter) do(doing string, call func() error) {
	c.t.Helper()
	c.calls++
	c.arm()
	if err := call(); err != nil {
		c.t.Errorf("%s: %v", doing, err)
	}
}

func (c *cutter) all() {
	t, s, ctx := c.t, c.s, c.t.Context()
	p := alone("ana")
	c.do("accept", func() error { return second(s.Accept(ctx, text(p, "1", "ana"))) })
	l := process{s, nil}
	var held lease.Lane
	c.do("claim", func() error { held = l.claim(t, p.Lane); return nil })
	c.do("renew", func() error { return second(s.Renew(ctx)) })
	w, err := s.Load(ctx, held, 10)
	if err != nil || len(w.Queue) != 1 {
		t.Fatalf("%+v, %v", w, err)
	}
	st := turn.Step{
		TurnID: "t", SeqFrom: 1, SeqTo: 1, Journal: []byte(`{}`), UserLines: []string{"x"},
		Calls: []turn.Call{{ID: "c1", Tool: "order"}, {ID: "c2", Tool: "order"}}, Started: "c1",
		Events: []audit.Event{{Type: audit.ToolResult, Turn: "t", ChatKey: p.Lane}},
	}
	c.do("step", func() error { return second(s.Step(ctx, held, st)) })
	zero := int64(0)
	c.do("result", func() error {
		return s.Result(ctx, held, turn.Result{
			TurnID: "t", CallID: "c1", State: turn.CallSucceeded, Value: []byte(`1`),
			Writes: []tool.Write{{Scope: "bot", Key: "k", Value: []byte(`1`), IfVersion: &zero}},
		})
	})
	c.do("start", func() error { return s.Start(ctx, held, turn.Start{TurnID: "t", CallID: "c2"}) })
	c.do("draft", func() error {
		return second(s.Draft(ctx, held, turn.Draft{Seq: 9, Part: channels.Part{Chat: p.Chat, Text: "once"}, Own: true}))
	})
	c.do("finish", func() error { return second(s.Finish(ctx, held, answer(p, 1, "t"))) })
	var e outbox.Entry
	next := func() (err error) {
		var ok bool
		if e, ok, _, err = s.Next(ctx, p.ChatKey); err == nil && !ok {
			err = errors.New("nothing to send")
		}
		return err
	}
	c.do("next", next)
	c.do("retry", func() error { return s.Retry(ctx, e, s.Now(), true, "again") })
	c.do("next", next)
	c.do("sent", func() error { return second2(s.Sent(ctx, e, channels.Receipt{ID: "m1"})) })
	c.do("accept", func() error { return second(s.Accept(ctx, text(p, "2", "ana"))) })
	process{s, nil}.ask(t, p, "asking")
	c.do("next", next)
	c.do("sent", func() error { return second2(s.Sent(ctx, e, channels.Receipt{ID: "m2"})) })
	press := text(p, "3", "ana")
	press.In.Kind, press.In.Button = channels.KindPress, confirm.ButtonID("token-asking", confirm.ValueYes)
	c.do("press", func() error { return second(s.Accept(ctx, press)) })
	c.do("next", next)
	c.do("failed", func() error { return second(s.Failed(ctx, e, false, "refused")) })
	c.do("command", func() error {
		return second(s.Command(ctx, inbox.Command{Place: p, DedupeKey: "cmd", In: text(p, "4", "ana").In, Action: inbox.ActCancel, Say: []channels.Part{{Text: "stopped"}}}))
	})
	c.do("accept", func() error { return second(s.Accept(ctx, text(p, "5", "ana"))) })
	process{s, nil}.ask(t, p, "expiring")
	c.clock.offset.Store(int64(2 * time.Hour))
	c.do("expire", func() error { return second2(s.Expire(ctx, 10)) })
	c.do("accept", func() error { return second(s.Accept(ctx, text(p, "6", "ana"))) })
	held = process{s, nil}.claim(t, p.Lane)
	c.do("release", func() error { return s.Release(ctx, held) })
	c.do("account", func() error { return second2(s.LeaseAccount(ctx, "web", "send", "me")) })
	c.do("state", func() error {
		if done, err := s.StateSwap(ctx, "web", "offset", nil, []byte("1")); err != nil || !done {
			return fmt.Errorf("swapped: %v, %w", done, err)
		}
		return nil
	})
	c.do("tell", func() error { return s.Tell(ctx, "web", "web:other", channels.Part{Text: "alert"}) })
	c.do("forget", func() error { return second(s.Forget(ctx, "web:other")) })
	c.do("ping", func() error { return s.Ping(ctx) })
}

func second2[A, B any](_ A, _ B, err error) error { return err }

// kept is all that is left of the chat. Numbers of the audit may have gaps.
func (c *cutter) kept() (out []string) {
	c.t.Helper()
	lines, err := c.s.Export(c.t.Context(), "web:ana")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, line := range lines {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			c.t.Fatal(err)
		}
		if m["kind"] == "event" {
			delete(m, "id")
		}
		out = append(out, strings.TrimSpace(fmt.Sprint(m)))
	}
	_, version, err := c.s.Get(c.t.Context(), "bot", "k")
	if err != nil {
		c.t.Fatal(err)
	}
	return append(out, fmt.Sprint("version ", version))
}

// G9: while the server is away calls fail such that they may be made again, and
// when it is back they go on by themselves.
func TestServer_AwayAndBack(t *testing.T) {
	t.Parallel()
	server := postgrestest.Own(t)
	url := server.URL(t)
	db := openDB(t, url, Options{MaxConns: 4})
	s, p := store.New(db), alone("ana")
	heard := make(chan store.Hint, 100)
	var listening sync.WaitGroup
	other := openDB(t, url, Options{MaxConns: 2})
	listening.Go(func() { other.Hints(t.Context(), func(h store.Hint) { heard <- h }) })
	t.Cleanup(listening.Wait)
	hear(t, heard, store.HintAll)
	process{s, db}.say(t, p, "1")
	server.Halt()
	if _, err := s.Accept(t.Context(), text(p, "2", "ana")); !errors.Is(err, inbox.ErrUnavailable) {
		t.Errorf("accepted without a server: %v", err)
	}
	if _, err := s.Load(t.Context(), lease.Lane{Key: p.Lane}, 1); !errors.Is(err, inbox.ErrUnavailable) {
		t.Errorf("read without a server: %v", err)
	}
	server.Resume(t)
	process{s, db}.say(t, p, "2")
	process{s, db}.claim(t, p.Lane)
	hear(t, heard, store.HintAll) // it listens again, and may have missed something
	s.Hint(store.Hint{Kind: store.HintLane, Key: p.Lane})
	hear(t, heard, store.HintLane)
}
