package js

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

const runaways = `
const any = { type: 'object' }
export const tools = {
  spin: { schema: any, handler: () => { for (;;); } },
  spinCaught: { schema: any, handler: () => { for (;;) { try { for (;;); } catch {} finally { for (;;); } } } },
  microtasks: { schema: any, handler: async () => { for (;;) await null } },
  timers: { schema: any, handler: async () => { for (;;) await new Promise((r) => setTimeout(r, 0)) } },
  redos: { schema: any, handler: () => /^(a+)+$/.test('a'.repeat(40) + '!') },
  grow: { schema: any, handler: () => { const a = []; for (;;) a.push('x'.repeat(1000) + a.length) } },
  double: { schema: any, handler: () => { let s = 'x'; for (;;) s += s } },
  recurse: { schema: any, handler: () => { const f = () => f() + 1; return f() } },
  join: { schema: any, handler: () => Array(6e6).join('ab').length },
  deaf: { schema: any, handler: async (_, ctx) => { await new Promise((r) => ctx.signal.addEventListener('abort', r)); for (;;); } },
  farewell: { schema: any, handler: async (_, ctx) => { await new Promise((r) => ctx.signal.addEventListener('abort', r)); return { reason: ctx.signal.reason.name } } },
  fine: { schema: any, handler: () => 'fine' },
}`

func TestRun_A5_NothingOutlivesItsTime(t *testing.T) { //nolint:tparallel // one after the other, each measures its time
	t.Parallel()
	m := script(t, runaways, Options{Grace: 2 * time.Second})
	for _, name := range []string{"spin", "spinCaught", "microtasks", "timers", "redos", "deaf"} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
			defer cancel()
			res, err := byName(t, m, name).Runner.Run(ctx, callOf(name, `{}`))
			if err != nil || !res.TimedOut || !res.Failed || !res.Pure {
				t.Errorf("result %+v, error %v", res, err)
			}
			if d := time.Since(start); d > 10*time.Second {
				t.Errorf("took %s", d)
			}
			if res := call(t, m, "fine", `{}`); res.Failed {
				t.Errorf("afterwards: %s", res.Value)
			}
		})
	}
}

func TestRun_AbortWithoutDeadline(t *testing.T) {
	t.Parallel()
	m := script(t, runaways, Options{})
	for _, name := range []string{"spin", "microtasks", "timers"} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(30*time.Millisecond, cancel)
		res, err := byName(t, m, name).Runner.Run(ctx, callOf(name, `{}`))
		if err != nil || !res.Failed || res.TimedOut || !strings.Contains(string(res.Value), "aborted") {
			t.Errorf("%s: result %+v %s, error %v", name, res, res.Value, err)
		}
	}
}

func TestRun_SignalTellsTheTimeout(t *testing.T) {
	t.Parallel()
	m := script(t, runaways, Options{Grace: 10 * time.Second})
	// Long enough for the handler to listen by then, on a busy machine too.
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	res, err := byName(t, m, "farewell").Runner.Run(ctx, callOf("farewell", `{}`))
	if err != nil || string(res.Value) != `{"reason":"TimeoutError"}` {
		t.Errorf("result %s, error %v", res.Value, err)
	}
}

func TestRun_MemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := script(t, runaways, Options{MemoryLimit: 16 << 20})
	for _, name := range []string{"grow", "double", "recurse"} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		res, err := byName(t, m, name).Runner.Run(ctx, callOf(name, `{}`))
		if err != nil || !res.Failed || res.TimedOut {
			t.Errorf("%s: result %+v %s, error %v", name, res, res.Value, err)
		}
		if res := call(t, m, "fine", `{}`); res.Failed {
			t.Errorf("after %s: %s", name, res.Value)
		}
	}
}

func TestRun_A5_NativeLoopIsLeftBehind(t *testing.T) {
	t.Parallel()
	m := script(t, runaways, Options{MemoryLimit: 1 << 30, Grace: 20 * time.Millisecond})
	// The runtime is there already: the time must end within the loop.
	if res := call(t, m, "fine", `{}`); res.Failed {
		t.Fatalf("before: %s", res.Value)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	res, err := byName(t, m, "join").Runner.Run(ctx, callOf("join", `{}`))
	if err != nil || !res.TimedOut {
		t.Errorf("result %+v, error %v", res, err)
	}
	t.Logf("came back after %s", time.Since(start))
	// It was given up in the middle, so nobody knows what it did.
	if res.Pure {
		t.Error("a call that was left behind says that it did nothing")
	}
	if res := call(t, m, "fine", `{}`); res.Failed {
		t.Errorf("afterwards: %s", res.Value)
	}
}

func TestPool_BoundedReusedAndShrunk(t *testing.T) {
	t.Parallel()
	m := script(t, `
let calls = 0
export const tools = { count: { schema: {}, handler: async () => { await new Promise((r) => setTimeout(r, 2)); return ++calls } } }`,
		Options{MaxVMs: 2, IdleAfter: 20 * time.Millisecond})
	if n := m.VMs(); n != 0 {
		t.Errorf("%d runtimes after loading", n)
	}
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() { call(t, m, "count", `{}`) })
	}
	wg.Wait()
	if n := m.VMs(); n < 1 || n > 2 {
		t.Errorf("%d runtimes for 12 calls, at most 2 wanted", n)
	}
	deadline := time.Now().Add(5 * time.Second)
	for tick := time.NewTicker(5 * time.Millisecond); m.VMs() > 0; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%d idle runtimes are kept", m.VMs())
		}
	}
	if res := call(t, m, "count", `{}`); string(res.Value) != "1" {
		t.Errorf("a new runtime counts from %s", res.Value)
	}
}

func TestRun_WaitingForARuntimeEndsWithTheContext(t *testing.T) {
	t.Parallel()
	m := script(t, runaways, Options{MaxVMs: 1})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = byName(t, m, "timers").Runner.Run(ctx, callOf("timers", `{}`)) // only holds the runtime
	}()
	for m.VMs() == 0 {
		select {
		case <-done:
			t.Fatal("it ended")
		case <-time.After(time.Millisecond):
		}
	}
	short, stop := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer stop()
	res, err := byName(t, m, "fine").Runner.Run(short, callOf("fine", `{}`))
	if err != nil || !res.TimedOut {
		t.Errorf("result %+v, error %v", res, err)
	}
	cancel()
	<-done
}

func TestClose_EndsLaterCalls(t *testing.T) {
	t.Parallel()
	m := script(t, runaways, Options{})
	call(t, m, "fine", `{}`)
	for range 2 {
		if err := m.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := byName(t, m, "fine").Runner.Run(t.Context(), callOf("fine", `{}`)); err == nil {
		t.Error("a closed script ran")
	}
}

func BenchmarkPooledCall(b *testing.B) {
	m, err := Load(b.Context(), File(benchScript(b)), Options{})
	if err != nil {
		b.Fatal(err)
	}
	r := m.Tools()[0].Runner
	c := callOf("add", `{"a":1,"b":2}`)
	for b.Loop() {
		if res, err := r.Run(b.Context(), c); err != nil || string(res.Value) != `{"sum":3}` {
			b.Fatal(fmt.Sprint(res, err))
		}
	}
	if err := m.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}

func benchScript(b *testing.B) string {
	b.Helper()
	path := b.TempDir() + "/tools.ts"
	text := `export const tools = { add: { schema: {}, handler: async (a: any) => ({ sum: a.a + a.b }) } }`
	if err := writeText(path, text); err != nil {
		b.Fatal(err)
	}
	return path
}
