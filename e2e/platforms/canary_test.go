package platforms

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/twilio/twiliotest"
	"github.com/parley-bot/parley/channels/whatsappcloud/whatsappcloudtest"
	"github.com/parley-bot/parley/internal/app"
	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/tool"
)

// canary is part of every secret.
const canary = "CANARY"

// mischief answers everything in the worst way: with what it was sent.
type mischief struct{ done atomic.Int64 }

// echo is a request with all its secrets, in one line.
func echo(r *http.Request, body string) string {
	user, password, _ := r.BasicAuth()
	return fmt.Sprintf("%s %s %v user %s password %s: %s", r.Method, r.URL, r.Header, user, password, body)
}

// answer fails a call in the next of many ways.
func (m *mischief) answer(w http.ResponseWriter, r *http.Request, body string) {
	said := echo(r, body)
	quoted, err := json.Marshal(said)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	switch m.done.Add(1) % 8 {
	case 0:
		http.Error(w, said, http.StatusInternalServerError)
	case 1: // as each platform would, in one
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"ok":false,"error_code":400,"description":%[1]s,"code":21620,"message":%[1]s,"error":{"message":%[1]s,"code":100,"type":%[1]s,"error_data":{"details":%[1]s}}}`, quoted)
	case 2:
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprintf(w, `{"ok":false,"error_code":429,"description":%[1]s,"code":20429,"message":%[1]s,"error":{"message":%[1]s,"code":130429}}`, quoted)
	case 3:
		panic(http.ErrAbortHandler)
	case 4:
		_, _ = w.Write([]byte("<html>" + said))
	case 5:
		http.Redirect(w, r, "/elsewhere?"+r.URL.Path+r.Header.Get("Authorization"), http.StatusFound)
	case 6:
		fmt.Fprintf(w, `{"ok":true,"result":%[1]s,"sid":{"x":%[1]s},"messages":%[1]s,"choices":%[1]s}`, quoted)
	default:
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"ok":false,"error_code":500,"description":%[1]s,"code":20500,"message":%[1]s,"error":{"message":%[1]s,"code":1}}`, quoted)
	}
}

// ServeHTTP is a model, a tool's backend and a sink of the audit.
func (m *mischief) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	called := regexp.MustCompile(`use (fetch_it|explode|doubt_it|script_it)`).FindSubmatch(body)
	if r.URL.Path != "/v1/chat/completions" || called == nil || strings.Contains(string(body), `"role":"tool"`) {
		m.answer(w, r, string(body))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant",
 "content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":%q,"arguments":"{}"}}]}}]}`, called[1])
}

// bomb is a tool that panics with what it should keep for itself.
type bomb struct{ m *mischief }

// Run implements tool.Runner.
func (b bomb) Run(context.Context, tool.Call) (tool.Result, error) {
	if b.m.done.Add(1)%2 == 0 {
		panic(fmt.Errorf("no connection to postgres://user:%s@db", canary))
	}
	return tool.Result{}, fmt.Errorf("the tool could not be reached: %w", os.ErrDeadlineExceeded)
}

// doubt is a tool that panics before anybody is asked.
type doubt struct{ bomb }

// ConfirmLines implements tool.Liner.
func (d doubt) ConfirmLines(context.Context, tool.Call) ([]string, bool, error) {
	d.m.done.Add(1)
	panic("Bearer " + canary)
}

// angry is a model that panics likewise.
type angry struct{ m *mischief }

// Generate implements turn.Model.
func (a angry) Generate(context.Context, llm.Request, func(string)) (llm.Response, error) {
	a.m.done.Add(1)
	panic("the key is " + canary)
}

const scriptTool = `import { defineTool } from 'parley'
export const tools = {
  script_it: defineTool({
    description: 'Fails.',
    effect: 'read',
    handler: async (args, ctx) => {
      console.log('asking with', ctx.secret('shop'))
      const r = await ctx.fetch('BASE/tool', { headers: { authorization: 'Bearer ' + ctx.secret('shop') } })
      throw new Error('it said ' + (await r.text()))
    },
  }),
}
`

// TestCanary_NoSecretShows: a thousand failures of all kinds, each of which
// says what it knows, leave no secret anywhere.
func TestCanary_NoSecretShows(t *testing.T) {
	t.Parallel()
	const people, failures = 60, 1000
	m := &mischief{}
	srv := httptest.NewServer(m)
	t.Cleanup(srv.Close)
	tg := newTelegramWith(t, "webhook", "4217:AA-"+canary+"-telegram", canary+"-hook")
	wa := newWhatsAppWith(t, whatsappcloudtest.Config{Token: canary + "-graph", AppSecret: canary + "-app", VerifyToken: canary + "-verify"})
	sms := newTwilioWith(t, "", twiliotest.Config{Token: canary + "twilio", Name: "sms"})
	dc := newDiscordWith(t, "gateway", canaryToken())
	web := newWebchat(t)
	gates := []*gate{tg.gate, wa.gate, sms.gate, dc.gate}

	b := &bot{t: t, on: []platform{tg, wa, sms, dc, web}, server: ", admin_token: " + canary + "-admin"}
	b.tools = []tool.Tool{
		{Name: "explode", Kind: "test", Description: "Explodes.", Effect: tool.Unsafe, Runner: bomb{m}},
		{Name: "doubt_it", Kind: "test", Description: "Explodes before.", Effect: tool.Unsafe, Confirm: true, Runner: doubt{bomb{m}}},
	}
	b.logs, b.dir = &logs{}, memoryDir(t)
	host := strings.TrimPrefix(srv.URL, "http://")
	b.more = fmt.Sprintf(`limits: {per_user: 100000/1m, queue_per_chat: 1000}
model: {provider: openai, name: m, api_key: %[1]s-model, base_url: "%[2]s/v1", timeout: 5s, deadline: 300ms}
fetch: {allow: [%[3]q]}
secrets: {shop: %[1]s-script}
audit: {file: %[4]q, webhook: {url: "%[2]s/audit", secret: %[1]s-audit}}
tools:
  scripts: [tools.ts]
  fetch_it: {description: Fetches., http: {method: GET, url: "%[2]s/tool", headers: {Authorization: "Bearer %[1]s-header"}}}`,
		canary, srv.URL, host, filepath.Join(b.dir, "audit.jsonl"))
	if err := os.WriteFile(filepath.Join(b.dir, "tools.ts"), []byte(strings.ReplaceAll(scriptTool, "BASE", srv.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	b.start()
	t.Cleanup(b.stop)
	var told []string // errors and pages
	for _, g := range gates {
		g.onCall(func(w http.ResponseWriter, r *http.Request, body string) bool {
			m.answer(w, r, body)
			return true
		})
	}
	told = append(told, asks(t, b, tg.adapter, wa.adapter, sms.adapter, dc.adapter)...)
	chatters(b.on, people)
	if !until(t.Context(), func() bool { return m.done.Load() >= failures }) {
		t.Errorf("only %d failures", m.done.Load())
	}
	for _, g := range gates {
		g.down()
	}
	told = append(told, asks(t, b, tg.adapter, wa.adapter, sms.adapter, dc.adapter)...)
	for _, path := range []string{"/metrics", "/readyz", "/healthz"} {
		told = append(told, page(t, "http://"+b.app.Addr()+path))
	}
	for _, f := range b.built.Findings() {
		told = append(told, f.Message)
	}
	b.stop()

	// The same bot with a model that panics, on platforms that are well.
	for _, g := range gates {
		g.onCall(nil)
		g.up()
	}
	b.opts = func(o *app.Options) { o.Model = angry{m} }
	b.start()
	before := m.done.Load()
	chatters([]platform{web}, 20)
	if !until(t.Context(), func() bool { return m.done.Load() >= before+20 }) {
		t.Errorf("the model panicked %d times", m.done.Load()-before)
	}
	told = append(told, page(t, "http://"+b.app.Addr()+"/readyz"))
	b.stop()
	told = append(told, mistakes(t, b)...)

	audit, err := os.ReadFile(filepath.Join(b.dir, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{
		"the log":              b.logs.String(),
		"errors and pages":     strings.Join(told, "\n"),
		"the audit's file":     string(audit),
		"the audit's rows":     strings.Join(b.column(`SELECT CAST(event AS TEXT) FROM audit`), "\n"),
		"errors of the outbox": strings.Join(b.column(`SELECT COALESCE(error,'') FROM outbox`), "\n"),
		"errors of lanes":      strings.Join(b.column(`SELECT COALESCE(error,'') FROM lane`), "\n"),
		"results of calls":     strings.Join(b.column(`SELECT COALESCE(CAST(result AS TEXT),'') FROM call`), "\n"),
		"what was said":        strings.Join(b.column(`SELECT CAST(text AS TEXT) FROM log`), "\n"),
	} {
		if len(text) < 10 {
			t.Errorf("%s is empty: nothing was looked at", where)
		}
		lines := 0
		for line := range strings.Lines(text) {
			if i := strings.Index(line, canary); i >= 0 {
				if lines++; lines <= 3 {
					t.Errorf("a secret is in %s: …%s", where, line[max(0, i-300):min(len(line), i+100)])
				}
			}
		}
		t.Logf("%s: %d bytes, %d with a secret", where, len(text), lines)
	}
	t.Logf("%d failures", m.done.Load())
}

// chatters lets people write on all platforms, about things that fail.
func chatters(on []platform, people int) {
	var all sync.WaitGroup
	for _, p := range on {
		for i := range people {
			all.Go(func() {
				texts := []string{"hello", "use fetch_it", "use explode", "use doubt_it", "use script_it"}
				p.say(person(1+i), texts[i%len(texts)])
			})
		}
	}
	all.Wait()
}

// asks makes the calls of check --live and of parley webhooks, and returns
// their errors.
func asks(t *testing.T, b *bot, all ...channels.Checker) (told []string) {
	t.Helper()
	for range 8 {
		for _, c := range all {
			account, err := c.Check(t.Context())
			told = append(told, account, fmt.Sprint(err))
		}
		for _, action := range []app.WebhookAction{app.WebhooksList, app.WebhooksRegister} {
			hooks, err := b.built.Webhooks(t.Context(), action, nil, false)
			told = append(told, fmt.Sprint(err))
			for _, w := range hooks {
				told = append(told, fmt.Sprintf("%v %+v", w.Err, w))
			}
		}
	}
	return told
}

func page(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// mistakes are what check says of secrets that can't be right.
func mistakes(t *testing.T, b *bot) (told []string) {
	t.Helper()
	for _, line := range []string{
		"telegram: {token: \"" + canary + " is no token\"}",
		"telegram: {token: \"1:" + canary + "\", secret_token: \"" + canary + " with spaces\", mode: webhook}",
		"telegram: {token: [" + canary + "]}",
		"discord: {token: \"Bot " + canary + "\", mode: interactions, public_key: " + canary + "}",
		"wa: {kind: whatsapp_cloud, phone_number_id: \"1\", access_token: \"" + canary + " x\", app_secret: " + canary + "}",
		"sms: {kind: twilio, account_sid: AC1, auth_token: \"" + canary + "-dash\", from: \"+15550002222\"}",
	} {
		path := filepath.Join(b.dir, "wrong.yaml")
		text := "store: {url: \"sqlite://" + b.dir + "/wrong.db\"}\nserver: {public_url: https://bot.example.com}\n" +
			"model: {provider: openai, api_key: " + canary + "}\nchannels:\n  " + line + "\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(path, app.Kinds())
		if err == nil {
			_, err = app.Build(t.Context(), cfg, app.Options{Log: newLogger(b.logs)})
		}
		if err == nil {
			t.Errorf("nothing is wrong with %s", line)
		}
		told = append(told, fmt.Sprint(err))
	}
	return told
}
