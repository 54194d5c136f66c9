package tooltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/tool/tooltest"
)

type runFunc func(ctx context.Context, call tool.Call) (tool.Result, error)

func (f runFunc) Run(ctx context.Context, call tool.Call) (tool.Result, error) { return f(ctx, call) }

// TestRun_PassesAGoodRunner keeps the suite satisfiable by the contract alone.
func TestRun_PassesAGoodRunner(t *testing.T) {
	t.Parallel()
	good := map[tooltest.Behaviour]runFunc{
		tooltest.Echo: func(_ context.Context, c tool.Call) (tool.Result, error) { return tool.Result{Value: c.Args}, nil },
		tooltest.Text: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{Value: json.RawMessage(`"hola"`)}, nil
		},
		tooltest.Nothing: func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil },
		tooltest.Fails:   func(context.Context, tool.Call) (tool.Result, error) { return tool.Fail("no_bread", nil), nil },
		tooltest.Hangs: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Stopped(ctx, 0), nil
		},
		tooltest.Large: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Capped(tool.Result{Value: json.RawMessage(`"` + strings.Repeat("é", 100_000) + `"`)}, 0), nil
		},
		tooltest.WhoAmI: func(_ context.Context, c tool.Call) (tool.Result, error) {
			b, err := json.Marshal(map[string]string{"user": c.Identity.UserID, "chat": c.Identity.ChatKey})
			return tool.Result{Value: b}, err
		},
	}
	tooltest.Run(t, func(_ *testing.T, b tooltest.Behaviour) (tool.Runner, bool) {
		r, ok := good[b]
		return r, ok
	})
}

func TestStore_CommitIsAllOrNothing(t *testing.T) {
	t.Parallel()
	s := tooltest.NewStore()
	scope := tool.ScopeOf("chat", "web", "web:1")
	none, one := int64(0), int64(1)
	if !s.Commit([]tool.Write{{Scope: scope, Key: "b", Value: json.RawMessage(`1`), IfVersion: &none}, {Scope: scope, Key: "a", Value: json.RawMessage(`2`)}}) {
		t.Fatal("refused")
	}
	if s.Commit([]tool.Write{{Scope: scope, Key: "c", Value: json.RawMessage(`3`)}, {Scope: scope, Key: "a", Value: nil, IfVersion: &none}}) {
		t.Error("a stale version was taken")
	}
	if keys, err := s.List(t.Context(), scope, ""); err != nil || strings.Join(keys, ",") != "a,b" {
		t.Errorf("keys %v, %v", keys, err)
	}
	if !s.Commit([]tool.Write{{Scope: scope, Key: "a", IfVersion: &one}}) {
		t.Error("a delete was refused")
	}
	if v, version, err := s.Get(t.Context(), scope, "a"); v != nil || version != 2 || err != nil {
		t.Errorf("after the delete: %s, %d, %v", v, version, err)
	}
	if v, _, _ := s.Get(t.Context(), tool.ScopeOf("bot", "", ""), "b"); v != nil {
		t.Error("scopes run together")
	}
	boom := errors.New("disk")
	s.FailWith(boom)
	if _, _, err := s.Get(t.Context(), scope, "b"); !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
}
