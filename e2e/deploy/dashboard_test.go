//go:build linux

package deploy

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

type board struct {
	UID        string
	Title      string
	Panels     []panel
	Templating struct {
		List []struct {
			Name, Type string
			Definition string
		}
	}
	Annotations struct {
		List []struct{ Name, Expr string }
	}
}

type panel struct {
	ID          int
	Type        string
	Title       string
	Description string
	GridPos     struct{ H, W, X, Y int }
	Datasource  struct{ UID string }
	Targets     []struct {
		RefID        string
		Expr         string
		LegendFormat string
		Datasource   struct{ UID string }
	}
}

func dashboard(t *testing.T) board {
	t.Helper()
	var b board
	if err := json.Unmarshal([]byte(read(t, "deploy", "grafana", "dashboards", "parley.json")), &b); err != nil {
		t.Fatal(err)
	}
	if len(b.Panels) < 20 {
		t.Fatalf("%d panels found", len(b.Panels))
	}
	return b
}

// plain puts values where Grafana does.
func plain(expr string) string {
	return strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$job", ".+", "$instance", ".+",
		"$input_price", "0.25", "$output_price", "2").Replace(expr)
}

// queries are all expressions of the dashboard, by where they are.
func (b board) queries() map[string]string {
	out := map[string]string{}
	for _, p := range b.Panels {
		for _, q := range p.Targets {
			out[p.Title+"/"+q.RefID] = q.Expr
		}
	}
	for _, a := range b.Annotations.List {
		out[a.Name] = a.Expr
	}
	return out
}

func TestDashboard_PromtoolTakesEveryQuery(t *testing.T) {
	t.Parallel()
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []rule
	for where, expr := range dashboard(t).queries() {
		expr = plain(expr)
		if strings.Contains(expr, "$") {
			t.Errorf("%s has a variable that nothing sets: %s", where, expr)
		}
		rules = append(rules, rule{fmt.Sprintf("q:%d", len(rules)), expr})
	}
	// JSON is YAML.
	text, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "rules.yml"), string(text))
	if out, err := promtool(t, dir, "", "check", "rules", "--lint=none", "rules.yml"); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

func TestDashboard_PanelsAreWhole(t *testing.T) {
	t.Parallel()
	b := dashboard(t)
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range b.Panels {
		if ids[p.ID] || p.ID == 0 {
			t.Errorf("%s: id %d is taken", p.Title, p.ID)
		}
		ids[p.ID] = true
		g := p.GridPos
		if g.W < 1 || g.H < 1 || g.X < 0 || g.X+g.W > 24 {
			t.Errorf("%s: stands at %+v", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("%s and %s overlap", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Title == "" || len(p.Description) < 20 {
			t.Errorf("%q: description %q", p.Title, p.Description)
		}
		if len(p.Targets) == 0 && p.Type != "alertlist" {
			t.Errorf("%s asks nothing", p.Title)
		}
		if p.Datasource.UID != "${datasource}" {
			t.Errorf("%s: data source %q", p.Title, p.Datasource.UID)
		}
		for _, q := range p.Targets {
			if q.Datasource.UID != "${datasource}" {
				t.Errorf("%s/%s: data source %q", p.Title, q.RefID, q.Datasource.UID)
			}
			for _, sel := range selectors(q.Expr) {
				if !strings.Contains(sel.labels, `job=~"$job",instance=~"$instance"`) {
					t.Errorf("%s/%s: %s isn't of the chosen job and instance", p.Title, q.RefID, sel.name)
				}
			}
		}
	}
}

// A legend can only name what the query leaves.
func TestDashboard_LegendsNameLabelsThatAreLeft(t *testing.T) {
	t.Parallel()
	by := regexp.MustCompile(`^\(?(?:sum|max|min|count) by \(([a-z, ]+)\)`)
	count := 0
	for _, p := range dashboard(t).Panels {
		for _, q := range p.Targets {
			left := []string{"instance", "job"} // of a query that sums nothing
			expr := q.Expr
			if inner, ok := strings.CutPrefix(expr, "histogram_quantile("); ok {
				_, expr, _ = strings.Cut(inner, ", ")
			}
			if m := by.FindStringSubmatch(expr); m != nil {
				left = strings.Split(strings.ReplaceAll(m[1], " ", ""), ",")
			} else if strings.HasPrefix(expr, "sum(") || strings.HasPrefix(expr, "max(") {
				left = nil
			}
			for _, m := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(q.LegendFormat, -1) {
				count++
				if !slices.Contains(left, m[1]) {
					t.Errorf("%s/%s: the legend names %s, the query leaves %v", p.Title, q.RefID, m[1], left)
				}
			}
		}
	}
	if count < 20 {
		t.Errorf("%d names in legends found, some must have been missed", count)
	}
}

// The questions that the dashboard is there for.
func TestDashboard_AnswersTheQuestions(t *testing.T) {
	t.Parallel()
	all := ""
	for _, expr := range dashboard(t).queries() {
		all += expr + "\n"
	}
	for question, metrics := range map[string][]string{
		"who waits":                  {"parley_dispatch_wait_seconds", "parley_chats_queued", "parley_confirmations_pending"},
		"which channel is down":      {"parley_channel_up", "parley_channel_reconnects_total"},
		"who has to mend something":  {"parley_channel_state", "parley_config_last_reload_successful", "parley_mcp_tools_quarantined"},
		"what models cost":           {"parley_model_tokens_total", "parley_model_requests_total"},
		"how slow models are":        {"parley_model_duration_seconds", "parley_turn_model_seconds"},
		"what tools do, how slow":    {"parley_tool_calls_total", "parley_tool_duration_seconds"},
		"confirmations, their times": {"parley_confirmations_total", "parley_confirmation_wait_seconds"},
		"backlog":                    {"parley_outbox_pending", "parley_queue_depth", "parley_turns_active"},
		"errors by kind": {
			"parley_turns_total", "parley_outbox_sends_total", "parley_webhook_rejected_total", "parley_dispatch_panics_total",
			"parley_audit_retries_total", "parley_inbound_messages_total",
		},
	} {
		for _, m := range metrics {
			if !strings.Contains(all, m) {
				t.Errorf("%s: %s is not asked for", question, m)
			}
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
