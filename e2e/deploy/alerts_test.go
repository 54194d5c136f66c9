//go:build linux

package deploy

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []alert
	}
}

type alert struct {
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

func alerts(t *testing.T) []alert {
	t.Helper()
	var f ruleFile
	decode(t, read(t, "deploy", "alerts.yml"), &f)
	var all []alert
	for _, g := range f.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

func TestAlerts_PromtoolTakesThem(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(root, "deploy")
	for _, args := range [][]string{
		{"check", "rules", "--lint=all", "--lint-fatal", "alerts.yml"},
		{"check", "config", "--lint=all", "--lint-fatal", "prometheus.yml"},
	} {
		if out, err := promtool(t, dir, "", args...); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// A rule that can't be parsed has to fail, or the test above says nothing.
func TestAlerts_PromtoolRefusesWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "bad.yml"), "groups: [{name: a, rules: [{alert: B, expr: 'sum('}]}]\n")
	if out, err := promtool(t, dir, "", "check", "rules", "bad.yml"); err == nil {
		t.Errorf("promtool takes a broken rule:\n%s", out)
	}
}

func TestAlerts_EachFiresAndStaysQuiet(t *testing.T) {
	t.Parallel()
	if out, err := promtool(t, "testdata", "", "test", "rules", "alerts_test.yml"); err != nil {
		t.Errorf("promtool test rules: %v\n%s", err, out)
	}
	var played struct {
		RuleFiles          []string `yaml:"rule_files"`
		EvaluationInterval string   `yaml:"evaluation_interval"`
		Tests              []struct {
			Name        string
			Interval    string
			InputSeries []struct{ Series, Values string } `yaml:"input_series"`
			Checks      []struct {
				Expr       string
				EvalTime   string `yaml:"eval_time"`
				ExpSamples []struct {
					Labels string
					Value  float64
				} `yaml:"exp_samples"`
			} `yaml:"promql_expr_test"`
		}
	}
	decode(t, read(t, "e2e", "deploy", "testdata", "alerts_test.yml"), &played)
	fires, quiet := map[string]int{}, map[string]int{}
	name := regexp.MustCompile(`alertname="(\w+)"`)
	for _, test := range played.Tests {
		fired := false
		of := ""
		for _, c := range test.Checks {
			m := name.FindStringSubmatch(c.Expr)
			if m == nil || !strings.HasPrefix(test.Name, m[1]+": ") {
				t.Errorf("%s: looks at %q", test.Name, c.Expr)
				continue
			}
			of = m[1]
			fired = fired || len(c.ExpSamples) > 0
		}
		if fired {
			fires[of]++
		} else {
			quiet[of]++
		}
	}
	for _, a := range alerts(t) {
		if fires[a.Alert] == 0 || quiet[a.Alert] == 0 {
			t.Errorf("%s: played %d times to fire and %d times to stay quiet", a.Alert, fires[a.Alert], quiet[a.Alert])
		}
	}
}

func TestAlerts_SayWhatToDo(t *testing.T) {
	t.Parallel()
	all := alerts(t)
	if len(all) != 13 {
		t.Errorf("%d alerts, want 13", len(all))
	}
	const page = "https://github.com/parley-bot/parley/blob/main/docs/operations.md#"
	var headings []string
	for _, m := range regexp.MustCompile(`(?m)^### (Parley\w+)$`).FindAllStringSubmatch(read(t, "docs", "operations.md"), -1) {
		headings = append(headings, m[1])
	}
	for _, a := range all {
		if !slices.Contains([]string{"critical", "warning"}, a.Labels["severity"]) {
			t.Errorf("%s: severity %q", a.Alert, a.Labels["severity"])
		}
		if a.For == "" {
			t.Errorf("%s: fires at the first sample", a.Alert)
		}
		for _, key := range []string{"summary", "description", "runbook"} {
			if len(a.Annotations[key]) < 20 {
				t.Errorf("%s: %s is %q", a.Alert, key, a.Annotations[key])
			}
		}
		if a.Annotations["runbook_url"] != page+strings.ToLower(a.Alert) {
			t.Errorf("%s: runbook_url %s", a.Alert, a.Annotations["runbook_url"])
		}
		at := slices.Index(headings, a.Alert)
		if at < 0 {
			t.Errorf("%s has no section in docs/operations.md", a.Alert)
			continue
		}
		headings = slices.Delete(headings, at, at+1)
	}
	if len(headings) > 0 {
		t.Errorf("docs/operations.md tells of alerts that don't exist: %v", headings)
	}
}
