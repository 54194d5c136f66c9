package inbox

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-bot/parley/channels"
)

// Labels beside the outcomes of the store and the reasons of refusals.
const (
	outMedia    Outcome = "media" // only a file
	outTooLarge         = Outcome(channels.RefusedTooLarge)
	outError    Outcome = "error" // the store failed, or a panic
	outAsked            = "asked" // of a question
)

// metrics of what comes in and of how questions end. Labels never name a chat
// or a person.
type metrics struct {
	messages   *prometheus.CounterVec
	duplicates *prometheus.CounterVec
	confirms   *prometheus.CounterVec
	waited     prometheus.Histogram
	deliveries *prometheus.CounterVec
}

// newMetrics registers with reg (nil: nowhere), and creates the series of the
// channels and tools given, so that their rates start at zero:
//
//	parley_inbound_messages_total{channel,outcome}
//	parley_inbound_duplicates_total{channel}
//	parley_confirmations_total{tool,outcome}
//	parley_confirmation_wait_seconds
//	parley_delivery_reports_total{channel,state}
func newMetrics(reg prometheus.Registerer, names, tools []string) (*metrics, error) {
	m := &metrics{
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_inbound_messages_total", Help: "Messages, edits and presses received, by what became of them.",
		}, []string{"channel", "outcome"}),
		duplicates: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_inbound_duplicates_total", Help: "Messages that were delivered again and dropped.",
		}, []string{"channel"}),
		confirms: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_confirmations_total", Help: "Questions to people: asked, and how they ended.",
		}, []string{"tool", "outcome"}),
		waited: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "parley_confirmation_wait_seconds", Help: "From a question's delivery to its end.",
			Buckets: []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 900, 3600, 86400},
		}),
	}
	m.deliveries = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "parley_delivery_reports_total", Help: "What platforms reported of messages they had taken: delivered, read, failed, or failed of an unknown message.",
	}, []string{"channel", "state"})
	for _, name := range names {
		m.create(name)
	}
	for _, tool := range tools {
		for _, out := range []string{outAsked, "approved", "denied", "replied", "cancelled", "expired", "superseded"} {
			m.confirms.WithLabelValues(tool, out)
		}
	}
	if reg == nil {
		return m, nil
	}
	var errs []error
	for _, c := range []prometheus.Collector{m.messages, m.duplicates, m.confirms, m.waited, m.deliveries} {
		errs = append(errs, reg.Register(c))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("registering metrics of the inbox: %w", err)
	}
	return m, nil
}

func (m *metrics) create(channel string) {
	m.duplicates.WithLabelValues(channel)
	for _, state := range []string{string(channels.Delivered), string(channels.Read), string(channels.Undelivered), stateUnknown} {
		m.deliveries.WithLabelValues(channel, state)
	}
	for _, o := range []Outcome{
		Queued, Duplicate, AnsweredQuestion, Stale, NotYours, OverQueue, OverRate, Ignored, Told, Commanded, outMedia, outError,
	} {
		m.messages.WithLabelValues(channel, string(o))
	}
	for _, r := range []channels.RefusedReason{
		channels.RefusedBlank, channels.RefusedTooLarge, channels.RefusedInvalid, channels.RefusedQueueFull,
		channels.RefusedRate, channels.RefusedUnavailable,
	} {
		m.messages.WithLabelValues(channel, string(r))
	}
}

func (m *metrics) inbound(channel string, out Outcome) {
	m.messages.WithLabelValues(channel, string(out)).Inc()
	if out == Duplicate {
		m.duplicates.WithLabelValues(channel).Inc()
	}
}

func (m *metrics) confirmed(tool, outcome string) { m.confirms.WithLabelValues(tool, outcome).Inc() }
