package turn

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-bot/parley/internal/tool"
)

// metrics of the tool loop. Labels never name a chat or a person.
type metrics struct {
	turns    *prometheus.CounterVec
	duration prometheus.Histogram
	model    prometheus.Histogram
	calls    *prometheus.CounterVec
	tool     *prometheus.HistogramVec
}

func newMetrics(reg prometheus.Registerer, channels []string) (*metrics, error) {
	buckets := []float64{.001, .005, .025, .1, .5, 1, 2.5, 5, 10, 30, 60, 300}
	m := &metrics{
		turns: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_turns_total", Help: "Turns that ended, by how: done, max_steps, failed, cancelled, error.",
		}, []string{"channel", "outcome"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "parley_turn_duration_seconds", Help: "Work on a turn, waiting for people not counted.", Buckets: buckets,
		}),
		model: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "parley_turn_model_seconds", Help: "Time of a turn's last stretch of work that was spent in model calls.", Buckets: buckets,
		}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_tool_calls_total", Help: "Tool calls that models asked for, by what became of them.",
		}, []string{"tool", "outcome"}),
		tool: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "parley_tool_duration_seconds", Help: "Runs of tools.", Buckets: buckets,
		}, []string{"tool"}),
	}
	if reg == nil {
		return m, nil
	}
	var errs []error
	for _, c := range []prometheus.Collector{m.turns, m.duration, m.model, m.calls, m.tool} {
		errs = append(errs, reg.Register(c))
	}
	for _, ch := range channels {
		for _, outcome := range []string{"done", "max_steps", "failed", "cancelled", "error"} {
			m.turns.WithLabelValues(ch, outcome)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("registering metrics of turns: %w", err)
	}
	return m, nil
}

// create makes the series of tools, so that rates start at zero; making them
// again changes nothing.
func (m *metrics) create(tools *tool.Registry) {
	if tools == nil {
		return
	}
	m.calls.WithLabelValues("", "unknown_tool")
	for _, t := range tools.Tools() {
		for _, outcome := range []string{
			"ok", "error", "timeout", "unknown", "invalid_args", "duplicate", "unavailable", "changed",
		} {
			m.calls.WithLabelValues(t.Name, outcome)
		}
		m.tool.WithLabelValues(t.Name)
	}
}

func (m *metrics) turned(channel, outcome string, worked, model time.Duration) {
	m.turns.WithLabelValues(channel, outcome).Inc()
	m.duration.Observe(worked.Seconds())
	m.model.Observe(model.Seconds())
}

func (m *metrics) ran(name, outcome string, took time.Duration) {
	m.calls.WithLabelValues(name, outcome).Inc()
	m.tool.WithLabelValues(name).Observe(took.Seconds())
}
