package js

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/secret"
	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/tool/tooltest"
)

func TestContext_E1(t *testing.T) {
	t.Parallel()
	m := script(t, `export const tools = { all: { schema: {}, handler: (args, ctx) => ({
  tool: ctx.tool, callId: ctx.callId, chatKey: ctx.chatKey, channel: ctx.channel, lang: ctx.lang, user: ctx.user, aborted: ctx.signal.aborted,
  money: ctx.money(1234.5, 'EUR'), local: (1234.5).toLocaleString(),
}) } }`, Options{})
	c := callOf("all", `{"user":{"id":"mallory"}}`)
	c.Lang = "es"
	res, err := byName(t, m, "all").Runner.Run(t.Context(), c)
	want := `{"tool":"all","callId":"turn.1.1","chatKey":"web:c1","channel":"web","lang":"es","user":{"id":"u1","name":"Ana","claims":{"phone":"+57"}},"aborted":false,` +
		"\"money\":\"1234,50\u00a0€\",\"local\":\"1234,5\"}"
	if err != nil || string(res.Value) != want {
		t.Errorf("%s, %v\nwant %s", res.Value, err, want)
	}
}

func TestContext_OverWhenTheCallIs(t *testing.T) {
	t.Parallel()
	m := script(t, `
let kept: any
export const tools = {
  keep: { schema: {}, handler: (_, ctx) => { kept = ctx } },
  use: { schema: {}, handler: async () => {
    const out: string[] = []
    for (const f of [() => kept.store.get('a'), () => kept.fetch('https://x.test/'), () => kept.secret('s')]) {
      try { await f(); out.push('worked') } catch (e: any) { out.push(e.message.slice(0, 17)) }
    }
    return out
  } },
}`, Options{MaxVMs: 1, Secret: func(string) (secret.String, error) { return secret.New("x"), nil }, Fetch: noFetch})
	call(t, m, "keep", `{}`)
	res := call(t, m, "use", `{}`)
	if string(res.Value) != `["this call is over","this call is over","this call is over"]` {
		t.Errorf("%s", res.Value)
	}
}

func noFetch(context.Context, Request) (Response, error) {
	return Response{}, errors.New("unreachable")
}

func TestStore_BufferedAndReadBack(t *testing.T) {
	t.Parallel()
	m := script(t, `export const tools = {
  write: { schema: {}, handler: async (_, ctx) => {
    await ctx.store.set('a', { n: 1 })
    ctx.store.set('b', [1])            // not awaited
    await ctx.store.delete('old')
    await ctx.store.user.set('a', 'user')
    await ctx.store.bot.set('a', 'bot')
    return { a: await ctx.store.get('a'), old: (await ctx.store.get('old')) ?? null, user: await ctx.store.user.get('a'),
      list: await ctx.store.list(), pre: await ctx.store.list('b'), none: (await ctx.store.get('none')) === undefined }
  } },
  read: { schema: {}, handler: async (_, ctx) => [await ctx.store.get('a'), await ctx.store.user.get('a'), await ctx.store.bot.get('a')] },
  count: { schema: {}, handler: async (_, ctx) => {
    await ctx.store.update('n', async (n = 0) => n + 1)
    return ctx.store.update('n', (n) => n + 10)
  } },
  fails: { schema: {}, handler: async (_, ctx) => { await ctx.store.set('a', 'bad'); throw new Error('no') } },
  odd: { schema: {}, handler: async (_, ctx) => {
    const out: string[] = []
    for (const f of [() => ctx.store.set('', 1), () => ctx.store.set('k', undefined), () => ctx.store.get(5), () => ctx.store.set('k'.repeat(600), 1),
      () => ctx.store.set('k', 'x'.repeat(300_000))]) {
      try { await f(); out.push('worked') } catch (e: any) { out.push('refused') }
    }
    return out
  } },
}`, Options{})
	store := tooltest.NewStore()
	run := func(name, chat, user string) tool.Result {
		t.Helper()
		c := callOf(name, `{}`)
		c.Store, c.Identity.ChatKey, c.Identity.UserID = store, chat, user
		res, err := byName(t, m, name).Runner.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	if !store.Commit([]tool.Write{{Scope: tool.ScopeOf("chat", "web", "web:c1"), Key: "old", Value: json.RawMessage(`1`)}}) {
		t.Fatal("not committed")
	}
	res := run("write", "web:c1", "u1")
	if want := `{"a":{"n":1},"old":null,"user":"user","list":["a","b"],"pre":["b"],"none":true}`; string(res.Value) != want {
		t.Errorf("%s, want %s", res.Value, want)
	}
	var keys []string
	for _, w := range res.Writes {
		keys = append(keys, string(w.Scope)+"/"+w.Key+"="+string(w.Value))
		if w.IfVersion != nil {
			t.Errorf("%s is conditional", w.Key)
		}
	}
	if diff := cmp.Diff([]string{
		`chat:web:c1/a={"n":1}`, `chat:web:c1/b=[1]`, `chat:web:c1/old=`, `user:web:u1/a="user"`, `bot/a="bot"`,
	}, keys); diff != "" {
		t.Error(diff)
	}
	if got := string(run("read", "web:c1", "u1").Value); got != `[null,null,null]` {
		t.Errorf("before the commit others read %s", got)
	}
	store.Commit(res.Writes)
	for who, want := range map[[2]string]string{
		{"web:c1", "u1"}: `[{"n":1},"user","bot"]`,
		{"web:c2", "u1"}: `[null,"user","bot"]`,
		{"web:c1", "u2"}: `[{"n":1},null,"bot"]`,
	} {
		if got := string(run("read", who[0], who[1]).Value); got != want {
			t.Errorf("%v reads %s, want %s", who, got, want)
		}
	}
	if res := run("fails", "web:c1", "u1"); !res.Failed || res.Writes != nil {
		t.Errorf("a failed call leaves %v", res.Writes)
	}
	if got := string(run("odd", "web:c1", "u1").Value); got != `["refused","refused","refused","refused","refused"]` {
		t.Errorf("odd keys and values: %s", got)
	}
	first, second := run("count", "web:c1", "u1"), run("count", "web:c1", "u1")
	if len(first.Writes) != 1 || first.Writes[0].IfVersion == nil || string(first.Value) != "11" {
		t.Errorf("update: %s, %+v", first.Value, first.Writes)
	}
	if !store.Commit(first.Writes) || store.Commit(second.Writes) {
		t.Error("two updates of the same version must conflict")
	}
	if again := run("count", "web:c1", "u1"); string(again.Value) != "22" || !again.Pure {
		t.Errorf("repeated: %s, pure %v", again.Value, again.Pure)
	}
}

func TestStore_ItsFailureIsTheOperators(t *testing.T) {
	t.Parallel()
	m := script(t, `export const tools = { a: { schema: {}, handler: async (_, ctx) => { try { return await ctx.store.get('a') } catch { return 'hidden' } } } }`, Options{})
	c := callOf("a", `{}`)
	store := tooltest.NewStore()
	boom := errors.New("disk")
	store.FailWith(boom)
	c.Store = store
	if _, err := byName(t, m, "a").Runner.Run(t.Context(), c); !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
	c.Store = nil
	if res, err := byName(t, m, "a").Runner.Run(t.Context(), c); err != nil || string(res.Value) != `"hidden"` {
		t.Errorf("without a store: %s, %v", res.Value, err)
	}
}

// unknownError is a request that may have taken effect.
type unknownError struct{}

func (unknownError) Error() string        { return "connection lost with key s3cr3t-value" }
func (unknownError) OutcomeUnknown() bool { return true }

func TestFetch_E6(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	opts := Options{
		Secret: func(name string) (secret.String, error) {
			if name != "shop" {
				return secret.String{}, errors.New("there is no secret of that name")
			}
			return secret.New("s3cr3t-value"), nil
		},
		Fetch: func(ctx context.Context, req Request) (Response, error) {
			mu.Lock()
			seen = append(seen, req.Method+" "+req.URL+" "+req.Header.Get("Idempotency-Key")+" "+req.Header.Get("Content-Type")+" "+string(req.Body))
			mu.Unlock()
			switch {
			case strings.HasSuffix(req.URL, "/hang"):
				<-ctx.Done()
				return Response{}, ctx.Err()
			case strings.HasSuffix(req.URL, "/lost"):
				return Response{}, unknownError{}
			case strings.HasSuffix(req.URL, "/panic"):
				panic("fetch")
			case strings.HasSuffix(req.URL, "/bytes"):
				return Response{Status: 200, Body: []byte{0xff, 0x00, 0x80}}, nil
			}
			return Response{Status: 201, URL: req.URL, Header: http.Header{"X-Id": {"7"}}, Body: []byte(`{"ok":"sí"}`)}, nil
		},
	}
	var log strings.Builder
	opts.Log = lines(&log)
	m := script(t, `export const tools = {
  all: { schema: {}, handler: async (_, ctx) => {
    const r = await ctx.fetch('https://shop.test/a')
    const [p, q] = await Promise.all([
      ctx.fetch('https://shop.test/b', { method: 'post', body: JSON.stringify({ a: 1 }), headers: { 'Content-Type': 'application/json' } }),
      fetch(new URL('/c', 'https://shop.test'), { method: 'DELETE' }),
    ])
    const b = await (await ctx.fetch('https://shop.test/bytes')).bytes()
    return { status: r.status, ok: r.ok, id: r.headers.get('x-id'), json: await r.json(), text: await p.text(), q: q.statusText, b: [...b] }
  } },
  lost: { schema: {}, handler: async (_, ctx) => { ctx.secret('shop'); await ctx.fetch('https://shop.test/lost', { method: 'POST' }) } },
  lostGet: { schema: {}, handler: async (_, ctx) => { await ctx.fetch('https://shop.test/lost') } },
  caught: { schema: {}, handler: async (_, ctx) => { try { await ctx.fetch('https://shop.test/lost', { method: 'POST' }) } catch (e) { return e.name } } },
  panics: { schema: {}, handler: async (_, ctx) => { try { await ctx.fetch('https://shop.test/panic') } catch (e) { return 'caught' } } },
  hang: { schema: {}, handler: async (_, ctx) => ctx.fetch('https://shop.test/hang', { method: 'POST' }) },
  stop: { schema: {}, handler: async (_, ctx) => {
    const c = new AbortController()
    setTimeout(() => c.abort(), 5)
    try { await ctx.fetch('https://shop.test/hang', { signal: c.signal }) } catch (e) { return e.name }
  } },
  leave: { schema: {}, handler: async (_, ctx) => { ctx.fetch('https://shop.test/hang').catch(() => {}); return 'left' } },
  secrets: { schema: {}, handler: (_, ctx) => { console.log('key', ctx.secret('shop')); try { ctx.secret('other') } catch (e) { return e.message } } },
}`, opts)
	res := call(t, m, "all", `{}`)
	if want := `{"status":201,"ok":true,"id":"7","json":{"ok":"sí"},"text":"{\"ok\":\"sí\"}","q":"Created","b":[255,0,128]}`; string(res.Value) != want || res.Pure {
		t.Errorf("%s pure %v, want %s", res.Value, res.Pure, want)
	}
	mu.Lock()
	got := map[string]bool{}
	for _, s := range seen {
		got[s] = true
	}
	mu.Unlock()
	if diff := cmp.Diff(map[string]bool{
		"GET https://shop.test/a   ": true, "GET https://shop.test/bytes   ": true,
		`POST https://shop.test/b turn.1.1.1 application/json {"a":1}`: true, "DELETE https://shop.test/c turn.1.1.2  ": true,
	}, got); diff != "" {
		t.Error(diff)
	}
	if res := call(t, m, "lost", `{}`); !res.Failed || !res.Unknown || strings.Contains(string(res.Value), "s3cr3t") {
		t.Errorf("lost: %+v %s", res, res.Value)
	}
	if res := call(t, m, "lostGet", `{}`); !res.Failed || res.Unknown {
		t.Errorf("a lost GET changed nothing: %+v", res)
	}
	if res := call(t, m, "caught", `{}`); res.Failed || string(res.Value) != `"TypeError"` {
		t.Errorf("caught: %s", res.Value)
	}
	if res := call(t, m, "panics", `{}`); string(res.Value) != `"caught"` {
		t.Errorf("panics: %s", res.Value)
	}
	if res := call(t, m, "stop", `{}`); string(res.Value) != `"AbortError"` {
		t.Errorf("stop: %s", res.Value)
	}
	if res := call(t, m, "leave", `{}`); string(res.Value) != `"left"` {
		t.Errorf("leave: %s", res.Value)
	}
	if res := call(t, m, "secrets", `{}`); !strings.Contains(string(res.Value), "no secret of that name") {
		t.Errorf("secrets: %s", res.Value)
	}
	if strings.Contains(log.String(), "s3cr3t") || !strings.Contains(log.String(), "key ***") {
		t.Errorf("log %s", log.String())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if res, err := byName(t, m, "hang").Runner.Run(ctx, callOf("hang", `{}`)); err != nil || !res.TimedOut || res.Pure {
		t.Errorf("hang: %+v, %v", res, err)
	}
}

func TestFetch_NoneAllowed(t *testing.T) {
	t.Parallel()
	m := script(t, `export const tools = {
  f: { schema: {}, handler: async (_, ctx) => ctx.fetch('https://shop.test/') },
  db: { schema: {}, handler: async (_, ctx) => ctx.db.shop.query('select 1') },
  s: { schema: {}, handler: async (_, ctx) => ctx.secret('x') },
}`, Options{})
	for name, want := range map[string]string{"f": "no hosts are allowed", "db": `no data source named \"shop\"`, "s": `no secret named`} {
		if res := call(t, m, name, `{}`); !res.Failed || !strings.Contains(string(res.Value), want) {
			t.Errorf("%s: %s", name, res.Value)
		}
	}
}

func TestRun_NumbersAreNotChanged(t *testing.T) {
	t.Parallel()
	m := script(t, `export const tools = { echo: { schema: {}, handler: (a: any) => a } }`, Options{})
	for args, exact := range map[string]bool{
		`{"n":9007199254740991}`: true, `{"n":1e21}`: true, `{"n":0.1}`: true, `{"n":-1.50}`: true, `{"n":5e-324}`: true,
		`{"n":9007199254740993}`: false, `{"a":[{"n":1152921504606846976}]}`: false, `{"n":1e309}`: false, `{"n":0.12345678901234567890}`: false,
	} {
		res := call(t, m, "echo", args)
		if exact == res.Failed {
			t.Errorf("%s: %s", args, res.Value)
		}
		if !exact && !strings.Contains(string(res.Value), "number_out_of_range") {
			t.Errorf("%s: %s", args, res.Value)
		}
		if exact && tool.ArgsHash(res.Value) != tool.ArgsHash(json.RawMessage(args)) {
			t.Errorf("%s came back as %s", args, res.Value)
		}
	}
}

func TestRun_OperatorSeesTheLine(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	m := script(t, "interface Order { total: number }\n\nexport const tools = {\n  pay: { schema: {}, handler: async (o: Order) => {\n    await null\n    throw new Error('card refused')\n  } },\n}",
		Options{Log: lines(&log)})
	res := call(t, m, "pay", `{}`)
	if string(res.Value) != `{"error":"card refused"}` {
		t.Errorf("%s", res.Value)
	}
	var line struct {
		Msg    string `json:"msg"`
		At     string `json:"at"`
		Tool   string `json:"tool"`
		CallID string `json:"call_id"`
	}
	if err := json.Unmarshal([]byte(log.String()), &line); err != nil {
		t.Fatalf("%v in %s", err, log.String())
	}
	if line.Msg != "script tool failed" || !strings.Contains(line.At, "tools.ts:6:") || line.Tool != "pay" || line.CallID != "turn.1.1" {
		t.Errorf("%+v", line)
	}
}

func FuzzBoundary(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,-0.5,null,true,"x\u0000\ud83d\ude00"]}`, `{"__proto__":{"a":1},"constructor":2}`, `{"2":1,"1":2}`, `{"a":1e300}`} {
		f.Add(s)
	}
	path := f.TempDir() + "/tools.ts"
	if err := writeText(path, `export const tools = { echo: { schema: {}, handler: async (a: any) => a } }`); err != nil {
		f.Fatal(err)
	}
	m, err := Load(f.Context(), File(path), Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = m.Close(context.Background()) }) // the fuzzer's end is its end
	reg, err := tool.NewRegistry(m.Tools())
	if err != nil {
		f.Fatal(err)
	}
	echo, _ := reg.Get("echo")
	f.Fuzz(func(t *testing.T, raw string) {
		args, vs := reg.Validate(echo, raw)
		if vs != nil || len(args) > 16<<10 {
			return
		}
		res, err := echo.Runner.Run(t.Context(), callOf("echo", string(args)))
		if err != nil {
			t.Fatal(err)
		}
		if _, lossy := inexact(args); lossy != res.Failed {
			t.Fatalf("%s: failed %v: %s", args, res.Failed, res.Value)
		}
		if !res.Failed && tool.ArgsHash(res.Value) != tool.ArgsHash(args) {
			t.Fatalf("%s came back as %s", args, res.Value)
		}
	})
}
