package problem

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ids lists the constants of this package.
func ids(t *testing.T) (out []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "problem.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, v := range spec.Values {
			if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				id, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, id)
			}
		}
		return true
	})
	return out
}

// Every id has a section in docs/errors.md, in the same order, and no section
// is of an id that doesn't exist.
func TestDocs_ErrorsHasASectionForEachID(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	var sections []string
	for _, m := range regexp.MustCompile(`(?m)^### (P\d{4}): \S`).FindAllStringSubmatch(string(text), -1) {
		sections = append(sections, m[1])
	}
	all := ids(t)
	if len(all) < 40 {
		t.Fatalf("only %d ids found", len(all))
	}
	if d := cmp.Diff(all, sections); d != "" {
		t.Errorf("ids (-) and sections of docs/errors.md (+):\n%s", d)
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(all))); len(unique) != len(all) {
		t.Errorf("an id is there twice: %v", all)
	}
}

func TestWrap_GivesEachOneID(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"plain":      {errors.New("a"), "a [P1305]"},
		"numbered":   {Tool.Errorf("a"), "a [P1306]"},
		"within":     {fmt.Errorf("b: %w", Tool.Errorf("a")), "b: a [P1306]"},
		"joined":     {errors.Join(errors.New("a"), Tool.Errorf("b"), errors.Join(errors.New("c"))), "a [P1305]\nb [P1306]\nc [P1305]"},
		"with cause": {Script.Errorf("b: %w", os.ErrNotExist), "b: file does not exist [P1305]"},
	} {
		if got := Script.Wrap(tc.err).Error(); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if Script.Wrap(nil) != nil {
		t.Error("nil became an error")
	}
	if !errors.Is(Script.Errorf("b: %w", os.ErrNotExist), os.ErrNotExist) {
		t.Error("the cause is lost")
	}
}
