package js

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// at is code in a file whose first line is there.
func at(text string, line, column int) Code {
	return Code{Text: text, Place: func(l, c int) (string, int, int) {
		if l == 1 {
			c += column - 1
		}
		return "parley.yaml", line + l - 1, c
	}}
}

func askersOf(t *testing.T, exprs map[string]Expr) map[string]Answered {
	t.Helper()
	m, askers, err := Expressions(t.Context(), exprs, Options{})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, m)
	return askers
}

func TestExpressions_E2(t *testing.T) {
	t.Parallel()
	askers := askersOf(t, map[string]Expr{
		"place-order": {
			ConfirmWhen:    Code{Text: "args.total > 50 // dear"},
			ConfirmLines:   Code{Text: "args.items.map(i => `• ${i}`)"},
			ConfirmMessage: Code{Text: "`${ctx.user.name}?`"},
		},
		"functions": {
			ConfirmWhen:    Code{Text: "(args, ctx) => args.total > 50 && ctx.tool === 'functions'"},
			ConfirmLines:   Code{Text: "argLines(args, ctx)"},
			ConfirmMessage: Code{Text: "async (args) => 'Pay ' + money(args.total, 'USD')"},
		},
		"plain": {},
	})
	c := callOf("x", `{"total": 51, "items": ["tea", "cake"]}`)
	a := askers["place-order"]
	if yes, err := a.NeedsConfirm(t.Context(), c); !yes || err != nil {
		t.Errorf("%v, %v", yes, err)
	}
	lines, ok, err := a.ConfirmLines(t.Context(), c)
	if diff := cmp.Diff([]string{"• tea", "• cake"}, lines); diff != "" || !ok || err != nil {
		t.Error(diff, ok, err)
	}
	if text, ok, err := a.ConfirmMessage(t.Context(), c); text != "Ana?" || !ok || err != nil {
		t.Errorf("%q, %v, %v", text, ok, err)
	}
	f := askers["functions"]
	if yes, err := f.NeedsConfirm(t.Context(), c); !yes || err != nil {
		t.Errorf("function: %v, %v", yes, err)
	}
	if lines, _, err := f.ConfirmLines(t.Context(), c); len(lines) != 2 || err != nil {
		t.Errorf("function: %q, %v", lines, err)
	}
	if text, _, err := f.ConfirmMessage(t.Context(), c); text != "Pay $51.00" || err != nil {
		t.Errorf("function: %q, %v", text, err)
	}
	c.Args = []byte(`{"total": 50}`)
	for name, a := range map[string]Answered{"expression": a, "function": f} {
		if yes, err := a.NeedsConfirm(t.Context(), c); yes || err != nil {
			t.Errorf("%s: %v, %v", name, yes, err)
		}
	}
	if _, _, err := a.ConfirmLines(t.Context(), c); err == nil {
		t.Error("lines of no items")
	}
	if askers["plain"].HasPredicate() {
		t.Error("a predicate out of nothing")
	}
}

// A text is prose with placeholders, not JavaScript.
func TestExpressions_B10_MessageAsAText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Cancel order {order}?":             "Cancel order P-7?",
		"Cancel {order} of {size} ({gone})": "Cancel P-7 of Large ()",
		"Sure?":                             "Sure?",
		"Send {\"a\": {order}} to {items}":  `Send {"a": P-7} to tea, Rye bread`,
		"{flag}, {n}\n{evil}":               "yes, 1.5\nline one two",
		"What about your args? {order}":     "What about your args? P-7",
	} {
		askers := askersOf(t, map[string]Expr{"a": {
			ConfirmMessage: Code{Text: text}, Labels: map[string]map[string]string{"size": {"l": "Large"}, "items": {"rye": "Rye bread"}},
		}})
		c := callOf("a", `{"order":"P-7","size":"l","items":["tea","rye"],"flag":true,"n":1.5,"evil":"line one\n\u202etwo"}`)
		got, ok, err := askers["a"].ConfirmMessage(t.Context(), c)
		if got != want || !ok || err != nil {
			t.Errorf("%q became %q (%v), want %q", text, got, err, want)
		}
	}
}

func TestExpressions_Result(t *testing.T) {
	t.Parallel()
	a := askersOf(t, map[string]Expr{"a": {Result: Code{Text: "status === 200 ? body.items.map(i => i.id + args.n) : undefined"}}})["a"]
	for answer, want := range map[string]string{
		`{"args":{"n":1},"status":200,"headers":{},"body":{"items":[{"id":1},{"id":2}]}}`: `[2,3]`,
		`{"args":{},"status":201,"headers":{},"body":null}`:                               ``,
	} {
		got, err := a.Result(t.Context(), callOf("a", `{}`), json.RawMessage(answer))
		if string(got) != want || err != nil {
			t.Errorf("%s became %s, %v; want %s", answer, got, err, want)
		}
	}
	_, err := a.Result(t.Context(), callOf("a", `{}`), json.RawMessage(`{"status":200,"body":{"n":9007199254740993}}`))
	if err == nil || !strings.Contains(err.Error(), "/body/n") {
		t.Errorf("a number that a script can't hold: %v", err)
	}
}

func TestExpressions_BrokenOnesAreNamed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		e    Expr
		want string
	}{
		"without a place": {Expr{ConfirmWhen: Code{Text: "args.total >"}}, "tools.a.confirm_when: "},
		"one line":        {Expr{ConfirmWhen: at("args.total > > 5", 7, 20)}, "parley.yaml:7:33: tools.a.confirm_when: "},
		"its end":         {Expr{ConfirmLines: at("[1,\n2", 7, 20)}, "parley.yaml:8:"},
		"second line":     {Expr{ConfirmMessage: at("`x` +\n  ] args", 3, 5)}, "parley.yaml:4:3: tools.a.confirm_message: "},
		"open template":   {Expr{ConfirmLines: at("[`x", 7, 20)}, "parley.yaml:7:"},
		"open comment":    {Expr{ConfirmWhen: at("true /* why", 7, 20)}, "parley.yaml:7:"},
		"open of no file": {Expr{ConfirmLines: Code{Text: "[`x"}}, "tools.a.confirm_lines: "},
		"the result":      {Expr{Result: at("body..x", 9, 9)}, "parley.yaml:9:14: tools.a.result: "},
	} {
		_, _, err := Expressions(t.Context(), map[string]Expr{"a": tc.e, "b": {ConfirmWhen: Code{Text: "true"}}}, Options{})
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %s…", name, err, tc.want)
		}
	}
}

// What fails at run says so with its place, and nobody is asked (B10).
func TestExpressions_B10_FailuresAtRunHaveTheirPlace(t *testing.T) {
	t.Parallel()
	a := askersOf(t, map[string]Expr{"a": {ConfirmWhen: at("args.order\n  .price.total > 50", 12, 30)}})["a"]
	_, err := a.NeedsConfirm(t.Context(), callOf("a", `{"order":{}}`))
	if err == nil || !strings.HasPrefix(err.Error(), "parley.yaml:13:") || !strings.Contains(err.Error(), "tools.a.confirm_when") {
		t.Errorf("error %v", err)
	}
}

func TestIsExpression(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Cancel {order}?": false, "`Cancel ${args.order}?`": true, "'x'": true, `"x" + y`: true, "args.a": true, "ctx . money(1)": true,
		"args['a']": true, "(args) => 'x'": true, "async (args, ctx) => 1": true, "Use ctx. Or not": true, "args?": false, "Arguments: {a}": false,
		"Pay {args}": false, "args": false, "": false,
	} {
		if got := IsExpression(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
