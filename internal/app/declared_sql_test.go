package app

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/postgrestest"
	"github.com/parley-bot/parley/internal/secret"
	"github.com/parley-bot/parley/internal/tool"
	sqltool "github.com/parley-bot/parley/internal/tool/sql"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

// database is a new one of a kind, filled by statements.
func database(t *testing.T, d sqltool.Dialect, statements ...string) (url string, s *sqltool.Source) {
	t.Helper()
	if d == sqltool.Postgres {
		url = postgrestest.URL(t)
	} else {
		path := filepath.Join(t.TempDir(), "shop.db")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		url = "sqlite://" + path
	}
	s, err := sqltool.New("shop", secret.New(url), sqltool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, text := range statements {
		query(t, s, text)
	}
	return url, s
}

func query(t *testing.T, s *sqltool.Source, text string) string {
	t.Helper()
	q, err := sqltool.Parse(s.Dialect(), text)
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Run(t.Context(), sqltool.Statement{Query: q, Write: true, Limits: sqltool.Limits{Rows: 100, Bytes: 1 << 20}})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return string(a.Objects())
}

const shopTools = `data: {shop: {url: %q}}
tools:
  my_orders:
    description: The person's orders. Not for placing one.
    sql: {query: "select id, item from orders where customer = :customer order by id", bind: {customer: user.id}}
  cancel_order:
    description: Cancels an order. Not for listing orders.
    schema: {type: object, properties: {id: {type: integer}}, required: [id]}
    confirm: true
    confirm_message: "Cancel order {id}?"
    effect: unsafe
    sql: {query: "delete from orders where id = :id and customer = :customer returning item", bind: {customer: user.id}, result: value}
`

// Both kinds of database, from the configuration to the model.
func TestDeclared_E1_SQLTools(t *testing.T) {
	t.Parallel()
	for _, d := range []sqltool.Dialect{sqltool.SQLite, sqltool.Postgres} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			url, s := database(t, d, "create table orders (id integer, customer text, item text)",
				"insert into orders values (1, 'user-ana', 'tea'), (2, 'user-bo', 'cake'), (3, 'user-ana', 'rye')")
			b := newBed(t, withYAML(fmt.Sprintf(shopTools, url)))
			b.model.then(calls("my_orders", `{}`), says("two"), calls("cancel_order", `{"id":3}`), says("gone"), calls("cancel_order", `{"id":2}`), says("not yours"))
			b.say("what did I order?")
			b.wants(1, "two")
			told := func(want string) {
				t.Helper()
				rs := b.model.results()
				if len(rs) == 0 || rs[len(rs)-1].Content != want {
					t.Errorf("the model was told %+v, want %s", rs, want)
				}
			}
			told(`{"rows":[{"id":1,"item":"tea"},{"id":3,"item":"rye"}]}`)
			b.say("cancel the rye")
			b.wants(2, "Cancel order 3?")
			if got := query(t, s, "select count(*) as n from orders"); got != `[{"n":3}]` {
				t.Errorf("before the yes: %s", got)
			}
			b.press("yes")
			b.wants(3, "gone")
			told("rye")
			b.say("cancel number 2")
			b.wants(4, "Cancel order 2?")
			b.press("yes")
			b.wants(5, "not yours")
			told("null")
			if got := query(t, s, "select id from orders order by id"); got != `[{"id":1},{"id":2}]` {
				t.Errorf("left are %s", got)
			}
		})
	}
}

func TestDeclared_SQLIsChecked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct{ query, effect, want string }{
		"unknown parameter": {"select :nr", "read", ":nr is neither an argument"},
		"writes as read":    {"delete from x", "read", "set effect: unsafe"},
		"open text":         {"select 'x", "read", "no closing"},
	} {
		path := filepath.Join(dir, "parley.yaml")
		doc := fmt.Sprintf("model: {provider: script, script: model.yaml}\nchannels: {web: {kind: webchat}}\ndata: {shop: {url: \"sqlite://x.db\"}}\ntools:\n  a: {description: d, effect: %s, sql: {query: %q}}\n", c.effect, c.query)
		for name, text := range map[string]string{path: doc, filepath.Join(dir, "model.yaml"): "rules:\n  - say: unused\n"} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cfg, err := config.Load(path, Kinds())
		if err != nil {
			t.Fatal(err)
		}
		_, err = Build(t.Context(), cfg, Options{Log: slog.New(slog.DiscardHandler)})
		place := fmt.Sprintf("%s:5:%d: tool a: ", path, len("  a: {description: d, effect: , sql: {q")+len(c.effect))
		if err == nil || !strings.Contains(err.Error(), place) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// check --live tells of each data source, and lints SQL tools as all others.
func TestDeclared_E3_SQLIsPingedAndLinted(t *testing.T) {
	t.Parallel()
	url, _ := database(t, sqltool.SQLite, "create table orders (id integer, customer text, item text)")
	b := newBed(t, withYAML(fmt.Sprintf(shopTools, url)))
	var told []string
	_ = b.app.CheckLive(t.Context(), func(line string) { told = append(told, line) }) // the bed's model has no API
	if got := strings.Join(told, "\n"); !strings.Contains(got, "data source shop: ok") {
		t.Errorf("told %q", got)
	}
	var rules []string
	for _, f := range b.app.Findings() {
		rules = append(rules, f.Tool+" "+f.Rule)
	}
	if got := strings.Join(rules, "\n"); !strings.Contains(got, "cancel_order "+tool.RuleOpenNumber) || strings.Contains(got, tool.RuleUnsafeNoAsking) {
		t.Errorf("findings %q", got)
	}
}
