package js

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// expressions evaluates JavaScript in one call; each case is an expression and
// the JSON of its value, or "throws NAME".
func expressions(t *testing.T, lang string, opts Options, cases [][2]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("import { argLines, money, summarize } from 'parley'\nconst f = [\n")
	for _, c := range cases {
		fmt.Fprintf(&b, "  async (ctx: any) => (%s),\n", c[0])
	}
	b.WriteString(`]
export const tools = { all: { schema: {}, handler: async (_: any, ctx: any) => {
  const out = []
  for (const one of f) {
    try { const v = await one(ctx); out.push(v === undefined ? 'undefined' : v) } catch (e: any) { out.push('throws ' + (e?.name ?? e)) }
  }
  void [argLines, money, summarize]
  return out
} } }`)
	m := script(t, b.String(), opts)
	c := callOf("all", `{}`)
	c.Lang = lang
	res, err := byName(t, m, "all").Runner.Run(t.Context(), c)
	if err != nil || res.Failed {
		t.Fatalf("%s, %v", res.Value, err)
	}
	var got []any
	// No-break spaces are written as ~.
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(res.Value), "\u00a0", "~")), &got); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		var want any
		if err := json.Unmarshal([]byte(c[1]), &want); err != nil {
			want = c[1]
		}
		if diff := cmp.Diff(want, got[i]); diff != "" {
			t.Errorf("%s: %s", c[0], diff)
		}
	}
}

func TestGlobals(t *testing.T) {
	t.Parallel()
	expressions(t, "en", Options{}, [][2]string{
		{`new URL('https://User@EXAMPLE.com:443/a/../b?x=1#h').href`, `"https://User@example.com/b?x=1#h"`},
		{`new URL('../c?d=e f', 'https://a.test/x/y/').href`, `"https://a.test/x/c?d=e%20f"`},
		{`new URL('nope')`, `throws TypeError`},
		{`URL.canParse('https://a.test')`, `true`},
		{`(() => { const u = new URL('https://a.test/p'); u.searchParams.append('q', 'a b&é'); u.pathname = 'x y'; u.hash = 'z'; u.port = '81'; return u.href })()`,
			`"https://a.test:81/x%20y?q=a+b%26%C3%A9#z"`},
		{`(() => { const u = new URL('https://a.test/?a=1'); u.search = '?b=2'; return u.searchParams.get('b') + u.searchParams.get('a') })()`, `"2null"`},
		{`new URLSearchParams({ a: '1', b: 'x y' }).toString()`, `"a=1&b=x+y"`},
		{`[...new URLSearchParams('?a=1&a=%C3%A9&b').entries()]`, `[["a","1"],["a","é"],["b",""]]`},
		{`new URLSearchParams([['z', '1'], ['a', '2']]).has('z')`, `true`},
		{`[...new TextEncoder().encode('aé€🙂')]`, `[97,195,169,226,130,172,240,159,153,130]`},
		{`new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 97, 0xc3, 0xa9, 0xff, 0xe2, 0x82]))`, `"aé��"`},
		{`new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([0xff]))`, `throws TypeError`},
		{`new TextDecoder('utf-16')`, `throws RangeError`},
		{`btoa('hé') + atob('aOk=')`, `"aOk=hé"`},
		{`btoa('€')`, `throws InvalidCharacterError`},
		{`atob('a')`, `throws InvalidCharacterError`},
		{`/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())`, `true`},
		{`crypto.randomUUID() !== crypto.randomUUID()`, `true`},
		{`crypto.getRandomValues(new Uint8Array(32)).some((b) => b !== 0)`, `true`},
		{`(() => { const a: any = { d: new Date(0), m: new Map([[1, new Set([2])]]), l: [1, [2]], u: undefined }; a.self = a; const b = structuredClone(a); return b !== a && b.self === b && b.d.getTime() === 0 && b.m.get(1).has(2) && b.l[1] !== a.l[1] && 'u' in b })()`, `true`},
		{`structuredClone(() => 1)`, `throws DataCloneError`},
		{`new Promise((r) => { const out: string[] = []; setTimeout(() => out.push('c'), 10); setTimeout((x: string) => out.push(x), 1, 'b'); queueMicrotask(() => out.push('a')); const id = setTimeout(() => out.push('no'), 2); clearTimeout(id); setTimeout(() => r(out.join('')), 20) })`, `"abc"`},
		{`new Promise((r) => { let n = 0; const id = setInterval(() => { if (++n === 3) { clearInterval(id); r(n) } }, 1) })`, `3`},
		{`(() => { const c = new AbortController(); let n = 0; c.signal.addEventListener('abort', () => n++); c.abort(); c.abort(); return [n, c.signal.aborted, c.signal.reason.name] })()`, `[1,true,"AbortError"]`},
		{`AbortSignal.abort().throwIfAborted()`, `throws AbortError`},
		{`new Promise((r) => AbortSignal.any([AbortSignal.timeout(1)]).addEventListener('abort', (e: any) => r(e.target.reason.name)))`, `"TimeoutError"`},
		{`(() => { const h = new Headers({ 'X-A': ' 1 ' }); h.append('x-a', '2'); return [...h] })()`, `[["x-a","1, 2"]]`},
		{`new Headers({ 'a b': '1' })`, `throws TypeError`},
		{`new Headers({ a: 'x\ny' })`, `throws TypeError`},
		{`Response.json({ a: 1 }).json()`, `{"a":1}`},
		{`(async () => { const r = new Response('x'); await r.text(); return r.text() })()`, `throws TypeError`},
		{`[typeof performance.now(), typeof console.log, typeof globalThis.__parleyHost, typeof structuredClone]`, `["number","function","undefined","function"]`},
		{`/(?<=\$)\d+/.exec('a $42')[0]`, `"42"`},
	})
}

func TestIntl(t *testing.T) {
	t.Parallel()
	bogota, err := time.LoadLocation("America/Bogota")
	if err != nil {
		t.Fatal(err)
	}
	const d = `new Date(Date.UTC(2026, 10, 30, 21, 5, 9))`
	expressions(t, "es", Options{TimeZone: bogota}, [][2]string{
		// The chat's language is the default.
		{`(12345.678).toLocaleString()`, `"12.345,678"`},
		{`(1234.5).toLocaleString()`, `"1234,5"`},
		{`(1234.5).toLocaleString('en')`, `"1,234.5"`},
		{`(1234.5).toLocaleString('es-CO')`, `"1.234,5"`},
		{`(1234.5).toLocaleString('es-MX')`, `"1,234.5"`},
		{`(1234.5).toLocaleString('fr')`, `"1234,5"`},
		{`[1.005, -0.5, 999.995, 0].map((n) => n.toLocaleString('en', { style: 'currency', currency: 'USD' }))`, `["$1.01","-$0.50","$1,000.00","$0.00"]`},
		{`new Intl.NumberFormat('es', { style: 'currency', currency: 'EUR' }).format(12345.5)`, `"12.345,50~€"`},
		{`Intl.NumberFormat('es-CO', { style: 'currency', currency: 'COP' }).format(45000)`, `"$~45.000"`},
		{`new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 }).format(0.1234)`, `"12.3%"`},
		{`new Intl.NumberFormat('en', { maximumSignificantDigits: 3 }).format(123456)`, `"123,000"`},
		{`new Intl.NumberFormat('en', { minimumIntegerDigits: 3, useGrouping: false }).format(7)`, `"007"`},
		{`12345678901234567890n.toLocaleString('en')`, `"12,345,678,901,234,567,890"`},
		{`new Intl.NumberFormat('en', { style: 'currency' })`, `throws TypeError`},
		{`new Intl.NumberFormat('x!')`, `throws RangeError`},
		{`[money(45000, 'COP'), money(1234.5, 'COP'), money('0.1', 'EUR'), money(9007199254740993n, 'USD', 'en')]`, `["45.000~COP","1234,50~COP","0,10~€","$9,007,199,254,740,993.00"]`},
		{`ctx.money(NaN, 'EUR')`, `throws TypeError`},
		{d + `.toLocaleString()`, `"30/11/2026, 16:05:09"`},
		{d + `.toLocaleString('en')`, `"11/30/2026, 4:05:09 PM"`},
		{d + `.toLocaleDateString('es', { weekday: 'long', month: 'long', day: 'numeric' })`, `"lunes, 30 de noviembre"`},
		{d + `.toLocaleString('es', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })`, `"30 de noviembre de 2026 a las 21:05"`},
		{d + `.toLocaleString('en', { dateStyle: 'full', timeStyle: 'long', timeZone: 'Asia/Kolkata' })`, `"Tuesday, December 1, 2026 at 2:35:09 AM GMT+5:30"`},
		{d + `.toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit' })`, `"04:05 PM"`},
		{`new Intl.DateTimeFormat('es', { dateStyle: 'medium' }).format(0)`, `"31 dic 1969"`},
		{`new Date(NaN).toLocaleString()`, `"Invalid Date"`},
		{`new Intl.DateTimeFormat('en', { timeZone: 'Mars/Base' })`, `throws RangeError`},
		{`new Intl.PluralRules('en', { type: 'ordinal' }).select(22)`, `"two"`},
	})
}

func TestArgLines_B9(t *testing.T) {
	t.Parallel()
	expressions(t, "en", Options{}, [][2]string{
		{`argLines({ guest_name: 'Ana', people: 4, outdoor: true, note: null })`, `["• Guest name: Ana","• People: 4","• Outdoor: yes"]`},
		{`argLines({ items: [{ product: 'tea', quantity: 1, size: 'L' }, { product: 'cake', quantity: 2 }] })`, `["• 1 × tea (Size: L)","• 2 × cake"]`},
		{`argLines({ items: [{ product: 'tea', qty: 1 }], address: 'Main St 5' }, ctx, { product: { tea: 'Green tea' } })`, `["• Items: 1 × Green tea","• Address: Main St 5"]`},
		{`argLines({ text: 'hi\nTotal: $1\u202e!', to: ['Ana', 'Bo'] })`, `["• Text: hi Total: $1!","• To: Ana, Bo"]`},
		{`argLines({ where: { street: 'Main', no: 5, more: { a: [1, 2] } } })`, `["• Where: (Street: Main, No: 5, More: (A: 1, 2))"]`},
		{`argLines({})`, `[]`},
		{`summarize([{ nombre: 'pan', tamaño: 'L' }, 'x'])`, `"pan (Tamaño: L), x"`},
	})
	expressions(t, "es", Options{}, [][2]string{
		{`argLines({ envio: false, listo: true })`, `["• Envio: no","• Listo: sí"]`},
	})
}
