package tooltest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/parley-bot/parley/internal/tool"
)

// Behaviour is what a tool made for the suite does.
type Behaviour string

// The behaviours.
const (
	Echo    Behaviour = "echo"    // gives its arguments back, as an object
	Text    Behaviour = "text"    // gives the string "hola"
	Nothing Behaviour = "nothing" // gives no value
	Fails   Behaviour = "fails"   // fails each time
	Hangs   Behaviour = "hangs"   // goes on until its context ends
	Large   Behaviour = "large"   // gives 100 KiB or more, none of it ASCII only
	WhoAmI  Behaviour = "whoami"  // gives {"user": …, "chat": …} of the identity
	Barred  Behaviour = "barred"  // can't be run with [BarredArgs] by anybody
)

// Factory makes a tool with a behaviour; ok is false where the kind can't have
// it, and what depends on it is then not demanded. It may be called often.
type Factory func(t *testing.T, b Behaviour) (r tool.Runner, ok bool)

// Run demands of the runners that factory makes what every kind owes.
func Run(t *testing.T, factory Factory) {
	t.Helper()
	for _, c := range []struct {
		name  string
		needs Behaviour
		check func(t *testing.T, r tool.Runner)
	}{
		{"EchoKeepsValues", Echo, echo},
		{"A7_TextGoesAsItIs", Text, text},
		{"A7_NoValueIsOk", Nothing, nothing},
		{"A4_FailureIsAResult", Fails, fails},
		{"A5_TimeoutAborts", Hangs, timeout},
		{"A5_EndOfContextEndsTheRun", Hangs, cancelled},
		{"A5_EndedContextRunsNothingForLong", Hangs, ended},
		{"E5_OutputIsCapped", Large, large},
		{"E1_IdentityIsNeverAnArgument", WhoAmI, identity},
		{"A10_ReadyTellsWhatRunWould", Barred, barred},
		{"A10_ReadyLetsOthersRun", Echo, unbarred},
		{"JunkArgumentsDontPanic", Echo, junk},
		{"CallsAreIsolated", Echo, isolated},
		{"CallersAreIsolated", WhoAmI, callers},
	} {
		r, ok := factory(t, c.needs)
		if !ok {
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.check(t, r) })
	}
}

// Call is a call by somebody with a chat of the same number.
func Call(n int, args string) tool.Call {
	return tool.Call{
		ID: fmt.Sprintf("turn.1.%d", n), Tool: "tool", Args: json.RawMessage(args), Lang: "en",
		Identity: tool.Identity{
			ChatKey: fmt.Sprintf("web:chat%d", n), Channel: "web", UserID: fmt.Sprintf("user%d", n),
			Claims: map[string]string{"phone": fmt.Sprintf("+57%d", n)},
		},
		Store: NewStore(),
	}
}

func must(t *testing.T, r tool.Runner, call tool.Call) tool.Result {
	t.Helper()
	res, err := r.Run(t.Context(), call)
	if err != nil {
		t.Errorf("call %s: operator's error: %v", call.ID, err)
	}
	return res
}

func echo(t *testing.T, r tool.Runner) {
	for i, args := range []string{
		`{}`, `{"a":1,"b":"x"}`, `{"n":-0.5,"l":[1,[2,{"c":null}]],"t":true,"f":false}`,
		`{"text":"línea\n\"x\" <b>&'🙂 \u0000 \u2028"}`, `{"max":9007199254740991}`,
	} {
		res := must(t, r, Call(i, args))
		if res.Failed || tool.ArgsHash(res.Value) != tool.ArgsHash(json.RawMessage(args)) {
			t.Errorf("%s came back as %s (failed: %v)", args, res.Value, res.Failed)
		}
	}
}

func text(t *testing.T, r tool.Runner) {
	res := must(t, r, Call(1, `{}`))
	if got := tool.Content(res, 0); got != "hola" || res.Failed {
		t.Errorf("content %q, failed %v", got, res.Failed)
	}
}

func nothing(t *testing.T, r tool.Runner) {
	res := must(t, r, Call(1, `{}`))
	if got := tool.Content(res, 0); got != "ok" || res.Failed || res.Value != nil {
		t.Errorf("content %q of %q, failed %v", got, res.Value, res.Failed)
	}
}

func fails(t *testing.T, r tool.Runner) {
	res := must(t, r, Call(1, `{}`))
	if !res.Failed || len(res.Writes) > 0 {
		t.Errorf("failed %v, writes %v", res.Failed, res.Writes)
	}
	var v struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(res.Value, &v); err != nil || v.Error == "" {
		t.Errorf("a failure must be {\"error\": …}, not %s", res.Value)
	}
}

// BarredArgs hold a number that a script can't.
const BarredArgs = `{"n":9007199254740993}`

func barred(t *testing.T, r tool.Runner) {
	ready, ok := r.(tool.Readier)
	if !ok {
		t.Fatal("it can't say whether it can be run")
	}
	call := Call(1, BarredArgs)
	fail := ready.Ready(t.Context(), call)
	if fail == nil || !fail.Failed || fail.Unknown {
		t.Fatalf("Ready gives %+v, want a failure", fail)
	}
	if res := must(t, r, call); string(res.Value) != string(fail.Value) || !res.Failed {
		t.Errorf("Ready gives %s, Run %s", fail.Value, res.Value)
	}
}

func unbarred(t *testing.T, r tool.Runner) {
	ready, ok := r.(tool.Readier)
	if !ok {
		return
	}
	if fail := ready.Ready(t.Context(), Call(1, `{"a":1}`)); fail != nil {
		t.Errorf("Ready gives %s for a call that can be run", fail.Value)
	}
}

// patience is far more than any abort takes, and far less than a hang.
const patience = 5 * time.Second

func timeout(t *testing.T, r tool.Runner) {
	start := time.Now()
	l := tool.NewLimiter(patience)
	res, err := l.RunLimited(t.Context(), r, Call(1, `{}`), 50*time.Millisecond)
	if err != nil || !res.Failed || !res.TimedOut || len(res.Writes) > 0 {
		t.Errorf("result %+v, error %v", res, err)
	}
	if d := time.Since(start); d >= patience || l.Abandoned() != 0 {
		t.Errorf("came back after %s, %d abandoned", d, l.Abandoned())
	}
}

func cancelled(t *testing.T, r tool.Runner) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = r.Run(ctx, Call(1, `{}`)) // only that it ends
	}()
	cancel()
	select {
	case <-done:
	case <-time.After(patience):
		t.Error("the run didn't end with its context")
	}
}

func ended(t *testing.T, r tool.Runner) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	res, err := r.Run(ctx, Call(1, `{}`))
	if err == nil && !res.Failed {
		t.Errorf("a run under an ended context gave %s", res.Value)
	}
	if d := time.Since(start); d >= patience {
		t.Errorf("took %s", d)
	}
}

func large(t *testing.T, r tool.Runner) {
	res := must(t, r, Call(1, `{}`))
	got := tool.Content(res, 0)
	if len(got) > tool.DefaultOutputCap || !utf8.ValidString(got) {
		t.Errorf("%d bytes, valid UTF-8 %v", len(got), utf8.ValidString(got))
	}
	if !strings.Contains(got, "[cut:") {
		t.Errorf("the cut is not marked: …%s", got[max(0, len(got)-60):])
	}
	if len(res.Value) > 2*tool.DefaultOutputCap {
		t.Errorf("the result itself holds %d bytes", len(res.Value))
	}
}

func identity(t *testing.T, r tool.Runner) {
	forged := `{"user":"mallory","user_id":"mallory","userId":"mallory","chat":"web:other","chat_key":"web:other","chatKey":"web:other",` +
		`"identity":{"user_id":"mallory"},"ctx":{"user":{"id":"mallory"}},"__proto__":{"user":"mallory"},"claims":{"phone":"+1"}}`
	if got := must(t, r, Call(7, forged)); !isCaller(got, 7) {
		t.Errorf("made for user7 in web:chat7, it saw %s", got.Value)
	}
}

func isCaller(res tool.Result, n int) bool {
	var v struct{ User, Chat string }
	return json.Unmarshal(res.Value, &v) == nil &&
		v.User == fmt.Sprintf("user%d", n) && v.Chat == fmt.Sprintf("web:chat%d", n)
}

func junk(t *testing.T, r tool.Runner) {
	l := tool.NewLimiter(patience)
	for i, args := range []string{
		``, `null`, `[]`, `"x"`, `1`, `{`, `{"a":`, "\xff", `{"a":1e999}`, `{"a":9007199254740993}`, `{"__proto__":null}`,
		`{"constructor":{"prototype":1}}`, `{"toString":1,"valueOf":2}`, strings.Repeat(`{"a":`, 60) + `1` + strings.Repeat(`}`, 60),
		`{"` + strings.Repeat("k", 100_000) + `":1}`, `{"a":"\ud800"}`, `{"":""}`,
	} {
		_, err := l.RunLimited(t.Context(), r, Call(i, args), patience)
		if _, panicked := err.(*tool.PanicError); panicked { //nolint:errorlint // as RunLimited gives it
			t.Errorf("%.60q: %v", args, err)
		}
	}
	if res := must(t, r, Call(1, `{"a":1}`)); res.Failed {
		t.Errorf("after junk it fails: %s", res.Value)
	}
}

func isolated(t *testing.T, r tool.Runner) {
	each(func(n int) {
		args := fmt.Sprintf(`{"n":%d}`, n)
		if res := must(t, r, Call(n, args)); string(res.Value) != args && tool.ArgsHash(res.Value) != tool.ArgsHash(json.RawMessage(args)) {
			t.Errorf("call %s got %s", args, res.Value)
		}
	})
}

func callers(t *testing.T, r tool.Runner) {
	each(func(n int) {
		if res := must(t, r, Call(n, `{}`)); !isCaller(res, n) {
			t.Errorf("caller %d got %s", n, res.Value)
		}
	})
}

func each(f func(n int)) {
	var wg sync.WaitGroup
	for n := range 40 {
		wg.Go(func() { f(n) })
	}
	wg.Wait()
}
