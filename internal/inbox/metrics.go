package inbox

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of what comes in and of how questions end. Labels never name a chat
// or a person.
type metrics struct {
	messages   *prometheus.CounterVec
	duplicates *prometheus.CounterVec
	confirms   *prometheus.CounterVec
	waited     prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, channels []string) (*metrics, error) {
	m := &metrics{
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_inbound_messages_total", Help: "Messages and presses received, by what became of them.",
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
	if reg == nil {
		return m, nil
	}
	var errs []error
	for _, c := range []prometheus.Collector{m.messages, m.duplicates, m.confirms, m.waited} {
		errs = append(errs, reg.Register(c))
	}
	for _, ch := range channels {
		m.duplicates.WithLabelValues(ch)
		for _, o := range []Outcome{Queued, Duplicate, AnsweredQuestion, Stale, NotYours, OverQueue, OverRate, Ignored, Commanded} {
			m.messages.WithLabelValues(ch, string(o))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("registering metrics of the inbox: %w", err)
	}
	return m, nil
}

func (m *metrics) inbound(channel, outcome string) {
	m.messages.WithLabelValues(channel, outcome).Inc()
}

func (m *metrics) confirmed(tool, outcome string) { m.confirms.WithLabelValues(tool, outcome).Inc() }
