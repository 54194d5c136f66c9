package js

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/tool"
)

// zodModule loads the script that uses the real zod.
func zodModule(t *testing.T, opts Options) *Module {
	t.Helper()
	if _, err := os.Stat("testdata/zod/node_modules/zod/package.json"); err != nil {
		t.Fatalf("zod is not installed: run `npm ci` in internal/tool/js/testdata/zod (%v)", err)
	}
	m, err := Load(t.Context(), File("testdata/zod/tools.ts"), opts)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, m)
	return m
}

func TestZod_A11(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	for range 2 { // compiled, and from the cache
		m := zodModule(t, Options{CacheDir: cache})
		reg, err := tool.NewRegistry(m.Tools())
		if err != nil {
			t.Fatal(err)
		}
		cases := []struct {
			name, tool, raw, want string
			paths                 []string
		}{
			{"parsed data", "place_order", `{"items":[{"product":"rye_bread","quantity":2,"extra":1}],"note":" x "}`,
				`{"items":[{"product":"rye_bread","quantity":2}],"note":"x"}`, nil},
			{"default", "place_order", `{"items":[{"product":"rye_bread","quantity":2.0}]}`, `{"items":[{"product":"rye_bread","quantity":2}],"note":"none"}`, nil},
			{"path", "place_order", `{"items":[{"product":"pie","quantity":0}]}`, "", []string{"/items/0/product", "/items/0/quantity"}},
			{"missing", "place_order", ``, "", []string{"/items"}},
			{"strict", "strict", `{"email":"a@b.co","when":"2026-01-02","tags":[],"x":1}`, "", []string{"/x"}},
			{"coerced", "strict", `{"email":"a@b.co","when":"2026-01-02","tags":["a"]}`, `{"email":"a@b.co","when":"2026-01-02T00:00:00.000Z","tags":{}}`, nil},
			{"async", "later", `{"n":2}`, `{"n":2}`, nil},
			{"async refused", "later", `{"n":1}`, "", []string{"/n"}},
			{"mini", "mini", `{"n":1}`, `{"n":1}`, nil},
			{"mini refused", "mini", `{"n":0}`, "", []string{"/n"}},
			{"beyond 2^53", "mini", `{"n":9007199254740993}`, "", []string{"/n"}},
		}
		for _, c := range cases {
			tl, ok := reg.Get(c.tool)
			if !ok {
				t.Fatalf("no tool %s", c.tool)
			}
			args, vs, err := reg.Check(t.Context(), tl, callOf(c.tool, ""), c.raw)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			var paths []string
			for _, v := range vs {
				paths = append(paths, v.Path)
			}
			if string(args) != c.want {
				t.Errorf("%s: %s, want %s", c.name, args, c.want)
			}
			if diff := cmp.Diff(c.paths, paths); diff != "" {
				t.Errorf("%s: %s", c.name, diff)
			}
		}
	}
}

func TestZod_A11_CardIsItsJSONSchema(t *testing.T) {
	t.Parallel()
	m := zodModule(t, Options{})
	type node = map[string]any
	for name, want := range map[string]node{
		"place_order": {
			"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": []any{"items"},
			"properties": node{
				"items": node{"type": "array", "minItems": 1.0, "items": node{
					"type": "object", "required": []any{"product", "quantity"}, "properties": node{
						"product":  node{"type": "string", "enum": []any{"rye_bread", "chocolate_cake"}},
						"quantity": node{"type": "integer", "minimum": 1.0, "maximum": 50.0},
					},
				}},
				"note": node{"type": "string", "default": "none"},
			},
		},
		"mini": {
			"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": []any{"n"},
			"properties": node{"n": node{"type": "number", "minimum": 1.0}},
		},
	} {
		var got node
		if err := json.Unmarshal(byName(t, m, name).Schema, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestZod_HandlerGetsTheValidatorsOwnData(t *testing.T) {
	t.Parallel()
	m := zodModule(t, Options{})
	c := callOf("strict", `{"email":"a@b.co","when":"2026-01-02T00:00:00.000Z","tags":{}}`)
	c.Raw = json.RawMessage(`{"email":"a@b.co","when":"2026-01-02","tags":["a","b"]}`)
	for _, other := range []bool{false, true} {
		want := `{"isDate":true,"tags":2}`
		if other {
			// What the model wrote isn't what was approved: that counts.
			c.Raw = json.RawMessage(`{"email":"a@b.co","when":"2027-01-02","tags":["a","b"]}`)
			want = `{"isDate":false,"tags":false}`
		}
		res, err := byName(t, m, "strict").Runner.Run(t.Context(), c)
		if err != nil || string(res.Value) != want {
			t.Errorf("%s, %v, want %s", res.Value, err, want)
		}
	}
}

func TestConfirm_B1_B10(t *testing.T) {
	t.Parallel()
	m := zodModule(t, Options{})
	r, ok := byName(t, m, "place_order").Runner.(Asker)
	if !ok || !r.HasPredicate() {
		t.Fatal("no predicate")
	}
	c := callOf("place_order", `{"items":[{"product":"rye_bread","quantity":2},{"product":"chocolate_cake","quantity":1}],"note":"x"}`)
	if yes, err := r.NeedsConfirm(t.Context(), c); !yes || err != nil {
		t.Errorf("two items: %v, %v", yes, err)
	}
	lines, ok, err := r.ConfirmLines(t.Context(), c)
	if diff := cmp.Diff([]string{"• Items: 2 × Rye bread, 1 × chocolate_cake", "• Note: x"}, lines); diff != "" || !ok || err != nil {
		t.Error(diff, ok, err)
	}
	if text, ok, err := r.ConfirmMessage(t.Context(), c); text != "Order 2?" || !ok || err != nil {
		t.Errorf("%q %v %v", text, ok, err)
	}
	c.Identity.UserID = "u2"
	if yes, err := r.NeedsConfirm(t.Context(), c); yes || err != nil {
		t.Errorf("another user: %v, %v", yes, err)
	}
}

func TestConfirm_B10_FailuresAreErrorsWithTheirPlace(t *testing.T) {
	t.Parallel()
	m := script(t, `export const tools = {
  throws: { schema: {}, handler() {},
    confirm: () => { throw new Error('no price') }, confirmLines: () => { throw new Error('no price') }, confirmMessage: () => { throw new Error('no price') } },
  wrong: { schema: {}, handler() {}, confirmLines: () => [1], confirmMessage: () => '  ', confirm: () => 0 },
  plain: { schema: {}, handler() {}, confirmMessage: 'Sure?', confirm: true },
}`, Options{})
	hangs := script(t, `export const tools = {
  slow: { schema: {}, handler() {}, confirm: () => { for (;;); } },
}`, Options{CheckTimeout: 50 * time.Millisecond})
	asker := func(m *Module, name string) *runner {
		t.Helper()
		r, ok := byName(t, m, name).Runner.(*runner)
		if !ok {
			t.Fatal("not a script's runner")
		}
		return r
	}
	c := callOf("x", `{}`)
	r := asker(m, "throws")
	_, err1 := r.NeedsConfirm(t.Context(), c)
	_, _, err2 := r.ConfirmLines(t.Context(), c)
	_, _, err3 := r.ConfirmMessage(t.Context(), c)
	for _, err := range []error{err1, err2, err3} {
		if err == nil || !strings.Contains(err.Error(), "tools.ts:3:") || !strings.Contains(err.Error(), "no price") {
			t.Errorf("error %v", err)
		}
	}
	r = asker(m, "wrong")
	if _, _, err := r.ConfirmLines(t.Context(), c); err == nil {
		t.Error("lines that are no strings")
	}
	if _, _, err := r.ConfirmMessage(t.Context(), c); err == nil {
		t.Error("a blank message")
	}
	if yes, err := r.NeedsConfirm(t.Context(), c); yes || err != nil {
		t.Errorf("falsy: %v, %v", yes, err)
	}
	r = asker(m, "plain")
	if text, ok, err := r.ConfirmMessage(t.Context(), c); text != "Sure?" || !ok || err != nil || r.HasPredicate() {
		t.Errorf("%q %v %v", text, ok, err)
	}
	if _, ok, err := r.ConfirmLines(t.Context(), c); ok || err != nil {
		t.Errorf("lines of its own: %v, %v", ok, err)
	}
	if _, err := asker(hangs, "slow").NeedsConfirm(t.Context(), c); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("error %v", err)
	}
}
