package dispatch

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/parley-bot/parley/internal/lease"
)

// BenchmarkDispatch is one lane woken, claimed and worked on per operation.
func BenchmarkDispatch(b *testing.B) {
	s := newStore()
	keys := make([]string, 4096)
	for i := range keys {
		keys[i] = fmt.Sprint("lane-", i)
	}
	var done sync.WaitGroup
	done.Add(b.N)
	d := New(Config{}, Deps{Store: s, Work: func(_ context.Context, got lease.Lane) (bool, error) {
		more, err := s.finish(got)
		done.Done()
		return more, err
	}})
	d.Start(b.Context())
	b.ReportAllocs()
	for i := range b.N {
		key := keys[i%len(keys)]
		s.add(key, 1)
		d.Wake(key)
	}
	done.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lanes/s")
	if err := d.Stop(context.Background()); err != nil {
		b.Fatal(err)
	}
}
