package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	active   prometheus.Gauge
	wait     prometheus.Histogram
	panics   prometheus.Counter
	failures prometheus.Counter
}

// newMetrics registers with reg (nil: nowhere):
//
//	parley_turns_active             turns that run now
//	parley_dispatch_wait_seconds    from the hint to the start of the work
//	parley_dispatch_failures_total  turns whose work failed and is tried again
//	parley_dispatch_panics_total    turns whose work panicked
//	parley_queue_depth              lanes queued in memory
//	parley_chats_queued             lanes with work in the store
//	parley_confirmations_pending    questions that wait for an answer
func newMetrics(reg prometheus.Registerer, d *Dispatcher) *metrics {
	f := promauto.With(reg)
	m := &metrics{
		active: f.NewGauge(prometheus.GaugeOpts{
			Name: "parley_turns_active", Help: "Turns that run now.",
		}),
		wait: f.NewHistogram(prometheus.HistogramOpts{
			Name: "parley_dispatch_wait_seconds", Help: "How long a chat with work waited for a worker.",
			Buckets: []float64{0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300},
		}),
		panics: f.NewCounter(prometheus.CounterOpts{
			Name: "parley_dispatch_panics_total", Help: "Turns whose work panicked.",
		}),
		failures: f.NewCounter(prometheus.CounterOpts{
			Name: "parley_dispatch_failures_total", Help: "Turns whose work failed and is tried again.",
		}),
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "parley_queue_depth", Help: "Chats queued in memory for a worker.",
	}, func() float64 {
		d.mu.Lock()
		defer d.mu.Unlock()
		return float64(d.queue.n)
	})
	w := &waiting{store: d.deps.Store}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "parley_chats_queued", Help: "Chats that have work in the store.",
	}, func() float64 { lanes, _ := w.get(); return float64(lanes) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "parley_confirmations_pending", Help: "Questions that wait for a person's answer.",
	}, func() float64 { _, questions := w.get(); return float64(questions) })
	return m
}

// waiting asks the store when metrics are read, but not more often than every
// waitingAge. Where the store doesn't answer the last numbers stand.
type waiting struct {
	store            Store
	mu               sync.Mutex
	asked            time.Time
	lanes, questions int
}

const (
	waitingAge  = 5 * time.Second
	waitingTime = 2 * time.Second
)

func (w *waiting) get() (lanes, questions int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked.IsZero() || time.Since(w.asked) >= waitingAge {
		ctx, cancel := context.WithTimeout(context.Background(), waitingTime)
		defer cancel()
		if lanes, questions, err := w.store.Waiting(ctx); err == nil {
			w.lanes, w.questions = lanes, questions
		}
		w.asked = time.Now()
	}
	return w.lanes, w.questions
}
