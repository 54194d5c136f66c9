package js

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/tool"
)

// begun are ways in which a call ends, each once after something that may have
// taken effect, and once after a read.
const begun = `
const ends: any = {
  memory: () => { let s = 'x'; for (;;) s += s },
  stack: () => { const f = (): number => f() + 1; return f() },
  never: () => new Promise(() => {}),
  cyclic: () => { const a: any = {}; a.a = a; return a },
  long: () => 'ñ'.repeat(12 << 20),
  store: async (ctx: any) => await ctx.store.get('k'),
  throws: () => { throw new Error('the author says no') },
  beside: async (ctx: any) => { await Promise.all([ctx.fetch('https://shop.test/hang', { method: 'POST' }), Promise.reject(new Error('one failed'))]) },
  besideGet: async (ctx: any) => { await Promise.all([ctx.fetch('https://shop.test/hang'), Promise.reject(new Error('one failed'))]) },
  gaveUp: async (ctx: any) => {
    const c = new AbortController()
    setTimeout(() => c.abort(), 1)
    await ctx.fetch('https://shop.test/hang', { method: 'POST', signal: c.signal })
  },
}
export const tools = {
  go: { schema: { type: 'object' }, handler: async ({ first, end }: any, ctx: any) => {
    if (first === 'post') await ctx.fetch('https://shop.test/orders', { method: 'POST' })
    if (first === 'write') await ctx.db.shop.exec('insert')
    if (first === 'get') await ctx.fetch('https://shop.test/orders')
    if (first === 'query') await ctx.db.shop.query('select')
    return ends[end](ctx)
  } },
}`

// brokenStore can't be read.
type brokenStore struct{}

func (brokenStore) Get(context.Context, tool.Scope, string) (json.RawMessage, int64, error) {
	return nil, 0, errors.New("disk full")
}

func (brokenStore) List(context.Context, tool.Scope, string) ([]string, error) { return nil, nil }

func TestRun_G4_ALostHandlerLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	m := script(t, begun, Options{MemoryLimit: 16 << 20, DB: fakeDB{seen: make(chan string, 100)}, Fetch: func(ctx context.Context, req Request) (Response, error) {
		if strings.HasSuffix(req.URL, "/hang") {
			<-ctx.Done()
			return Response{}, ctx.Err()
		}
		return Response{Status: 201}, nil
	}})
	for end, lost := range map[string]bool{
		"memory": true, "stack": true, "never": true, "cyclic": true, "long": true, "store": true, "throws": false, "beside": false, "besideGet": false, "gaveUp": false,
	} {
		for first, effect := range map[string]bool{"post": true, "write": true, "get": false, "query": false} {
			c := callOf("go", `{"first":"`+first+`","end":"`+end+`"}`)
			c.Store = brokenStore{}
			res, err := byName(t, m, "go").Runner.Run(t.Context(), c)
			if end == "store" && !effect {
				if err == nil {
					t.Errorf("%s after %s: the operator isn't told: %s", end, first, res.Value)
				}
				continue
			}
			want := lost && effect || end == "beside" || end == "gaveUp"
			if err != nil || !res.Failed || res.Unknown != want {
				t.Errorf("%s after %s: failed %v, unknown %v, want %v: %s, %v", end, first, res.Failed, res.Unknown, want, res.Value, err)
			}
			if strings.Contains(string(res.Value), "disk full") {
				t.Errorf("%s after %s: %s", end, first, res.Value)
			}
		}
	}
}
