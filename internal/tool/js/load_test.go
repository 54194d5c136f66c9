package js

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/tool"
)

func writeText(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }

func TestLoad_ErrorsNameThePlace(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, source, at string // at: line:column
		want             []string
	}{
		{"syntax", "export const tools = {\n  a: {{\n}", "2:7", []string{"Expected"}},
		{"missing import", "const a = 1\nimport { x } from './gone'\nexport const tools = { x }", "2:19", []string{"./gone"}},
		{"missing package", "import { z } from 'zodd'\nexport const tools = { z }", "1:19", []string{"zodd"}},
		{"missing from parley", "import { defineTools } from 'parley'\nexport const tools = { a: defineTools({}) }", "1:10", []string{"defineTools"}},
		{"top-level throw", "const y: number = 1\n\nthrow new TypeError('no key')\nexport const tools = {}", "3:11", []string{"TypeError: no key"}},
		{"top-level throw in a function", "type A = string\nfunction f(a: A) {\n  return (a as any).b.c\n}\nf('x')\nexport const tools = {}", "3:21", []string{"TypeError"}},
		{"top-level await", "await 1\nexport const tools = {}", "1:1", []string{"await"}},
		{"no tools", "export const tool = {}\nexport const other = 1", "1:1", []string{`"tools"`, "other, tool"}},
		{"no exports", "const tools = {}", "1:1", []string{`"tools"`}},
		{"tools is a list", "\nexport const tools = []", "2:14", []string{"array"}},
		{"tool is a function", "export const tools = {\n  a: () => 1,\n}", "2:3", []string{"tool a", "function"}},
		{"no handler", "import { defineTool } from 'parley'\nexport const tools = {\n  a: defineTool({ title: 'A' }),\n}", "3:6", []string{"handler"}},
		{"unknown field", "import { defineTool } from 'parley'\nexport const tools = {\n  a: defineTool({\n    handler() {},\n    confrim: true,\n  }),\n}", "5:5", []string{`"confrim"`, `"confirm"`}},
		{"snake case", "export const tools = {\n  a: {\n    handler() {},\n    timeout_ms: 1,\n  },\n}", "4:5", []string{`"timeoutMs"`}},
		{"title", "export const tools = { a: { title: 5, handler() {} } }", "1:29", []string{"title", "string", "number"}},
		{"confirm", "export const tools = { a: { confirm: 'yes', handler() {} } }", "1:29", []string{"confirm", "string"}},
		{"dedupe", "export const tools = { a: { dedupe: true, handler() {} } }", "1:29", []string{"windowMs"}},
		{"dedupe window", "export const tools = { a: { dedupe: { window: 'soon' }, handler() {} } }", "1:29", []string{"soon"}},
		{"dedupe both", "export const tools = { a: { dedupe: { window: '1m', windowMs: 3 }, handler() {} } }", "1:29", []string{"dedupe"}},
		{"dedupe zero", "export const tools = { a: { dedupe: { window: '0s' }, handler() {} } }", "1:29", []string{"dedupe"}},
		{"timeout", "export const tools = { a: { timeoutMs: '10', handler() {} } }", "1:29", []string{"timeoutMs"}},
		{"effect", "export const tools = { a: { effect: 'safe', handler() {} } }", "1:29", []string{"idempotent", "safe"}},
		{"labels", "export const tools = { a: { labels: { x: 'y' }, handler() {} } }", "1:29", []string{"labels"}},
		{"lines", "export const tools = { a: { confirmLines: ['x'], handler() {} } }", "1:29", []string{"confirmLines", "array"}},
		{"message", "export const tools = { a: { confirmMessage: ' ', handler() {} } }", "1:29", []string{"confirmMessage"}},
		{"name", "export const tools = { 'a b': { handler() {} } }", "1:24", []string{"a b", "name"}},
		{"schema type", "export const tools = { a: { schema: 'x', handler() {} } }", "1:29", []string{"schema"}},
		{"broken schema", "export const tools = { a: { schema: { properties: { n: { minimum: 'x' } } }, handler() {} } }", "1:29", []string{"/properties/n/minimum"}},
		{"validator without a schema", "export const tools = { a: { schema: { safeParse: (x: any) => ({ success: true, data: x }) }, handler() {} } }", "1:29", []string{"jsonSchema"}},
		{"timer at the top", "\nsetTimeout(() => {}, 1)\nexport const tools = {}", "2:1", []string{"top level"}},
		{"endless top", "export const tools = {}\nconst f = () => 'x'.repeat(1 << 28)\nf()", "2:21", []string{"memory"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := write(t, c.source)
			_, err := Load(t.Context(), File(path), Options{CacheDir: t.TempDir(), MemoryLimit: 32 << 20})
			if err == nil {
				t.Fatal("no error")
			}
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("%T: %v", err, err)
			}
			if want := path + ":" + c.at + ": "; !strings.Contains(err.Error(), want) {
				t.Errorf("error %q is not at %s", err, c.at)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q doesn't tell %q", e, w)
				}
			}
		})
	}
}

func TestLoad_AllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Load(t.Context(), File(write(t, "export const tools = {\n a: { title: 1, handler: 2 },\n b: { effect: 'x' },\n}")), Options{})
	if err == nil || strings.Count(err.Error(), "tools.ts:") != 4 {
		t.Errorf("error: %v", err)
	}
}

func TestLoad_NoSuchFile(t *testing.T) {
	t.Parallel()
	_, err := Load(t.Context(), File("/nowhere/tools.ts"), Options{})
	if err == nil || err.Error() != "/nowhere/tools.ts: there is no such file" {
		t.Errorf("error: %v", err)
	}
}

func TestTools_Definition(t *testing.T) {
	t.Parallel()
	m := script(t, `
import { defineTool } from 'parley'
export const tools = {
  place_order: defineTool({
    title: 'Place order', description: 'Places it.',
    schema: { type: 'object', properties: { n: { type: 'integer' } } },
    confirm: true, dedupe: 'args', timeoutMs: 10_000, effect: 'idempotent',
    labels: { product: { rye: 'Rye bread' } },
    confirmMessage: 'Sure?',
    handler: () => 'ok',
  }),
  other: defineTool({ dedupe: { windowMs: 1500 }, timeout: '1m30s', confirm: (a: any) => a.total > 50, handler() {} }),
  third: { dedupe: { window: '1m' }, timeoutMs: 0, handler() {} },
}`, Options{})
	ten, ninety, none := 10*time.Second, 90*time.Second, time.Duration(0)
	want := []tool.Tool{
		{
			Name: "place_order", Kind: "script", Title: "Place order", Description: "Places it.", Confirm: true,
			Schema: []byte(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
			Dedupe: 10 * time.Minute, Timeout: &ten, Effect: tool.Idempotent,
			Labels: map[string]map[string]string{"product": {"rye": "Rye bread"}},
		},
		{Name: "other", Kind: "script", Dedupe: 1500 * time.Millisecond, Timeout: &ninety, Effect: tool.Unsafe},
		{Name: "third", Kind: "script", Dedupe: time.Minute, Timeout: &none, Effect: tool.Unsafe},
	}
	got := slices.Clone(m.Tools())
	for i := range got {
		if len(got[i].Digest) != 64 {
			t.Errorf("digest %q", got[i].Digest)
		}
		if _, parses := got[i].Runner.(tool.Parser); parses {
			t.Errorf("%s has no validator", got[i].Name)
		}
		got[i].Digest, got[i].Runner = "", nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := tool.NewRegistry(m.Tools()); err != nil {
		t.Error(err)
	}
}

func TestDigest_B28_CoversTheCode(t *testing.T) {
	t.Parallel()
	digest := func(price string) string {
		m := script(t, `export const tools = { a: { schema: {}, handler: () => `+price+` } }`, Options{})
		return m.Tools()[0].Digest
	}
	one, elsewhere := digest("1"), digest("1")
	if one == digest("2") {
		t.Error("other code has the same digest")
	}
	if one != elsewhere {
		t.Error("the digest depends on the folder")
	}
}

func TestLoad_CacheByContent(t *testing.T) {
	t.Parallel()
	dir, cache := t.TempDir(), filepath.Join(t.TempDir(), "scripts")
	main, price := filepath.Join(dir, "tools.ts"), filepath.Join(dir, "price.ts")
	mustWrite := func(path, text string) {
		t.Helper()
		if err := writeText(path, text); err != nil {
			t.Fatal(err)
		}
	}
	mustWrite(main, `import { price } from './price'
export const tools = { a: { schema: {}, handler: () => { if (price > 2) throw new Error('dear'); return price } } }`)
	mustWrite(price, `export const price: number = 1`)
	var log strings.Builder
	load := func() (*Module, string) {
		t.Helper()
		m, err := Load(t.Context(), File(main), Options{CacheDir: cache, Log: lines(&log)})
		if err != nil {
			t.Fatal(err)
		}
		closeAfter(t, m)
		return m, string(call(t, m, "a", `{}`).Value)
	}
	first, v := load()
	if v != "1" || !first.compiled {
		t.Errorf("first: %s, compiled %v", v, first.compiled)
	}
	second, v := load()
	if v != "1" || second.compiled {
		t.Errorf("second: %s, compiled %v", v, second.compiled)
	}
	if diff := cmp.Diff(first.Tools()[0].Digest, second.Tools()[0].Digest); diff != "" {
		t.Error(diff)
	}
	mustWrite(price, `export const price: number = 3`)
	third, v := load()
	if !third.compiled || v != `{"error":"dear"}` {
		t.Errorf("after a change: %s, compiled %v", v, third.compiled)
	}
	// The place of an error is known without the bundle.
	fourth, _ := load()
	if fourth.compiled || !strings.Contains(log.String(), `"at":"`+main+`:2:`) {
		t.Errorf("compiled %v, log %s", fourth.compiled, log.String())
	}
	files, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("cache files %v, %v", files, err)
	}
	// A new tsconfig may change what the sources mean.
	mustWrite(filepath.Join(dir, "tsconfig.json"), `{"compilerOptions": {"target": "es2022"}}`)
	if m, _ := load(); !m.compiled {
		t.Error("a new tsconfig.json was not seen")
	}
	for name, damage := range map[string]func([]byte) []byte{
		"empty":    func([]byte) []byte { return nil },
		"cut":      func(b []byte) []byte { return b[:len(b)-10] },
		"flipped":  func(b []byte) []byte { b[len(b)-100] ^= 0xff; return b },
		"not ours": func([]byte) []byte { return []byte("{}\n") },
	} {
		b, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		mustWrite(files[0], string(damage(b)))
		if m, v := load(); !m.compiled || v != `{"error":"dear"}` {
			t.Errorf("%s cache: compiled %v, %s", name, m.compiled, v)
		}
	}
}

func TestLoad_CacheThatCantBeWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := writeText(file, ""); err != nil {
		t.Fatal(err)
	}
	m := script(t, `export const tools = { a: { schema: {}, handler: () => 1 } }`, Options{CacheDir: filepath.Join(file, "x")})
	if res := call(t, m, "a", `{}`); string(res.Value) != "1" {
		t.Errorf("%s", res.Value)
	}
}

func TestLoad_Embedded(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{
		"demo/tools.ts":    {Data: []byte("import { list } from './lib/list'\nimport menu from './menu.json'\nexport const tools = { a: { schema: {}, handler: () => { if (!menu.open) throw new Error('closed'); return list } } }")},
		"demo/lib/list.ts": {Data: []byte("export const list: string[] = ['x']")},
		"demo/menu.json":   {Data: []byte(`{"open": true}`)},
	}
	cache := t.TempDir()
	for i := range 2 {
		m, err := Load(t.Context(), Embedded(fsys, "demo/tools.ts"), Options{CacheDir: cache})
		if err != nil {
			t.Fatal(err)
		}
		closeAfter(t, m)
		if res := call(t, m, "a", `{}`); string(res.Value) != `["x"]` {
			t.Errorf("%s", res.Value)
		}
		if m.compiled != (i == 0) {
			t.Errorf("load %d: compiled %v", i, m.compiled)
		}
	}
	fsys["demo/tools.ts"].Data = []byte("import './gone'")
	_, err := Load(t.Context(), Embedded(fsys, "demo/tools.ts"), Options{CacheDir: cache})
	if err == nil || !strings.Contains(err.Error(), "demo/tools.ts:1:8: ") {
		t.Errorf("error %v", err)
	}
}

func TestFindings_ModuleState(t *testing.T) {
	t.Parallel()
	m := script(t, `
const orders = new Map<string, string[]>()
let count = 0
export let total: number = 1
const fixed = new Set(['a'])   // only read
let setAtTop = 1
setAtTop = 2
// let commented = 0
const text = "let quoted = 1; quoted = 2"
const ok = new Map([['a', 1]])
export const tools = {
  a: { schema: {}, handler: () => { orders.set('a', []); count++; total += 1; return fixed.has('a') && ok.get('a') && setAtTop === 2 } },
}`, Options{})
	var got []string
	for _, f := range m.Findings() {
		if f.Rule != RuleModuleState {
			t.Errorf("rule %s", f.Rule)
		}
		_, rest, _ := strings.Cut(f.Message, "tools.ts:")
		got = append(got, strings.Join(strings.Fields(rest)[:2], " "))
	}
	if diff := cmp.Diff([]string{"2: orders", "3: count", "4: total"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTypesFile(t *testing.T) {
	t.Parallel()
	for _, f := range knownFields() {
		if !strings.Contains(TypesFile, "    "+f+"?: ") && !strings.Contains(TypesFile, "    "+f+": ") {
			t.Errorf("parley.d.ts doesn't declare %s", f)
		}
	}
}
