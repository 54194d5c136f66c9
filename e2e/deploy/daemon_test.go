//go:build linux

package deploy

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/parley-bot/parley/internal/httpserver"
)

// promised are the metrics that deployments may rely on.
func promised() []string {
	return []string{
		"parley_inbound_messages_total", "parley_inbound_duplicates_total", "parley_turns_total", "parley_turn_duration_seconds",
		"parley_turn_model_seconds", "parley_dispatch_wait_seconds", "parley_turns_active", "parley_chats_queued",
		"parley_queue_depth", "parley_confirmations_total", "parley_confirmations_pending", "parley_confirmation_wait_seconds",
		"parley_tool_calls_total", "parley_tool_duration_seconds", "parley_model_requests_total", "parley_model_duration_seconds",
		"parley_model_tokens_total", "parley_outbox_pending", "parley_outbox_sends_total", "parley_outbox_retries_total",
		"parley_send_duration_seconds", "parley_rate_limited_total", "parley_webhook_requests_total", "parley_webhook_rejected_total",
		"parley_channel_up", "parley_channel_reconnects_total", "parley_store_commit_seconds", "parley_store_batch_size",
		"parley_audit_dropped_total", "parley_build_info", "go_goroutines", "process_cpu_seconds_total", "process_start_time_seconds",
	}
}

// build makes the binary as the image has it.
func build(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "parley")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", bin, "./cmd/parley")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// started is a daemon with the demo's configuration, as the image runs it.
type started struct {
	url string
	cmd *exec.Cmd
	log *bytes.Buffer
}

// start runs bin with the demo's configuration and an audit, in dir. wrap may
// change how.
func start(t *testing.T, dir string, wrap func(*exec.Cmd), bin string) *started {
	t.Helper()
	demo, err := filepath.Abs(filepath.Join(root, "configs", "bakery", "parley.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "parley.yaml"), "include: "+demo+"\naudit: {file: data/audit.jsonl}\n")
	// It is told to end when the test is over, which is after its context.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), bin, "serve")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PARLEY_SERVER_LISTEN=127.0.0.1:0", "PARLEY_LOG_FORMAT=text")
	if wrap != nil {
		wrap(cmd)
	}
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &started{cmd: cmd, log: &bytes.Buffer{}}
	addr, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		listening := regexp.MustCompile(`msg=listening addr=(\S+)`)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.log.WriteString(lines.Text() + "\n")
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				addr <- m[1]
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		<-ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("the daemon ended with %v\n%s", err, s.log)
		}
	})
	select {
	case a := <-addr:
		s.url = "http://" + a
	case <-ended:
		t.Fatalf("the daemon ended\n%s", s.log)
	case <-time.After(time.Minute):
		t.Fatal("the daemon doesn't listen")
	}
	return s
}

func (s *started) call(t *testing.T, method, path, token, body string, into any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if cerr := res.Body.Close(); cmp.Or(err, cerr) != nil {
		t.Fatal(err, cerr)
	}
	if res.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, text)
	}
	switch into := into.(type) {
	case nil:
	case *string:
		*into = string(text)
	default:
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
}

// order has a visitor order something and say yes, and waits for the answer.
// It reads the live events, so that nothing has to be asked twice.
func (s *started) order(t *testing.T) {
	t.Helper()
	var session struct{ Token string }
	s.call(t, "POST", "/chat/api/sessions", "", `{"lang": "en"}`, &session)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/chat/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+session.Token)
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	s.call(t, "POST", "/chat/api/messages", session.Token, `{"text": "I'd like to order 2 croissants, please"}`, nil)
	pressed := false
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct {
			From    string
			Buttons []struct{ ID string }
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		switch {
		case len(e.Buttons) > 0 && !pressed:
			pressed = true
			s.call(t, "POST", "/chat/api/press", session.Token, `{"button": "`+e.Buttons[0].ID+`"}`, nil)
		case pressed && e.From == "bot" && len(e.Buttons) == 0:
			return
		}
	}
	t.Fatalf("no answer came\n%s", s.log)
}

func families(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestDaemon runs one binary for everything that needs it.
func TestDaemon(t *testing.T) {
	t.Parallel()
	bin := build(t)
	t.Run("static", func(t *testing.T) {
		t.Parallel()
		f, err := elf.Open(bin)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		libs, err := f.ImportedLibraries()
		if err != nil || len(libs) > 0 || slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
			t.Errorf("in an image without libraries it needs %v (%v)", libs, err)
		}
	})
	t.Run("metrics", func(t *testing.T) {
		t.Parallel()
		s := start(t, t.TempDir(), nil, bin)
		s.order(t)
		var text string
		s.call(t, "GET", "/metrics", "", "", &text)
		checkMetrics(t, text)
	})
	t.Run("health", func(t *testing.T) {
		t.Parallel()
		s := start(t, t.TempDir(), nil, bin)
		cmd := exec.CommandContext(t.Context(), bin, "health", "--ready")
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "PARLEY_SERVER_LISTEN="+strings.TrimPrefix(s.url, "http://"))
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), `"status":"ready"`) {
			t.Errorf("parley health: %v\n%s", err, out)
		}
	})
	t.Run("sandbox", func(t *testing.T) {
		t.Parallel()
		// As MemoryDenyWriteExecute=yes of the unit: scripts run, and the
		// database works, without memory that is written and executed.
		dir := t.TempDir()
		s := start(t, dir, denyWriteExecute, bin)
		s.order(t)
		if _, err := os.Stat(filepath.Join(dir, "data", "parley.db")); err != nil {
			t.Error(err)
		}
	})
}

func checkMetrics(t *testing.T, text string) {
	t.Helper()
	if out, err := promtool(t, ".", text, "check", "metrics"); err != nil || strings.TrimSpace(out) != "" {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
	have := families(t, text)
	for _, name := range promised() {
		if have[name] == nil {
			t.Errorf("%s is not there", name)
		}
	}
	for name, want := range map[string]map[string]string{
		"parley_turns_total":               {"channel": "web", "outcome": "done"},
		"parley_inbound_messages_total":    {"channel": "web", "outcome": "answered"},
		"parley_confirmations_total":       {"tool": "place_order", "outcome": "approved"},
		"parley_tool_calls_total":          {"tool": "place_order", "outcome": "ok"},
		"parley_model_requests_total":      {"provider": "script", "outcome": "ok"},
		"parley_outbox_sends_total":        {"channel": "web", "outcome": "ok"},
		"parley_channel_up":                {"channel": "web"},
		"parley_confirmation_wait_seconds": {},
		"parley_turn_duration_seconds":     {},
		"parley_store_commit_seconds":      {},
		"parley_dispatch_wait_seconds":     {},
		"process_start_time_seconds":       {},
		"process_resident_memory_bytes":    {},
	} {
		if counted(have[name], want) == 0 {
			t.Errorf("%s%v did not move", name, want)
		}
	}
	checkSelectors(t, have)
}

// counted sums the series that have these labels.
func counted(f *dto.MetricFamily, labels map[string]string) (sum float64) {
	for _, m := range f.GetMetric() {
		same := 0
		for _, l := range m.GetLabel() {
			if v, ok := labels[l.GetName()]; ok && v == l.GetValue() {
				same++
			}
		}
		if same == len(labels) {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return sum
}

// checkSelectors compares what alerts and dashboard ask for with what there is:
// metric, labels, and the values of labels.
func checkSelectors(t *testing.T, have map[string]*dto.MetricFamily) {
	t.Helper()
	queries := dashboard(t).queries()
	for _, a := range alerts(t) {
		queries[a.Alert] = a.Expr
	}
	values := labelValues(have)
	for label, more := range webhookValues(t) {
		values[label] = append(values[label], more...)
	}
	checked := 0
	for where, expr := range queries {
		for _, sel := range selectors(expr) {
			if sel.name == "up" {
				continue
			}
			if strings.HasPrefix(sel.name, "parley_mcp_") { // the demo has no such server
				if !strings.Contains(read(t, "internal", "tool", "mcp", "metrics.go"), `Name: "`+sel.name+`"`) {
					t.Errorf("%s: there is no metric %s", where, sel.name)
				}
				continue
			}
			f := have[sel.name]
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				if base, ok := strings.CutSuffix(sel.name, suffix); f == nil && ok {
					f = have[base]
				}
			}
			if f == nil {
				t.Errorf("%s: there is no metric %s", where, sel.name)
				continue
			}
			for label, want := range sel.wanted() {
				for _, v := range want {
					checked++
					if !slices.Contains(values[f.GetName()+" "+label], v) {
						t.Errorf("%s: %s never has %s=%q", where, sel.name, label, v)
					}
				}
			}
		}
	}
	if checked < 30 {
		t.Errorf("%d values compared, some must have been missed", checked)
	}
}

// labelValues are the values of each label of each metric.
func labelValues(have map[string]*dto.MetricFamily) map[string][]string {
	out := map[string][]string{}
	for name, f := range have {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				out[name+" "+l.GetName()] = append(out[name+" "+l.GetName()], l.GetValue())
			}
		}
	}
	return out
}

// webhookValues are those of a server with a webhook: the demo has none.
func webhookValues(t *testing.T) map[string][]string {
	t.Helper()
	reg := prometheus.NewRegistry()
	_, err := httpserver.New(httpserver.Config{}, httpserver.Deps{
		Registerer: reg, Webhooks: map[string]http.Handler{"any": http.NotFoundHandler()},
	})
	if err != nil {
		t.Fatal(err)
	}
	gathered, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]*dto.MetricFamily{}
	for _, f := range gathered {
		have[f.GetName()] = f
	}
	return labelValues(have)
}
