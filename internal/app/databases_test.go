package app

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	sqltool "github.com/parley-bot/parley/internal/tool/sql"
)

const dbScript = `
const any = { type: 'object' }
export const tools = {
  restock: { description: 'Adds to the stock.', schema: any, handler: async (args: any, ctx: any) => {
    const { affected, rows } = await ctx.db.shop.exec('update stock set n = n + :by where item = :item returning n', args)
    return { affected, rows, all: await ctx.db.shop.query('select item, n from stock where n > :min order by item', { min: 0 }) }
  } },
  peek: { description: 'Looks only.', effect: 'read', schema: any, handler: async (_: any, ctx: any) => {
    const out: string[] = []
    for (const f of [
      () => ctx.db.shop.query("insert into stock values ('x', 1)"),
      () => ctx.db.shop.exec("insert into stock values ('x', 1)"),
      () => ctx.db.shop.query('select :missing'),
      () => ctx.db.shop.query('select 1; select 2'),
      () => ctx.db.shop.query('select nosuch from stock'),
      () => ctx.db.shop.query('with recursive n(i) as (select 1 union all select i + 1 from n) select i from n'),
    ]) {
      try { await f(); out.push('no error') } catch (e: any) { out.push(e.code ?? 'refused') }
    }
    return out
  } },
}`

// ctx.db from the configuration to the model, on both kinds of database.
func TestScripts_CtxDB(t *testing.T) {
	t.Parallel()
	for _, d := range []sqltool.Dialect{sqltool.SQLite, sqltool.Postgres} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			url, s := database(t, d, "create table stock (item text primary key, n integer)", "insert into stock values ('tea', 1), ('rye', 0)")
			path := filepath.Join(t.TempDir(), "stock.ts")
			if err := os.WriteFile(path, []byte(dbScript), 0o600); err != nil {
				t.Fatal(err)
			}
			b := newBed(t, withYAML(fmt.Sprintf("data: {shop: {url: %q}}\ntools: {scripts: [%q]}\n", url, path)))
			b.model.then(calls("restock", `{"item":"rye","by":5}`), says("done"), calls("peek", `{}`), says("seen"))
			b.say("more rye")
			b.wants(1, "done")
			if got, want := one(t, b).Content, `{"affected":1,"rows":[{"n":5}],"all":[{"item":"rye","n":5},{"item":"tea","n":1}]}`; got != want {
				t.Errorf("restock: %s, want %s", got, want)
			}
			b.say("look")
			b.wants(2, "seen")
			if got, want := one(t, b).Content, `["read_only","refused","query_failed","query_failed","query_failed","too_large"]`; got != want {
				t.Errorf("peek: %s, want %s", got, want)
			}
			if got := query(t, s, "select item from stock order by item"); got != `[{"item":"rye"},{"item":"tea"}]` {
				t.Errorf("left is %s", got)
			}
		})
	}
}
