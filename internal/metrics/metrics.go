// Package metrics has the process's registry of Prometheus metrics.
//
// It owns the registry, the collectors of the Go runtime and of the process,
// and parley_build_info. It owns no other metric: each package makes its own
// from the Registerer it is given, under the prefix parley_, in base units,
// with labels of few values (never a chat or a user).
package metrics

import (
	"net/http"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Registry is the metrics of one process.
type Registry struct {
	reg *prometheus.Registry
}

// New makes a registry for a program of that version. The revision is what
// the Go toolchain recorded of the source, "unknown" where it recorded none.
func New(version string) *Registry {
	reg := prometheus.NewRegistry()
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "parley_build_info",
		Help: "Always 1; the labels tell which build is running.",
	}, []string{"version", "revision", "goversion"})
	info.WithLabelValues(version, revision(), runtime.Version()).Set(1)
	reg.MustRegister(
		info,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return &Registry{reg: reg}
}

// Registerer is what packages register their metrics with.
func (r *Registry) Registerer() prometheus.Registerer { return r.reg }

// Gatherer reads all metrics, for pages that show some.
func (r *Registry) Gatherer() prometheus.Gatherer { return r.reg }

// scrapes bounds the scrapes that are answered at once.
const scrapes = 4

// Handler serves the metrics in the format the scraper asks for.
func (r *Registry) Handler() http.Handler {
	return promhttp.HandlerFor(r.reg, promhttp.HandlerOpts{
		Registry: r.reg,
		// One broken collector must not hide the others.
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: scrapes,
	})
}

func revision() string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}
