package app

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/parley-bot/parley/internal/config"
)

// shop is a server that takes orders and counts them.
func shop(t *testing.T) (host string, orders *atomic.Int64) {
	t.Helper()
	orders = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		orders.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), orders
}

// pay is a declared tool with a line for its question.
func pay(host, question string) string {
	return fmt.Sprintf(`fetch: {allow: ["%[1]s"]}
tools:
  pay:
    description: Pays. Not for refunds.
    schema: {type: object, properties: {to: {type: string}, amount: {type: number}}}
    labels: {to: {shop: The Shop}}
    %[2]s
    http: {method: POST, url: "http://%[1]s/pay"}`, host, question)
}

func TestDeclared_B10_TheQuestionIsMadeByExpressions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		yaml, args string
		asks       string // "" runs at once
		error      string // or fails, unasked
	}{
		"when true":         {`confirm_when: args.amount > 50`, `{"to":"shop","amount":51}`, "About to: Pay\n• To: The Shop\n• Amount: 51\nDo you confirm?", ""},
		"when false":        {`confirm_when: args.amount > 50`, `{"to":"shop","amount":50}`, "", ""},
		"when it fails":     {`confirm_when: args.amount.to.much`, `{"to":"shop","amount":50}`, "", "confirmation_failed"},
		"lines":             {"confirm: true\n    confirm_lines: '[`Total: ${ctx.money(args.amount, \"USD\")}`]'", `{"amount":5}`, "About to: Pay\nTotal: $5.00\nDo you confirm?", ""},
		"lines that fail":   {"confirm: true\n    confirm_lines: args.amount", `{"amount":5}`, "", "confirmation_failed"},
		"message":           {"confirm: true\n    confirm_message: '`Pay ${args.amount} as ${ctx.user.name} (${ctx.lang})?`'", `{"amount":5}`, "Pay 5 as ana (en)?", ""},
		"message as a text": {"confirm: true\n    confirm_message: \"Pay {amount} to {to}?\"", `{"amount":5,"to":"shop"}`, "Pay 5 to The Shop?", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host, orders := shop(t)
			b := newBed(t, withYAML(pay(host, c.yaml)))
			b.model.then(calls("pay", c.args), says("done"))
			b.say("pay")
			if c.asks != "" {
				b.wants(1, c.asks)
				if n := orders.Load(); n != 0 {
					t.Fatalf("paid %d times before the yes", n)
				}
				b.press("yes")
				b.wants(2, "done")
			} else {
				b.wants(1, "done")
			}
			want := int64(1)
			if c.error != "" {
				want = 0
				told := one(t, b).Content
				if got := field(t, told, "error"); got != c.error {
					t.Errorf("error %q", got)
				}
				if strings.Contains(told, b.dir) || strings.Contains(told, "parley.yaml") {
					t.Errorf("the model is told where the configuration is: %s", told)
				}
			}
			if n := orders.Load(); n != want {
				t.Errorf("paid %d times", n)
			}
		})
	}
}

// An expression is part of what was approved.
func TestDeclared_B28_AChangedExpressionAsksAgain(t *testing.T) {
	t.Parallel()
	host, orders := shop(t)
	b := newBed(t, withYAML(pay(host, "confirm: true\n    confirm_lines: '[\"One: \" + args.amount]'")))
	b.model.then(calls("pay", `{"amount":5}`), says("done"))
	b.say("pay")
	b.wants(1, "About to: Pay\nOne: 5\nDo you confirm?")
	b.yaml = pay(host, "confirm: true\n    confirm_lines: '[\"Two: \" + args.amount]'")
	b.restart()
	b.press("yes")
	b.wants(2, "About to: Pay\nTwo: 5\nDo you confirm?")
	if n := orders.Load(); n != 0 {
		t.Errorf("paid %d times", n)
	}
	b.press("yes")
	b.wants(3, "done")
}

// All of an HTTP tool, as the configuration writes it.
func TestDeclared_HTTPShapesRequestAndResult(t *testing.T) {
	t.Parallel()
	host, _ := shop(t)
	b := newBed(t, withYAML(fmt.Sprintf(`fetch: {allow: ["%[1]s"]}
tools:
  pay:
    description: Pays. Not for refunds.
    effect: idempotent
    schema: {type: object, properties: {to: {type: string}, amount: {type: number}}}
    http:
      method: POST
      url: "http://%[1]s/pay"
      auth: {hmac: {secret: "${HOME:-x}", prefix: "sha256="}}
      headers: {X-To: "{to}"}
      bind: {who: user.id}
      body: {sum: "{amount}", by: "${NOBODY_SETS_THIS:-env} {who}", never: "$${}"}
      result: '({ paid: body.sum + args.amount, by: body.by, never: body.never, code: status, lang: ctx.lang })'
      status: {5xx: {result: [down]}}`, host)))
	b.model.then(calls("pay", `{"amount":2.5,"to":"x"}`), says("done"))
	b.say("pay")
	b.wants(1, "done")
	if got, want := one(t, b).Content, `{"paid":5,"by":"env user-ana","never":"${}","code":200,"lang":"en"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What is wrong with an expression is told at check, with its place.
func TestDeclared_WrongExpressionsAreTold(t *testing.T) {
	t.Parallel()
	for yaml, want := range map[string]string{
		"confirm_when: args.amount > > 5":                          "parley.yaml:10:33: tools.pay.confirm_when: ",
		"confirm: true\n    confirm_lines: |\n      [1,\n       )": "parley.yaml:13:8: tools.pay.confirm_lines: ",
		"confirm: true\n    confirm_message: \"Pay {much}?\"":      "parley.yaml:11:22: tools.pay.confirm_message: the placeholder {much} is no argument",
	} {
		doc := "model: {provider: script, script: model.yaml}\nstore: {url: \"sqlite://" + t.TempDir() + "/x.db\"}\nchannels: {web: {kind: webchat}}\n" + pay("h.example:80", yaml)
		cfg, err := config.LoadFS(fstest.MapFS{"parley.yaml": {Data: []byte(doc)}, "model.yaml": {Data: []byte("rules: [{when: {}, say: x}]\n")}}, "parley.yaml", Kinds())
		if err != nil {
			t.Fatal(err)
		}
		_, err = Build(t.Context(), cfg, Options{Log: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains("\n"+err.Error(), "\n"+want) {
			t.Errorf("%s: %v, want %s", yaml, err, want)
		}
	}
}
