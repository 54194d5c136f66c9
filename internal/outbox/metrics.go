package outbox

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/parley-bot/parley/channels"
)

// Outcomes of a send beside the classes of channels.SendError.
const (
	outOK      = "ok"
	outExpired = "expired" // older than MaxAge
	outDropped = "dropped" // an edit that can't be done
)

type metrics struct {
	sends    *prometheus.CounterVec
	retries  *prometheus.CounterVec
	limited  *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// newMetrics registers with reg (nil: nowhere):
//
//	parley_outbox_pending                         entries that wait, in the store
//	parley_outbox_sends_total{channel,outcome}    calls by ok or class, and entries given up unsent
//	parley_outbox_retries_total{channel}          entries put back
//	parley_send_duration_seconds{channel}         one platform call
//	parley_rate_limited_total{channel}            calls that the platform limited
func newMetrics(reg prometheus.Registerer, store Store) *metrics {
	f := promauto.With(reg)
	p := &pending{store: store}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "parley_outbox_pending", Help: "Messages and edits that wait to be sent.",
	}, p.get)
	return &metrics{
		sends: f.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_outbox_sends_total",
			Help: "Sends and edits by outcome: ok, the class of the failure, expired (too old) or dropped (nothing to edit).",
		}, []string{"channel", "outcome"}),
		retries: f.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_outbox_retries_total", Help: "Messages and edits put back to be sent again.",
		}, []string{"channel"}),
		limited: f.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_rate_limited_total", Help: "Sends that the platform refused for its rate limit.",
		}, []string{"channel"}),
		duration: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "parley_send_duration_seconds", Help: "How long one send or edit took the platform.",
			Buckets: []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
		}, []string{"channel"}),
	}
}

// create makes a channel's series, so that rates start at zero.
func (m *metrics) create(channel string) {
	for _, outcome := range []string{
		outOK, outExpired, outDropped, string(channels.PermanentChat), string(channels.PermanentMessage),
		string(channels.PermanentToken), string(channels.RateLimited), string(channels.Temporary), string(channels.Unknown),
	} {
		m.sends.WithLabelValues(channel, outcome)
	}
	m.retries.WithLabelValues(channel)
	m.limited.WithLabelValues(channel)
	m.duration.WithLabelValues(channel)
}

// pending asks the store when metrics are read, but not more often than every
// pendingAge. Where the store doesn't answer the last number stands.
type pending struct {
	store Store
	mu    sync.Mutex
	asked time.Time
	n     int
}

const (
	pendingAge  = 5 * time.Second
	pendingTime = 2 * time.Second
)

func (p *pending) get() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked.IsZero() || time.Since(p.asked) >= pendingAge {
		ctx, cancel := context.WithTimeout(context.Background(), pendingTime)
		defer cancel()
		if n, err := p.store.Pending(ctx); err == nil {
			p.n = n
		}
		p.asked = time.Now()
	}
	return float64(p.n)
}
