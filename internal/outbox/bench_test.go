package outbox

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
)

// benchStore does nothing, so that the outbox itself is measured.
type benchStore struct{ done *sync.WaitGroup }

func (benchStore) Chats(context.Context, []string, string, int) ([]string, error) { return nil, nil }
func (benchStore) Next(context.Context, string) (Entry, bool, time.Time, error) {
	return Entry{}, false, time.Time{}, nil
}
func (s benchStore) Sent(context.Context, Entry, channels.Receipt) (Entry, bool, error) {
	s.done.Done()
	return Entry{}, false, nil
}
func (benchStore) Retry(context.Context, Entry, time.Time, bool, string) error { return nil }
func (s benchStore) Failed(context.Context, Entry, bool, string) (Failure, error) {
	s.done.Done()
	return Failure{}, nil
}
func (benchStore) Pending(context.Context) (int, error) { return 0, nil }

type benchAdapter struct{ fakeAdapter }

func (*benchAdapter) Send(context.Context, channels.Part) (channels.Receipt, error) {
	return channels.Receipt{ID: "m"}, nil
}

// BenchmarkTake is one entry handed over, sent and settled per operation.
func BenchmarkTake(b *testing.B) {
	var done sync.WaitGroup
	o := New(Config{MaxChats: 1 << 30}, Deps{Store: benchStore{&done}, Adapters: map[string]channels.Adapter{"tg": new(benchAdapter)}})
	o.Start(b.Context())
	keys := make([]string, 4096)
	for i := range keys {
		keys[i] = fmt.Sprint("tg:", i)
	}
	b.ReportAllocs()
	for n := 0; n < b.N; n += len(keys) {
		batch := min(len(keys), b.N-n)
		done.Add(batch)
		for i := range batch {
			o.Take(Entry{ChatKey: keys[i], Channel: "tg", Seq: int64(n + i + 1), Kind: Send, Attempts: 1})
		}
		done.Wait()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sends/s")
	if err := o.Stop(context.Background()); err != nil {
		b.Fatal(err)
	}
}
