package app

import (
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-bot/parley/internal/httpserver"
)

// health knows which channels receive.
type health struct {
	mu     sync.Mutex
	state  map[string]httpserver.ChannelState
	gauge  *prometheus.GaugeVec
	starts *prometheus.CounterVec
}

func newHealth(instances []instance, reg prometheus.Registerer) *health {
	h := &health{
		state: map[string]httpserver.ChannelState{},
		gauge: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "parley_channel_up", Help: "1 while the channel receives.",
		}, []string{"channel"}),
		starts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_channel_reconnects_total", Help: "Times a channel had to be started again.",
		}, []string{"channel"}),
	}
	reg.MustRegister(h.gauge, h.starts)
	for _, in := range instances {
		h.state[in.name] = httpserver.ChannelState{Detail: "starting"}
		h.gauge.WithLabelValues(in.name)
		h.starts.WithLabelValues(in.name)
	}
	return h
}

func (h *health) up(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if old := h.state[name]; old.Detail != "starting" {
		h.starts.WithLabelValues(name).Inc()
	}
	h.state[name] = httpserver.ChannelState{Up: true}
	h.gauge.WithLabelValues(name).Set(1)
}

func (h *health) down(name string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := httpserver.ChannelState{Detail: "ended"}
	if err != nil {
		s.Detail = err.Error()
	}
	h.state[name] = s
	h.gauge.WithLabelValues(name).Set(0)
}

func (h *health) states() map[string]httpserver.ChannelState {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.state)
}
