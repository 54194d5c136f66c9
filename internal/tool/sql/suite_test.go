package sqltool

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/tool/tooltest"
)

// A statement can't give back arguments that it doesn't name, and always gives
// something.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, d := range []Dialect{SQLite, Postgres} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			s := opened(t, d)
			who := map[string]string{"user": "user.id", "chat": "chat.key"}
			tooltest.Run(t, func(t *testing.T, b tooltest.Behaviour) (tool.Runner, bool) {
				c, ok := map[tooltest.Behaviour]Config{
					tooltest.Text:   {Query: "select 'hola'", Result: ShapeValue},
					tooltest.Fails:  {Query: "select * from nosuch"},
					tooltest.Hangs:  {Query: "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"},
					tooltest.Large:  {Query: map[Dialect]string{SQLite: "select replace(hex(zeroblob(50000)), '0', 'é')", Postgres: "select repeat('é', 100000)"}[d], Result: ShapeValue},
					tooltest.WhoAmI: {Query: `select cast(:user as text) as "user", cast(:chat as text) as chat`, Result: ShapeRow, Bind: who},
					tooltest.Barred: {Query: "select :tier", Bind: map[string]string{"tier": "user.claims.tier"}},
				}[b]
				if !ok {
					return nil, false
				}
				r, err := NewTool(c, s)
				if err != nil {
					t.Fatal(err)
				}
				return r, true
			})
		})
	}
}

const orderSchema = `{"type":"object","properties":{"id":{"type":"integer"},"note":{"type":"string"}}}`

func newTool(t *testing.T, s *Source, c Config) *Runner {
	t.Helper()
	c.Schema = json.RawMessage(orderSchema)
	r, err := NewTool(c, s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRunner_ShapesOfResults(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *Source) {
		exec(t, s, "create table orders (id bigint, customer text, note text)",
			"insert into orders values (9007199254740993, 'user1', 'a'), (2, 'user1', null), (3, 'user2', 'c')")
		mine := map[string]string{"customer": "user.id"}
		for name, tc := range map[string]struct {
			c          Config
			args, want string
		}{
			"rows":              {Config{Query: "select id, note from orders where customer = :customer order by id desc", Bind: mine}, `{}`, `{"rows":[{"id":9007199254740993,"note":"a"},{"id":2,"note":null}]}`},
			"no rows":           {Config{Query: "select id from orders where id = :id", Bind: nil}, `{"id":77}`, `{"rows":[]}`},
			"the first rows":    {Config{Query: "select id from orders order by id", MaxRows: 1}, `{}`, `{"rows":[{"id":2}],"cut":"There is more: only the first 1 rows are here."}`},
			"a row":             {Config{Query: "select id, note from orders where id = :id and customer = :customer", Result: ShapeRow, Bind: mine}, `{"id":9007199254740993}`, `{"id":9007199254740993,"note":"a"}`},
			"somebody else's":   {Config{Query: "select id, note from orders where id = :id and customer = :customer", Result: ShapeRow, Bind: mine}, `{"id":3}`, `null`},
			"forged":            {Config{Query: "select id from orders where customer = :customer order by id", Result: ShapeRow, Bind: mine}, `{"customer":"user2"}`, `{"id":2}`},
			"a value":           {Config{Query: "select note from orders where id = :id", Result: ShapeValue}, `{"id":3}`, `"c"`},
			"an absent one":     {Config{Query: "select coalesce(cast(:note as text), 'none')", Result: ShapeValue}, `{}`, `"none"`},
			"a change":          {Config{Query: "update orders set note = :note where id = :id and customer = :customer", Bind: mine, Effect: tool.Unsafe}, `{"id":2}`, `{"affected":1}`},
			"another's, change": {Config{Query: "update orders set note = :note where id = :id and customer = :customer", Bind: mine, Effect: tool.Unsafe}, `{"id":3,"note":"x"}`, `{"affected":0}`},
		} {
			call := tooltest.Call(1, tc.args)
			res, err := newTool(t, s, tc.c).Run(t.Context(), call)
			if err != nil || res.Failed || string(res.Value) != tc.want {
				t.Errorf("%s: %v %s, want %s", name, err, res.Value, tc.want)
			}
		}
	})
}

func TestRunner_A4_FailuresSayWhatTheyMay(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *Source) {
		exec(t, s, "create table x (a int primary key, t text not null)")
		var log strings.Builder
		c := Config{Name: "add", Query: "insert into x values (:id, :note)", Effect: tool.Unsafe, Log: slog.New(slog.NewTextHandler(&log, nil))}
		r := newTool(t, s, c)
		res, err := r.Run(t.Context(), tooltest.Call(1, `{"id":1}`))
		if err != nil || !res.Failed || !res.Pure || res.Unknown || !strings.HasPrefix(string(res.Value), `{"error":"constraint_violation","message":"The database's rules`) {
			t.Errorf("%v %+v %s", err, res, res.Value)
		}
		res, _ = r.Run(t.Context(), tooltest.Call(1, `{"id":"canaryvalue","note":"x"}`))
		if s.Dialect() == Postgres && !strings.Contains(string(res.Value), "invalid_value") || strings.Contains(log.String(), "canaryvalue") {
			t.Errorf("%s\n%s", res.Value, log.String())
		}
		if !strings.Contains(log.String(), "tool=add source=shop") {
			t.Errorf("log: %s", log.String())
		}
		call := tooltest.Call(1, `{}`)
		call.Identity = tool.Identity{}
		res, err = newTool(t, s, Config{Query: "select :who", Bind: map[string]string{"who": "user.id"}}).Run(t.Context(), call)
		if err != nil || !res.Failed || !strings.Contains(string(res.Value), "identity_missing") {
			t.Errorf("%v %s", err, res.Value)
		}
		for _, args := range []string{`[]`, `{`, `1`} {
			if _, err := r.Run(t.Context(), tooltest.Call(1, args)); err == nil {
				t.Errorf("%s: no error", args)
			}
		}
	})
}

func TestNewTool_ConfigErrors(t *testing.T) {
	t.Parallel()
	s := opened(t, SQLite)
	for name, tc := range map[string]struct {
		c    Config
		want string
	}{
		"no query":            {Config{}, "there is no statement"},
		"two statements":      {Config{Query: "select 1; select 2"}, "second statement"},
		"unknown parameter":   {Config{Query: "select :nr"}, ":nr"},
		"bound in the schema": {Config{Query: "select :id", Bind: map[string]string{"ID": "user.id"}}, `"ID"`},
		"bound for nothing":   {Config{Query: "select 1", Bind: map[string]string{"who": "user.id"}}, "no :who"},
		"unknown identity":    {Config{Query: "select :who", Bind: map[string]string{"who": "user.email"}}, "user.email"},
		"writes as read":      {Config{Query: "delete from x"}, "effect: unsafe"},
		"effect":              {Config{Query: "select 1", Effect: "maybe"}, "maybe"},
		"result":              {Config{Query: "select 1", Result: "list"}, "list"},
		"max_rows":            {Config{Query: "select 1", MaxRows: -1}, "max_rows"},
	} {
		tc.c.Schema = json.RawMessage(orderSchema)
		if _, err := NewTool(tc.c, s); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := newTool(t, s, Config{Query: "select :id"})
	if r.Effect() != tool.Read {
		t.Errorf("default effect %s", r.Effect())
	}
	a, b := Config{Query: "select 1"}, Config{Query: "select 1", MaxRows: 5}
	if d := cmp.Diff(a.Code("shop"), b.Code("shop")); d == "" {
		t.Error("another limit is the same tool")
	}
}
