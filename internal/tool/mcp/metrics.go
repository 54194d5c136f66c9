package mcptool

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of MCP servers. Labels are names of the configuration.
type metrics struct {
	up          *prometheus.GaugeVec
	restarts    *prometheus.CounterVec
	quarantined *prometheus.GaugeVec
	caught      *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer, servers []Server) (*metrics, error) {
	m := &metrics{
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "parley_mcp_server_up", Help: "1 while the session with an MCP server is open.",
		}, []string{"server"}),
		restarts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_mcp_reconnects_total", Help: "Times that a session with an MCP server had to be opened anew.",
		}, []string{"server"}),
		quarantined: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "parley_mcp_tools_quarantined", Help: "Allowed tools of an MCP server that are not offered now.",
		}, []string{"server"}),
		caught: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_mcp_quarantines_total", Help: "Times that a tool went into quarantine, by why: unpinned, changed, missing, invalid.",
		}, []string{"server", "reason"}),
	}
	var errs []error
	if reg != nil {
		for _, c := range []prometheus.Collector{m.up, m.restarts, m.quarantined, m.caught} {
			errs = append(errs, reg.Register(c))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("registering metrics of MCP servers: %w", err)
	}
	for _, s := range servers {
		m.up.WithLabelValues(s.Name)
		m.restarts.WithLabelValues(s.Name)
		m.quarantined.WithLabelValues(s.Name)
		for _, r := range []Reason{Unpinned, Changed, Missing, Invalid} {
			m.caught.WithLabelValues(s.Name, string(r))
		}
	}
	return m, nil
}
