//go:build unix

package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/outbox"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/store/sqlite"
	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/turn"
)

// size is what a process says of itself once it has settled.
type size struct {
	Start      time.Duration `json:"start"`
	RSS        int64         `json:"rss"` // bytes
	Goroutines int           `json:"goroutines"`
}

// measure logs it.
func measure(log *slog.Logger, start time.Duration) {
	s := size{Start: start}
	// Twice: what has a finalizer goes with the second.
	runtime.GC()
	runtime.GC()
	debug.FreeOSMemory()
	s.Goroutines = runtime.NumGoroutine()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		log.Error("reading the process's status", "err", err)
	}
	for line := range bytes.Lines(status) {
		if f := bytes.Fields(line); len(f) > 1 && string(f[0]) == "VmRSS:" {
			kib, _ := strconv.ParseInt(string(f[1]), 10, 64) // 0 is told as wrong
			s.RSS = kib << 10
		}
	}
	log.Info("measured", "size", s)
}

// TestScale parks questions, a hundred thousand with -scale: a question that
// waits costs a row and nothing else (behaviour B2).
func TestScale_B2_ParkedQuestionsCostNothing(t *testing.T) {
	t.Parallel()
	n := 2_000
	if *scale {
		n = 100_000
	}
	dir := t.TempDir()
	begun := time.Now()
	parkMany(t, dir, n)
	t.Logf("%d questions parked in %s", n, time.Since(begun).Round(time.Millisecond))
	empty, full := sizeOf(t, t.TempDir(), 0), sizeOf(t, dir, n)
	t.Logf("empty: start %s, RSS %.1f MB, %d goroutines", empty.Start, mb(empty.RSS), empty.Goroutines)
	t.Logf("%d questions: start %s, RSS %.1f MB, %d goroutines", n, full.Start, mb(full.RSS), full.Goroutines)
	if empty.RSS == 0 || full.RSS == 0 {
		t.Fatal("the process could not tell its size")
	}
	if grown := full.RSS - empty.RSS; grown > 20<<20 {
		t.Errorf("%d questions take %.1f MB", n, mb(grown))
	}
	if grown := full.Goroutines - empty.Goroutines; grown > 10 {
		t.Errorf("%d questions take %d goroutines", n, grown)
	}
}

func mb(n int64) float64 { return float64(n) / (1 << 20) }

// sizeOf starts a daemon on the folder, lets it tell its size, and makes sure
// that it serves as ever and that what was parked is still there.
func sizeOf(t *testing.T, dir string, parked int) size {
	t.Helper()
	back := newBackend(t)
	d := newDaemon(t, 0, func(int) *exec.Cmd { return again(modeMeasure, dir, back.addr) })
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errPatience)
	defer cancel()
	p, err := newPerson(ctx, t, newClient(t), d.base)
	if err != nil {
		t.Fatal(err)
	}
	k := newTalk(p)
	k.says("order A")
	q := k.asked("A", 2)
	k.says("yes")
	k.sees(q, "→ Yes")
	k.hearsOf("A", 2)
	if k.err != nil {
		t.Fatal(k.err)
	}
	d.stop()
	if got := fmt.Sprint(column(t, books(t, dir), `SELECT count(*) FROM wait WHERE state='pending'`)); got != fmt.Sprintf("[%d]", parked) {
		t.Errorf("%s questions are parked, want %d", got, parked)
	}
	return d.measured()
}

// parkMany fills a database with turns that wait for a person, by the store's
// own calls.
func parkMany(t *testing.T, dir string, n int) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), dir+"/parley.db", sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := store.New(db)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range 128 { // so that commits are shared
		workers.Go(func() {
			for i := next.Add(1); i <= int64(n) && !t.Failed(); i = next.Add(1) {
				if err := park(t.Context(), s, i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if t.Failed() {
		t.FailNow()
	}
}

// park brings one chat from its first message to a question that was shown.
func park(ctx context.Context, s *store.Store, i int64) error {
	chat := channels.Chat{ID: channels.ChatID(fmt.Sprint("parked-", i))}
	key := "web:" + string(chat.ID)
	user := channels.UserID(chat.ID)
	_, err := s.Accept(ctx, inbox.Delivery{
		Place: inbox.Place{Channel: "web", Lane: key, ChatKey: key, Chat: chat}, DedupeKey: key + ":message:1", Routed: true,
		In: channels.Inbound{Kind: channels.KindMessage, ID: "1", Chat: chat, From: channels.User{ID: user}, Text: "order A"},
	})
	if err != nil {
		return err
	}
	lane, ok, err := s.Claim(ctx, key)
	if err != nil || !ok {
		return fmt.Errorf("claiming %s: ok %v: %w", key, ok, err)
	}
	token, id := fmt.Sprintf("token-%010d", i), fmt.Sprintf("turn-%d", i)
	part := channels.Part{Chat: chat, Text: "About to: Place order\n• Ref: A\n• Quantity: 2\nDo you confirm?", Buttons: []channels.Button{
		{ID: confirm.ButtonID(token, confirm.ValueYes), Label: "Yes", Value: confirm.ValueYes},
		{ID: confirm.ButtonID(token, confirm.ValueNo), Label: "No", Value: confirm.ValueNo},
	}}
	out, err := s.Step(ctx, lane, turn.Step{
		TurnID: id, SeqFrom: 1, SeqTo: 1, UserLines: []string{"order A"}, Version: 1, Own: true, Say: []channels.Part{part},
		Journal: json.RawMessage(`{"messages":[{"role":"user","text":"order A"},{"role":"assistant","calls":[{"name":"place_order"}]}]}`),
		Calls:   []turn.Call{{ID: id + ".1.0", Tool: "place_order", Args: json.RawMessage(`{"ref":"A","quantity":2}`), Effect: tool.Unsafe}},
		Wait: &confirm.Wait{
			Token: token, Lane: key, ChatKey: key, Chat: chat, Turn: id, CallID: id + ".1.0", Step: 1, Tool: "place_order",
			Requester: user, Solo: true, Digest: "digest", Timeout: 24 * time.Hour,
			Closing: &confirm.Closing{Text: part.Text, Choice: map[string]string{confirm.ValueYes: "→ Yes", confirm.ValueNo: "→ No"}},
		},
	})
	if err != nil {
		return err
	}
	_, _, err = s.Sent(ctx, outbox.Entry{
		ChatKey: key, Channel: "web", Seq: out.Seq, Kind: outbox.Send, Part: part, Attempts: 1,
	}, channels.Receipt{ID: "b-1"})
	return err
}
