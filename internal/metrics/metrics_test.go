package metrics

import (
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
)

func TestRegistry_Handler(t *testing.T) {
	t.Parallel()
	r := New("1.2.3")
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "parley_things_total", Help: "Things."})
	r.Registerer().MustRegister(c)
	c.Add(3)
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	body := w.Body.String()
	for _, want := range []string{
		`parley_build_info{goversion="` + runtime.Version() + `",revision="`,
		`version="1.2.3"} 1`, "parley_things_total 3", "go_goroutines ", "process_start_time_seconds ",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in the answer", want)
		}
	}
}

func TestRegistry_Lint(t *testing.T) {
	t.Parallel()
	families, err := New("x").Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	families = slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return !strings.HasPrefix(f.GetName(), "parley_") })
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 || len(families) == 0 {
		t.Errorf("%v %v", problems, err)
	}
}

func TestRegistry_Apart(t *testing.T) {
	t.Parallel()
	a, b := New("a"), New("b")
	for _, r := range []*Registry{a, b} {
		// The same metric in two registries is no clash: nothing is global.
		r.Registerer().MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "parley_x_total", Help: "X."}))
	}
}
