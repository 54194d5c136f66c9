package llm

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Observer hears of every call to a model, from many goroutines at once.
type Observer interface {
	ModelCalled(Observation)
}

// Observation is one call to a model.
type Observation struct {
	Provider string
	Model    string
	// Outcome is OutcomeOK or the [Class] of the failure.
	Outcome  string
	Duration time.Duration
	Usage    Usage // zero where the call failed or the API doesn't say
}

// OutcomeOK is the outcome of a call that was answered.
const OutcomeOK = "ok"

// Metrics is an [Observer] that counts for Prometheus.
type Metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	tokens   *prometheus.CounterVec
}

var _ Observer = (*Metrics)(nil)

// NewMetrics registers the model metrics with reg and creates the series of
// the given models, so that their rates start at zero:
//
//	parley_model_requests_total{provider,model,outcome}
//	parley_model_duration_seconds{provider,model}
//	parley_model_tokens_total{provider,model,direction}   direction: input, output
func NewMetrics(reg prometheus.Registerer, models ...Provider) (*Metrics, error) {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_model_requests_total",
			Help: "Calls to language models by outcome: ok or the class of the failure.",
		}, []string{"provider", "model", "outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "parley_model_duration_seconds",
			Help:    "How long one call to a language model took.",
			Buckets: []float64{0.001, 0.01, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60},
		}, []string{"provider", "model"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_model_tokens_total",
			Help: "Tokens that language models read (input) and wrote (output), as their APIs count them.",
		}, []string{"provider", "model", "direction"}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.duration, m.tokens} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("registering the model metrics: %w", err)
		}
	}
	m.Expect(models...)
	return m, nil
}

// Expect creates the series of further models.
func (m *Metrics) Expect(models ...Provider) {
	for _, p := range models {
		m.precreate(p.Name(), p.Model())
	}
}

func (m *Metrics) precreate(provider, model string) {
	for _, outcome := range []string{
		OutcomeOK, string(RateLimited), string(Overloaded), string(Temporary), string(Timeout),
		string(ContextTooLong), string(Auth), string(BadRequest), string(NoTools), string(Filtered), string(Cancelled),
	} {
		m.requests.WithLabelValues(provider, model, outcome)
	}
	m.duration.WithLabelValues(provider, model)
	m.tokens.WithLabelValues(provider, model, "input")
	m.tokens.WithLabelValues(provider, model, "output")
}

// ModelCalled counts one call.
func (m *Metrics) ModelCalled(o Observation) {
	m.requests.WithLabelValues(o.Provider, o.Model, o.Outcome).Inc()
	m.duration.WithLabelValues(o.Provider, o.Model).Observe(o.Duration.Seconds())
	m.tokens.WithLabelValues(o.Provider, o.Model, "input").Add(float64(max(o.Usage.Input, 0)))
	m.tokens.WithLabelValues(o.Provider, o.Model, "output").Add(float64(max(o.Usage.Output, 0)))
}
