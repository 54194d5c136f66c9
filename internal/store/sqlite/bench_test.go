//go:build unix

package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/outbox"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/store/sqlite"
	"github.com/parley-bot/parley/internal/turn"
)

func delivery(chat, id int) inbox.Delivery {
	c := fmt.Sprintf("chat%d", chat)
	key := "web:" + c
	return inbox.Delivery{
		Place:     inbox.Place{Channel: "web", Lane: key, ChatKey: key, Chat: channels.Chat{ID: channels.ChatID(c)}},
		DedupeKey: fmt.Sprintf("web:web:%s:message:%d", c, id),
		In: channels.Inbound{
			Kind: channels.KindMessage, ID: channels.MessageID(fmt.Sprint(id)), Chat: channels.Chat{ID: channels.ChatID(c)},
			From: channels.User{ID: channels.UserID(c), Lang: "en"}, Text: "two coffees and a croissant please",
		},
		Answers: true, Routed: true, QueueMax: 50,
	}
}

// BenchmarkAccept has 256 senders over 1,000 chats: once with a commit for
// every message, once with group commit, on this disk and on one whose sync
// takes 2 ms (a consumer SSD, a cloud volume). The ratio of two neighbours is
// what group commit gains.
func BenchmarkAccept(b *testing.B) {
	for _, disk := range []struct {
		name string
		sync time.Duration
	}{{"this", 0}, {"2ms", 2 * time.Millisecond}} {
		for _, batch := range []int{1, 512} {
			b.Run(fmt.Sprintf("disk=%s/batch=%d", disk.name, batch), func(b *testing.B) {
				s := openWith(b, sqlite.Options{BatchMax: batch, OnCommit: slowDisk(disk.sync)})
				cpu := cpuTime()
				rate := accept(b, s, 256)
				b.ReportMetric(rate, "messages/s")
				b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/float64(b.N), "cpu-us/message")
			})
		}
	}
}

// slowDisk makes each commit take longer by d, as a disk's sync would.
func slowDisk(d time.Duration) func(int64, string) {
	if d == 0 {
		return nil
	}
	return func(_ int64, phase string) {
		if phase == "before" {
			timer := time.NewTimer(d)
			<-timer.C
		}
	}
}

func accept(b *testing.B, s *store.Store, senders int) (perSecond float64) {
	var n atomic.Int64
	start := time.Now()
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			for {
				i := n.Add(1)
				if i > int64(b.N) {
					return
				}
				d := delivery(int(i)%1000, int(i))
				d.QueueMax = 0
				if _, err := s.Accept(b.Context(), d); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(b.N) / time.Since(start).Seconds()
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkPlainTurn is T0, T1, T2, T6 and T8 of turns without tools, 200
// chats at once.
func BenchmarkPlainTurn(b *testing.B) {
	s := open(b)
	ctx := context.Background()
	var n atomic.Int64
	start := time.Now()
	var wg sync.WaitGroup
	for chat := range 200 {
		wg.Go(func() {
			for {
				i := n.Add(1)
				if i > int64(b.N) {
					return
				}
				d := delivery(chat, int(i))
				if err := plainTurn(ctx, s, d); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "turns/s")
}

func plainTurn(ctx context.Context, s *store.Store, d inbox.Delivery) error {
	if _, err := s.Accept(ctx, d); err != nil {
		return err
	}
	l, ok, err := s.Claim(ctx, d.Place.Lane)
	if err != nil || !ok {
		return fmt.Errorf("claim %v: %w", ok, err)
	}
	w, err := s.Load(ctx, l, 40)
	if err != nil {
		return err
	}
	part := channels.Part{Chat: d.Place.Chat, Text: "Here you are."}
	f, err := s.Finish(ctx, l, turn.Finish{
		SeqTo: w.Queue[0].Seq, State: "done", Own: true,
		Lines: []turn.Line{{Role: "user", Text: d.In.Text}, {Role: "assistant", Text: part.Text}},
		Say:   []channels.Part{part},
	})
	if err != nil {
		return err
	}
	if err := s.Release(ctx, l); err != nil {
		return err
	}
	if !f.Born {
		return fmt.Errorf("entry %d was not born sending", f.Seq)
	}
	_, _, err = s.Sent(ctx, outbox.Entry{ChatKey: d.Place.ChatKey, Channel: "web", Seq: f.Seq, Kind: outbox.Send, Part: part}, channels.Receipt{ID: "m"})
	return err
}

func open(tb testing.TB) *store.Store { return openWith(tb, sqlite.Options{}) }

func openWith(tb testing.TB, opts sqlite.Options) *store.Store {
	db, err := sqlite.Open(context.Background(), filepath.Join(tb.TempDir(), "parley.db"), opts)
	if err != nil {
		tb.Fatal(err)
	}
	s := store.New(db)
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}
