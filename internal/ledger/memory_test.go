package ledger

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/locale"
)

func epoch() time.Time { return time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC) }

func TestKeep_C1(t *testing.T) {
	t.Parallel()
	for window, want := range map[time.Duration]time.Duration{
		0: 30 * time.Minute, time.Minute: 30 * time.Minute, 30 * time.Minute: 30 * time.Minute, time.Hour: time.Hour, -time.Hour: 30 * time.Minute,
	} {
		if got := Keep(window); got != want {
			t.Errorf("Keep(%v) = %v, want %v", window, got, want)
		}
	}
}

func TestRemember_C4(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name            string
		result          string
		failed, unknown bool
		want            bool
	}{
		{"no result", ``, false, false, true},
		{"null", `null`, false, false, true},
		{"text", `"error"`, false, false, true},
		{"object", `{"id":"P-1"}`, false, false, true},
		{"list", `[{"error":"x"}]`, false, false, true},
		{"not JSON", `{"error":`, false, false, true},
		{"error", `{"error":"No order P-1"}`, false, false, false},
		{"error beside others", `{"id":1,"error":{"code":4}}`, false, false, false},
		{"error true", `{"error":true}`, false, false, false},
		{"error number", `{"error":404}`, false, false, false},
		{"error list", `{"error":["x"]}`, false, false, false},
		{"error null", `{"error":null}`, false, false, true},
		{"error false", `{"error":false}`, false, false, true},
		{"error 0", `{"error":0}`, false, false, true},
		{"error blank", `{"error":" "}`, false, false, true},
		{"error empty list", `{"error":[]}`, false, false, true},
		{"error empty object", `{"error":{}}`, false, false, true},
		{"another case of letters", `{"Error":"x"}`, false, false, true},
		{"deeper", `{"data":{"error":"x"}}`, false, false, true},
		{"failed", `{"id":1}`, true, false, false},
		{"C1 unknown outcome", `{"error":"timeout"}`, true, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Remember(json.RawMessage(tt.result), tt.failed, tt.unknown); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func run(id, tool, hash string, ago time.Duration, keep time.Duration) Run {
	ended := epoch().Add(-ago)
	return Run{CallID: id, Tool: tool, Title: "Place order", ArgsHash: hash, EndedAt: ended, KeepUntil: ended.Add(keep)}
}

func TestDuplicate_C3(t *testing.T) {
	t.Parallel()
	half := 30 * time.Minute
	runs := []Run{
		run("old", "order", "h", 9*time.Minute, half), run("new", "order", "h", 4*time.Minute, half),
		run("other args", "order", "g", time.Minute, half), run("other tool", "pay", "h", time.Minute, half),
		run("forgotten", "gone", "h", 31*time.Minute, half), run("future", "clock", "h", -time.Hour, half),
	}
	tests := []struct {
		name, tool, hash string
		window           time.Duration
		want             string
	}{
		{"newest in the window", "order", "h", 10 * time.Minute, "new"},
		{"one second left", "order", "h", 4*time.Minute + time.Second, "new"},
		{"just past the window", "order", "h", 4 * time.Minute, ""},
		{"no window", "order", "h", 0, ""},
		{"negative window", "order", "h", -time.Minute, ""},
		{"other arguments", "order", "x", time.Hour, ""},
		{"by tool", "pay", "h", time.Hour, "other tool"},
		{"forgotten though in the window", "gone", "h", time.Hour, ""},
		{"clock went backwards", "clock", "h", time.Minute, "future"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := Duplicate(runs, tt.tool, tt.hash, tt.window, epoch())
			if got.CallID != tt.want || ok != (tt.want != "") {
				t.Errorf("got %q, %v; want %q", got.CallID, ok, tt.want)
			}
		})
	}
}

func TestPrevious_C1(t *testing.T) {
	t.Parallel()
	noEnd := run("no end", "pay", "h", 29*time.Minute, 0)
	noEnd.KeepUntil = time.Time{}
	long := run("no end, old", "send", "h", 30*time.Minute, 0)
	long.KeepUntil = time.Time{}
	runs := []Run{
		run("new", "order", "h", 29*time.Minute, 30*time.Minute), run("old", "order", "h", 40*time.Minute, time.Hour),
		run("edge", "edge", "h", 30*time.Minute, 30*time.Minute), noEnd, long,
	}
	for tool, want := range map[string]string{"order": "new", "edge": "", "pay": "no end", "send": "", "none": ""} {
		got, ok := Previous(runs, tool, "h", epoch())
		if got.CallID != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v; want %q", tool, got.CallID, ok, want)
		}
	}
	if got, _ := Previous(runs, "order", "h", epoch().Add(2*time.Minute)); got.CallID != "old" {
		t.Errorf("after the newer is forgotten: %q, want the older one that is kept longer", got.CallID)
	}
}

func TestDuplicateResult_C3_ExactShape(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		result  string
		unknown bool
		ago     time.Duration
		want    string
	}{
		{"object", `{"id":"P-1","note":"<b>&"}`, false, 90*time.Second + 999*time.Millisecond, `{"executed":false,"reason":"duplicate","previous":{"result":{"id":"P-1","note":"<b>&"},"secondsAgo":90}}`},
		{"text", `"done"`, false, 0, `{"executed":false,"reason":"duplicate","previous":{"result":"done","secondsAgo":0}}`},
		{"null", `null`, false, time.Second, `{"executed":false,"reason":"duplicate","previous":{"result":null,"secondsAgo":1}}`},
		{"nothing", ``, false, time.Second, `{"executed":false,"reason":"duplicate","previous":{"result":"ok","secondsAgo":1}}`},
		{"not JSON", `{"a`, false, time.Second, `{"executed":false,"reason":"duplicate","previous":{"result":"{\"a","secondsAgo":1}}`},
		{"clock went backwards", `1`, false, -time.Hour, `{"executed":false,"reason":"duplicate","previous":{"result":1,"secondsAgo":0}}`},
		{"unknown", `{"error":"timeout"}`, true, 12 * time.Second, `{"executed":false,"reason":"duplicate","previous":{"outcome":"unknown","secondsAgo":12}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := DuplicateResult(Run{Result: json.RawMessage(tt.result), Unknown: tt.unknown, EndedAt: epoch().Add(-tt.ago)}, epoch())
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDoneNote_C2(t *testing.T) {
	t.Parallel()
	c, err := locale.New("en", nil)
	if err != nil {
		t.Fatal(err)
	}
	half := 30 * time.Minute
	order := run("1", "place_order", "h", 2*time.Minute, half)
	order.Lines, order.Result = []string{"• 5 × cake", "• 2 ×\ncoffee"}, json.RawMessage(`"SECRET RESULT"`)
	pay := run("2", "pay", "h", 10*time.Second, half)
	pay.Title, pay.Unknown = "Pay {actions}", true
	untitled := run("3", "cancel", "h", 3*time.Hour, 4*time.Hour)
	untitled.Title = ""
	forgotten := run("4", "gone", "h", time.Hour, half)
	runs := []Run{order, untitled, forgotten, pay}

	want := `Already done in this conversation, newest first:
- Pay {actions} (pay), just now – outcome uncertain: it may or may not have taken effect
- Place order (place_order), 2 minutes ago
  • 5 × cake
  • 2 × coffee
- cancel, 3 hours ago
Don't do any of these again unless the user asks for it explicitly.`
	if diff := cmp.Diff(want, DoneNote(runs, epoch(), c, "en")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if runs[0].CallID != "1" || runs[3].CallID != "2" {
		t.Error("the caller's runs were reordered")
	}
	es := DoneNote(runs, epoch(), c, "es-CO")
	for _, part := range []string{"Ya hecho", "hace 2 minutos", "resultado incierto", "salvo que el usuario lo pida"} {
		if !strings.Contains(es, part) {
			t.Errorf("%q isn't in %q", part, es)
		}
	}
	if got := DoneNote([]Run{forgotten}, epoch(), c, "en"); got != "" {
		t.Errorf("note of nothing: %q", got)
	}
}

func TestDoneNote_C2_Bounded(t *testing.T) {
	t.Parallel()
	c, err := locale.New("en", nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Repeat([]string{strings.Repeat("ñ", 5000)}, 500)
	var short, long []Run
	for i := range 500 {
		r := run("x", "order", "h", time.Duration(i)*time.Second, 30*time.Minute)
		short = append(short, r)
		r.Lines = lines
		long = append(long, r)
	}
	if got := DoneNote(short, epoch(), c, "en"); strings.Count(got, "- Place order") != 20 || !strings.Contains(got, "\n- and 480 earlier\n") {
		t.Errorf("500 short runs: %s", got)
	}
	// The newest is always told of, with 20 lines of 200 characters.
	got := DoneNote(long, epoch(), c, "en")
	if n := len([]rune(got)); n > 5000 || !strings.Contains(got, "\n- and 499 earlier\n") {
		t.Errorf("500 long runs: %d characters", n)
	}
}
