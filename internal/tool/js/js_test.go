package js

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/tool/tooltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script writes a module and loads it.
func script(t *testing.T, source string, opts Options) *Module {
	t.Helper()
	m, err := Load(t.Context(), File(write(t, source)), opts)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, m)
	return m
}

func write(t *testing.T, source string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tools.ts")
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func closeAfter(t *testing.T, m *Module) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // a runaway stands back for everybody
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Error(err)
		}
		if n := m.VMs(); n != 0 {
			t.Errorf("%d runtimes are left", n)
		}
	})
}

func byName(t *testing.T, m *Module, name string) tool.Tool {
	t.Helper()
	for _, tl := range m.Tools() {
		if tl.Name == name {
			return tl
		}
	}
	t.Fatalf("no tool %s", name)
	return tool.Tool{}
}

func callOf(name, args string) tool.Call {
	return tool.Call{
		ID: "turn.1.1", Tool: name, Args: json.RawMessage(args), Lang: "en",
		Identity: tool.Identity{ChatKey: "web:c1", Channel: "web", UserID: "u1", Name: "Ana", Claims: map[string]string{"phone": "+57"}},
		Store:    tooltest.NewStore(),
	}
}

// run calls a tool and expects no operator's error.
func call(t *testing.T, m *Module, name, args string) tool.Result {
	t.Helper()
	res, err := byName(t, m, name).Runner.Run(t.Context(), callOf(name, args))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// lines is a log that tests read.
func lines(w *strings.Builder) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func TestRun_ResultsOfAllKinds(t *testing.T) {
	t.Parallel()
	m := script(t, `
import { defineTool } from 'parley'
const any = { type: 'object' }
export const tools = {
  text: defineTool({ schema: any, handler: () => 'hola' }),
  nothing: defineTool({ schema: any, handler: () => {} }),
  nul: defineTool({ schema: any, handler: async () => null }),
  echo: defineTool({ schema: any, handler: async (args) => { await null; return args } }),
  toJSON: defineTool({ schema: any, handler: () => new Date(0) }),
  throws: defineTool({ schema: any, handler: () => { throw new RangeError('no bread') } }),
  rejects: defineTool({ schema: any, handler: async () => { await 1; throw 'plain' } }),
  cyclic: defineTool({ schema: any, handler: () => { const a: any = {}; a.a = a; return a } }),
  big: defineTool({ schema: any, handler: () => 1n }),
  long: defineTool({ schema: any, handler: () => 'ñ'.repeat(20 << 20) }),
  fn: defineTool({ schema: any, handler: () => () => 1 }),
  never: defineTool({ schema: any, handler: () => new Promise(() => {}) }),
  sleep: defineTool({ schema: any, handler: async () => { await new Promise((r) => setTimeout(r, 5)); return 'slept' } }),
}`, Options{})
	for name, c := range map[string]struct {
		value  string
		failed bool
	}{
		"text":    {`"hola"`, false},
		"nothing": {``, false},
		"nul":     {`null`, false},
		"echo":    {`{"b":[1,"x",null],"a":true}`, false},
		"toJSON":  {`"1970-01-01T00:00:00.000Z"`, false},
		"throws":  {`{"error":"no bread"}`, true},
		"rejects": {`{"error":"plain"}`, true},
		"fn":      {`{"error":"the result can't be written as JSON: a function is not JSON"}`, true},
		"never":   {`{"error":"the tool waits for something that never comes"}`, true},
		"sleep":   {`"slept"`, false},
	} {
		res := call(t, m, name, `{"b":[1,"x",null],"a":true}`)
		if string(res.Value) != c.value || res.Failed != c.failed || !res.Pure {
			t.Errorf("%s: %s failed=%v pure=%v, want %s failed=%v", name, res.Value, res.Failed, res.Pure, c.value, c.failed)
		}
	}
	for _, name := range []string{"cyclic", "big"} {
		if res := call(t, m, name, `{}`); !res.Failed || !strings.Contains(string(res.Value), "can't be written as JSON") {
			t.Errorf("%s: %s", name, res.Value)
		}
	}
	if res := call(t, m, "long", `{}`); !res.Failed || !strings.Contains(string(res.Value), "out of memory") {
		t.Errorf("long: %s", res.Value)
	}
}
