package llm_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/parley-bot/parley/internal/llm"
)

// gathered flattens counters, and counts of histograms, to name{labels} → value.
func gathered(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		if f.GetHelp() == "" {
			t.Errorf("%s has no help", f.GetName())
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			value := m.GetCounter().GetValue()
			if f.GetType() == dto.MetricType_HISTOGRAM {
				value = float64(m.GetHistogram().GetSampleCount())
			}
			out[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = value
		}
	}
	return out
}

func TestMetrics_CountsCallsAndTokens(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	a, b := &fake{name: "a", steps: []step{{class: llm.Auth}}}, &fake{name: "b", steps: []step{{}}}
	metrics, err := llm.NewMetrics(reg, a, b)
	if err != nil {
		t.Fatal(err)
	}
	fresh := gathered(t, reg)
	for _, series := range []string{
		"parley_model_requests_total{model=m,outcome=rate_limited,provider=a}",
		"parley_model_duration_seconds{model=m,provider=b}",
		"parley_model_tokens_total{direction=output,model=m,provider=b}",
	} {
		if v, ok := fresh[series]; !ok || v != 0 {
			t.Errorf("%s isn't there from the start at 0", series)
		}
	}
	if _, err := llm.NewChain(members(a, b), llm.Options{Observer: metrics}).Generate(t.Context(), llm.Request{}, nil); err != nil {
		t.Fatal(err)
	}
	got := gathered(t, reg)
	for series, want := range map[string]float64{
		"parley_model_requests_total{model=m,outcome=auth,provider=a}":   1,
		"parley_model_requests_total{model=m,outcome=ok,provider=b}":     1,
		"parley_model_duration_seconds{model=m,provider=a}":              1,
		"parley_model_tokens_total{direction=input,model=m,provider=b}":  3,
		"parley_model_tokens_total{direction=output,model=m,provider=b}": 2,
		"parley_model_tokens_total{direction=input,model=m,provider=a}":  0,
	} {
		if got[series] != want {
			t.Errorf("%s = %v, want %v", series, got[series], want)
		}
	}
}

func TestNewMetrics_TwiceOnOneRegistry(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	if _, err := llm.NewMetrics(reg); err != nil {
		t.Fatal(err)
	}
	if _, err := llm.NewMetrics(reg); err == nil {
		t.Error("the second registration isn't refused")
	}
}
