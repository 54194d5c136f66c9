package js

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dbError is an error with all that one of a database may have.
type dbError struct {
	unknown bool
}

func (dbError) Error() string          { return "the day is full" }
func (dbError) Code() string           { return "raised" }
func (e dbError) OutcomeUnknown() bool { return e.unknown }

// fakeDB keeps statements, and answers by their text.
type fakeDB struct{ seen chan string }

func (fakeDB) Has(name string) bool { return name == "shop" }

func (f fakeDB) Run(ctx context.Context, name, statement string, params map[string]json.RawMessage, write bool) (Rows, error) {
	b, _ := json.Marshal(params)
	f.seen <- fmt.Sprint(name, " ", statement, " ", string(b), " ", write)
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	switch statement {
	case "raise":
		return Rows{}, dbError{}
	case "lose":
		return Rows{}, dbError{unknown: true}
	case "panic":
		panic("canary")
	case "hang":
		<-ctx.Done()
		return Rows{}, ctx.Err()
	case "nested":
		return Rows{Columns: []string{"doc"}, Rows: [][]json.RawMessage{{raw(`{"n":[9007199254740993]}`)}}}, nil
	}
	return Rows{
		Columns: []string{"id", "n", "t", "quote\""}, Affected: 2,
		Rows: [][]json.RawMessage{{raw("9007199254740993"), raw("1.5"), raw(`"x"`), raw("null")}, {raw("1"), raw("0"), raw("true"), raw(`{"a":[1]}`)}},
	}, nil
}

const dbTools = `
const any = { type: 'object' }
const q = (sql: string, write = false) => async (_: any, ctx: any) => write ? ctx.db.shop.exec(sql) : ctx.db.shop.query(sql)
export const tools = {
  rows: { schema: any, handler: (a: any, ctx: any) => ctx.db.shop.query('select :a', { a: a.a, b: 5n, c: undefined, d: [1, null] }) },
  exec: { schema: any, handler: q('insert', true) },
  readExec: { schema: any, effect: 'read', handler: q('insert', true) },
  readRows: { schema: any, effect: 'read', handler: q('select') },
  raise: { schema: any, handler: q('raise') },
  caught: { schema: any, handler: async (_: any, ctx: any) => { try { await ctx.db.shop.exec('raise') } catch (e: any) { return { name: e.name, code: e.code, text: e.message } } } },
  lose: { schema: any, handler: q('lose', true) },
  loseRead: { schema: any, handler: q('lose') },
  panics: { schema: any, handler: q('panic') },
  nested: { schema: any, handler: q('nested') },
  noSource: { schema: any, handler: (_: any, ctx: any) => ctx.db.crm.query('select 1') },
  list: { schema: any, handler: (_: any, ctx: any) => ctx.db.shop.query('select 1', [1]) },
  noText: { schema: any, handler: (_: any, ctx: any) => ctx.db.shop.query(1) },
  hang: { schema: any, handler: q('hang', true) },
  asks: { schema: any, handler: () => 1, confirm: async (_: any, ctx: any) => (await ctx.db.shop.query('select')).length > 1,
    confirmLines: async (_: any, ctx: any) => { await ctx.db.shop.exec('insert'); return [] } },
}`

func TestDB_StatementsOfScripts(t *testing.T) {
	t.Parallel()
	db := fakeDB{seen: make(chan string, 100)}
	m := script(t, dbTools, Options{DB: db})
	const answer = `[{"id":"9007199254740993","n":1.5,"t":"x","quote\"":null},{"id":1,"n":0,"t":true,"quote\"":{"a":[1]}}]`
	for name, want := range map[string]struct {
		value         string
		failed        bool
		pure, unknown bool
	}{
		"rows":     {answer, false, true, false},
		"exec":     {`{"affected":2,"rows":` + answer + `}`, false, false, false},
		"readExec": {`{"error":"ctx.db.shop.exec: only the handler of a tool whose effect isn't read may write"}`, true, true, false},
		"readRows": {answer, false, true, false},
		"raise":    {`{"error":"the day is full"}`, true, true, false},
		"caught":   {`{"name":"DatabaseError","code":"raised","text":"the day is full"}`, false, false, false},
		"lose":     {`{"error":"the day is full"}`, true, false, true},
		"loseRead": {`{"error":"the day is full"}`, true, true, false},
		"panics":   {`{"error":"the statement could not be run"}`, true, true, false},
		"nested":   {`{"error":"a script can't hold the number at /doc/n/0 exactly: select it as a text"}`, true, true, false},
		"noSource": {`{"error":"ctx.db: there is no data source named \"crm\""}`, true, true, false},
		"list":     {`{"error":"the parameters are an object: { name: value }"}`, true, true, false},
		"noText":   {`{"error":"a statement is a string, with :name for each parameter"}`, true, true, false},
	} {
		res := call(t, m, name, `{"a":"x"}`)
		if string(res.Value) != want.value || res.Failed != want.failed || res.Pure != want.pure || res.Unknown != want.unknown {
			t.Errorf("%s: %s %+v\nwant %+v", name, res.Value, res, want)
		}
	}
	close(db.seen)
	var seen []string
	for s := range db.seen {
		if strings.Contains(s, "select :a") {
			seen = append(seen, s)
		}
	}
	if d := cmp.Diff([]string{`shop select :a {"a":"x","b":"5","c":null,"d":[1,null]} false`}, seen); d != "" {
		t.Error(d)
	}
}

// A question may look things up, and never changes anything.
func TestDB_B10_QuestionsOnlyRead(t *testing.T) {
	t.Parallel()
	m := script(t, dbTools, Options{DB: fakeDB{seen: make(chan string, 100)}})
	r := byName(t, m, "asks").Runner.(*runner)
	if yes, err := r.NeedsConfirm(t.Context(), callOf("asks", `{}`)); !yes || err != nil {
		t.Errorf("%v, %v", yes, err)
	}
	if _, _, err := r.ConfirmLines(t.Context(), callOf("asks", `{}`)); err == nil || !strings.Contains(err.Error(), "may write") {
		t.Errorf("%v", err)
	}
	em, askers, err := Expressions(t.Context(), map[string]Expr{"a": {Result: Code{Text: "ctx.db.shop.exec('insert')"}}}, Options{DB: fakeDB{seen: make(chan string, 100)}})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, em)
	if _, err := askers["a"].Result(t.Context(), callOf("a", `{}`), json.RawMessage(`{}`)); err == nil || !strings.Contains(err.Error(), "may write") {
		t.Errorf("%v", err)
	}
}

func TestDB_A5_TheEndOfTheCallEndsTheStatement(t *testing.T) {
	t.Parallel()
	db := fakeDB{seen: make(chan string, 1)}
	m := script(t, dbTools, Options{DB: db})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-db.seen; cancel() }()
	res, err := byName(t, m, "hang").Runner.Run(ctx, callOf("hang", `{}`))
	if err != nil || !res.Failed || res.Pure {
		t.Errorf("%+v, %v", res, err)
	}
}
