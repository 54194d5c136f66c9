package httpserver

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// unknownChannel is the label of requests for channels that don't exist.
const unknownChannel = "unknown"

// instruments are the metrics of webhooks.
type instruments struct {
	requests *prometheus.CounterVec
	rejected *prometheus.CounterVec
}

func newInstruments(reg prometheus.Registerer, channels map[string]http.Handler) *instruments {
	m := &instruments{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_webhook_requests_total",
			Help: "Webhook requests by channel and status code.",
		}, []string{"channel", "code"}),
		rejected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_webhook_rejected_total",
			Help: "Webhook requests that were not taken, by channel and reason.",
		}, []string{"channel", "reason"}),
	}
	if reg != nil {
		reg.MustRegister(m.requests, m.rejected)
	}
	// So that rates begin at zero.
	m.requests.WithLabelValues(unknownChannel, strconv.Itoa(http.StatusNotFound))
	m.rejected.WithLabelValues(unknownChannel, reason(http.StatusNotFound))
	for name := range channels {
		m.requests.WithLabelValues(name, "200")
		for _, code := range []int{http.StatusUnauthorized, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable} {
			m.rejected.WithLabelValues(name, reason(code))
		}
	}
	return m
}

func (m *instruments) webhook(channel string, code int) {
	m.requests.WithLabelValues(channel, strconv.Itoa(code)).Inc()
	if r := reason(code); r != "" {
		m.rejected.WithLabelValues(channel, r).Inc()
	}
}

// reason groups the codes of requests that were not taken; "" for the others.
func reason(code int) string {
	switch {
	case code < http.StatusBadRequest:
		return ""
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return "unauthorized" // wrong or missing signature
	case code == http.StatusNotFound:
		return "not_found"
	case code == http.StatusMethodNotAllowed:
		return "method"
	case code == http.StatusRequestEntityTooLarge:
		return "too_large"
	case code == http.StatusTooManyRequests:
		return "rate"
	case code == http.StatusServiceUnavailable:
		return "unavailable"
	case code < http.StatusInternalServerError:
		return "invalid"
	default:
		return "error"
	}
}
