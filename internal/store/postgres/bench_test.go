package postgres

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/outbox"
	"github.com/parley-bot/parley/internal/store"
)

// BenchmarkAccept has 256 senders over 1,000 chats.
func BenchmarkAccept(b *testing.B) {
	s := store.New(openDB(b, fresh(b), Options{}))
	parallel(b, 256, "messages/s", func(ctx context.Context, i int64) error {
		d := text(alone(fmt.Sprint("chat", i%1000)), fmt.Sprint(i), "ana")
		return second(s.Accept(ctx, d))
	})
}

// BenchmarkPlainTurn is T0, T1, T2, T6 and T8 of turns without tools, 200
// chats at once.
func BenchmarkPlainTurn(b *testing.B) {
	s := store.New(openDB(b, fresh(b), Options{}))
	var chats atomic.Int64
	parallel(b, 200, "turns/s", func(ctx context.Context, i int64) error {
		p := alone(fmt.Sprint("chat", chats.Add(1)%100_000))
		return plainTurn(ctx, s, text(p, fmt.Sprint(i), "ana"))
	})
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
	f := answer(d.Place, w.Queue[0].Seq, "")
	f.Own = true
	out, err := s.Finish(ctx, l, f)
	if err != nil {
		return err
	}
	if err := s.Release(ctx, l); err != nil {
		return err
	}
	e := outbox.Entry{ChatKey: d.Place.ChatKey, Channel: "web", Seq: out.Seq, Kind: outbox.Send, Part: f.Say[0]}
	return second2(s.Sent(ctx, e, channels.Receipt{ID: "m"}))
}

// parallel runs do b.N times.
func parallel(b *testing.B, workers int, unit string, do func(ctx context.Context, i int64) error) {
	b.Helper()
	var n atomic.Int64
	start := time.Now()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := n.Add(1); i <= int64(b.N); i = n.Add(1) {
				if err := do(b.Context(), i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), unit)
}
