package js

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/secret"
)

const echoes = `
import { defineTool } from 'parley'
const echo = async (ctx: any) => {
  const basic = 'Basic ' + btoa('ana:' + ctx.secret('s'))
  const r = await ctx.fetch('https://shop.test/', { headers: { Authorization: basic, 'X-Key': ctx.secret('s'), 'X-Query': encodeURIComponent(ctx.secret('s')) } })
  return await r.json()
}
const any = { type: 'object' }
export const tools = {
  result: { schema: any, handler: (_: any, ctx: any) => echo(ctx) },
  text: { schema: any, handler: async (_: any, ctx: any) => JSON.stringify(await echo(ctx)) },
  key: { schema: any, handler: (_: any, ctx: any) => ({ [ctx.secret('s')]: 1, short: ctx.secret('short') }) },
  number: { schema: any, handler: (_: any, ctx: any) => ({ n: Number(ctx.secret('digits')) }) },
  throws: { schema: any, handler: async (_: any, ctx: any) => { throw new Error(JSON.stringify(await echo(ctx))) } },
  logs: { schema: any, handler: async (_: any, ctx: any) => { ctx.log.warn('answer', await echo(ctx)); console.log(await echo(ctx)) } },
  store: { schema: any, handler: async (_: any, ctx: any) => {
    await ctx.store.set('last', await echo(ctx))
    await ctx.store.user.update('of ' + ctx.secret('s'), () => ctx.secret('s'))
    return { read: await ctx.store.get('last'), keys: await ctx.store.user.list('of ' + ctx.secret('s')), own: await ctx.store.user.get('of ' + ctx.secret('s')) }
  } },
  asks: defineTool({ schema: any, handler: () => 1, confirm: true,
    confirmLines: async (_: any, ctx: any) => Object.values(await echo(ctx)) as string[],
    confirmMessage: async (_: any, ctx: any) => 'Really: ' + JSON.stringify(await echo(ctx)) }),
  parses: { schema: { safeParse: (a: any) => ({ success: true, data: { ...a, s: (globalThis as any).kept } }) }, jsonSchema: any,
    handler: (_: any, ctx: any) => { (globalThis as any).kept = ctx.secret('s') } },
}`

// echoing is a server that says what it was sent.
func echoing(_ context.Context, req Request) (Response, error) {
	said := map[string]string{}
	for name := range req.Header {
		said[name] = req.Header.Get(name)
	}
	body, err := json.Marshal(said)
	return Response{Status: 200, URL: req.URL, Header: http.Header{"X-Echo": {req.Header.Get("X-Key")}}, Body: body}, err
}

func TestRun_A12_NoSecretLeavesAScript(t *testing.T) {
	t.Parallel()
	const canary = `canary "/é-s3cr3t`
	var log strings.Builder
	m := script(t, echoes, Options{Fetch: echoing, MaxVMs: 1, Log: lines(&log), Secret: func(name string) (secret.String, error) {
		return secret.New(map[string]string{"s": canary, "short": "word", "digits": "12345678"}[name]), nil
	}})
	ask := func(what string, got any, err error) string {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		b, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	seen := map[string]string{}
	for _, name := range []string{"result", "text", "key", "number", "throws", "logs", "store", "parses"} {
		res, err := byName(t, m, name).Runner.Run(t.Context(), callOf(name, `{}`))
		seen[name] = ask(name, res.Value, err)
		for _, w := range res.Writes {
			seen[name+" writes"] += w.Key + "=" + string(w.Value) + "\n"
		}
	}
	lines, _, err := byName(t, m, "asks").Runner.(*runner).ConfirmLines(t.Context(), callOf("asks", `{}`))
	seen["lines"] = ask("confirmLines", lines, err)
	message, _, err := byName(t, m, "asks").Runner.(*runner).ConfirmMessage(t.Context(), callOf("asks", `{}`))
	seen["message"] = ask("confirmMessage", message, err)
	parsed, _, err := byName(t, m, "parses").Runner.(parsingRunner).Parse(t.Context(), callOf("parses", `{}`))
	seen["parsed"] = ask("the validator", parsed, err)
	seen["log"] = log.String()

	whole := base64.StdEncoding.EncodeToString([]byte("ana:" + canary))
	for where, text := range seen {
		for _, part := range []string{"canary", "s3cr3t", "cr3t", "12345678", whole[4:20], "OmNhbmFyeS"} {
			if strings.Contains(text, part) {
				t.Errorf("%s: %s left: %s", where, part, text)
			}
		}
		if !strings.Contains(text, "***") && where != "logs" && where != "parses" {
			t.Errorf("%s: nothing is masked: %s", where, text)
		}
	}
	if diff := cmp.Diff(map[string]string{
		"key": `{"***":1,"short":"word"}`, "number": `{"n":"***"}`, "parsed": `{"s":"***"}`,
		"result": `{"Authorization":"Basic YW5hO***","X-Key":"***","X-Query":"***"}`,
	}, map[string]string{"key": seen["key"], "number": seen["number"], "parsed": seen["parsed"], "result": seen["result"]}); diff != "" {
		t.Error(diff)
	}
}

// An answer's headers reach an expression of an http tool, and its result the
// model.
func TestExpressions_A12_NoSecretLeaves(t *testing.T) {
	t.Parallel()
	m, asked, err := Expressions(t.Context(), map[string]Expr{"x": {
		Result: Code{Text: "({ got: body, own: ctx.secret('s') })"}, ConfirmMessage: Code{Text: "'Use ' + ctx.secret('s')"},
	}}, Options{Secret: func(string) (secret.String, error) { return secret.New("canary-value"), nil }})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, m)
	value, err := asked["x"].Result(t.Context(), callOf("x", `{}`), json.RawMessage(`{"args":{},"body":"canary-value","status":200,"headers":{}}`))
	if err != nil || string(value) != `{"got":"***","own":"***"}` {
		t.Errorf("%s, %v", value, err)
	}
	text, _, err := asked["x"].ConfirmMessage(t.Context(), callOf("x", `{}`))
	if err != nil || text != "Use ***" {
		t.Errorf("%s, %v", text, err)
	}
}
