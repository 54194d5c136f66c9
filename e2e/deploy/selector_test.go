//go:build linux

package deploy

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// selector is a metric in a query, with its label matchers as they are written.
type selector struct{ name, labels string }

// selectors finds the metrics in a query by their prefixes.
func selectors(expr string) []selector {
	re := regexp.MustCompile(`\b((?:parley|process|go|up)(?:_[a-z_]+)?)\b(?:\{([^}]*)\})?`)
	var out []selector
	for _, m := range re.FindAllStringSubmatch(noStrings(expr), -1) {
		out = append(out, selector{m[1], ""})
	}
	// The matchers are read from the query as it is.
	at := 0
	for i, s := range out {
		rest := expr[at:]
		loc := regexp.MustCompile(`\b` + s.name + `\b(?:\{((?:[^"}]|"[^"]*")*)\})?`).FindStringSubmatchIndex(rest)
		if loc[2] >= 0 {
			out[i].labels = rest[loc[2]:loc[3]]
		}
		at += loc[1]
	}
	return out
}

// noStrings blanks what stands in quotes, so that a job named parley is no
// metric.
func noStrings(expr string) string {
	return regexp.MustCompile(`"[^"]*"`).ReplaceAllStringFunc(expr, func(s string) string {
		return strings.Repeat(" ", len(s))
	})
}

// wanted are the values that the matchers name literally, by label. What only
// Prometheus or Grafana know (job, instance, variables) isn't among them.
func (s selector) wanted() map[string][]string {
	out := map[string][]string{}
	for _, m := range regexp.MustCompile(`(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"`).FindAllStringSubmatch(s.labels, -1) {
		if slices.Contains([]string{"job", "instance"}, m[1]) {
			continue
		}
		for value := range strings.SplitSeq(m[3], "|") {
			out[m[1]] = append(out[m[1]], value)
		}
	}
	return out
}

func TestSelectors(t *testing.T) {
	t.Parallel()
	got := selectors(`sum by (channel) (rate(parley_turns_total{job="parley",outcome=~"failed|error"}[5m])) / up{job="a}b"} > process_x and go_goroutines`)
	want := []selector{
		{"parley_turns_total", `job="parley",outcome=~"failed|error"`}, {"up", `job="a}b"`}, {"process_x", ""}, {"go_goroutines", ""},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(selector{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string][]string{"outcome": {"failed", "error"}}, got[0].wanted()); diff != "" {
		t.Error(diff)
	}
}
