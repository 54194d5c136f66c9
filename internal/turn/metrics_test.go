package turn

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/parley-bot/parley/internal/tool"
)

// What never happened is there as 0: a rate over a series that isn't there yet
// misses the first event.
func TestMetrics_SeriesExistFromTheStart(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	m, err := newMetrics(reg, []string{"web", "sms"})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := tool.NewRegistry([]tool.Tool{
		{Name: "menu", Description: "d", Schema: []byte(`{"type":"object"}`), Runner: noRunner{}},
		{Name: "order", Description: "d", Schema: []byte(`{"type":"object"}`), Runner: noRunner{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.create(nil)
	m.create(tools)
	m.ran("order", "ok", 0)
	m.create(tools) // a reload leaves what was counted
	for name, want := range map[string]int{
		"parley_turns_total": 2 * 5, "parley_tool_calls_total": 2*8 + 1, "parley_tool_duration_seconds": 2,
	} {
		if n, err := testutil.GatherAndCount(reg, name); err != nil || n != want {
			t.Errorf("%s: %d series, want %d (%v)", name, n, want, err)
		}
	}
	if got := testutil.ToFloat64(m.calls.WithLabelValues("order", "ok")); got != 1 {
		t.Errorf("counted %v calls, want 1", got)
	}
	if _, err := newMetrics(reg, nil); err == nil {
		t.Error("registered twice without an error")
	}
	if problems, err := testutil.GatherAndLint(reg); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
}

// noRunner is never run.
type noRunner struct{ tool.Runner }
