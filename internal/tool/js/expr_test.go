package js

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpressions_E2(t *testing.T) {
	t.Parallel()
	m, askers, err := Expressions(t.Context(), map[string]Expr{
		"place-order": {ConfirmWhen: "args.total > 50 // dear", ConfirmLines: "args.items.map(i => `• ${i}`)", ConfirmMessage: "`${ctx.user.name}?`"},
		"plain":       {},
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, m)
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
	c.Args = []byte(`{"total": 50}`)
	if yes, err := a.NeedsConfirm(t.Context(), c); yes || err != nil {
		t.Errorf("%v, %v", yes, err)
	}
	if _, _, err := a.ConfirmLines(t.Context(), c); err == nil {
		t.Error("lines of no items")
	}
	if askers["plain"].HasPredicate() {
		t.Error("a predicate out of nothing")
	}
}

func TestExpressions_BrokenOnesAreNamed(t *testing.T) {
	t.Parallel()
	_, _, err := Expressions(t.Context(), map[string]Expr{
		"a": {ConfirmWhen: "args.total >"},
		"b": {ConfirmWhen: "true"},
	}, Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "tools.a.confirm_when: ") {
		t.Errorf("error %v", err)
	}
}
