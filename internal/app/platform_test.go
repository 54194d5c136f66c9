package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels/twilio/twiliotest"
	"github.com/parley-bot/parley/channels/whatsappcloud/whatsappcloudtest"
	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/tool"
)

// account is a whole bot on one real channel, whose platform is a server of
// its own: what the configuration says, the HTTP server and the store are
// those of serve.
type account struct {
	t     *testing.T
	ctx   context.Context
	app   *App
	model *model
	tool  *spy
	clock *clock
	logs  *logs
	hook  http.Handler // the webhook, through HTTP
	// committed has a signal after each commit.
	committed chan struct{}
}

// newAccount has a tool, place_order.
func newAccount(t *testing.T, channel, yaml string) *account {
	t.Helper()
	s := &spy{}
	a := newAccountWith(t, channel, yaml, placeOrder(s))
	a.tool = s
	return a
}

func newAccountWith(t *testing.T, channel, yaml string, tools ...tool.Tool) *account {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	a := &account{t: t, ctx: ctx, model: newModel(), clock: &clock{}, logs: &logs{}, committed: make(chan struct{}, 1)}
	dir := t.TempDir()
	doc := fmt.Sprintf("store: {url: %q}\nmodel: {provider: script, script: model.yaml}\n"+
		"server: {listen: \"127.0.0.1:0\", public_url: \"https://bot.example.com\"}\nchannels: {%s: %s}\n",
		"sqlite://"+filepath.Join(dir, "parley.db"), channel, yaml)
	for name, text := range map[string]string{"parley.yaml": doc, "model.yaml": "rules:\n  - say: unused\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(filepath.Join(dir, "parley.yaml"), Kinds())
	if err != nil {
		t.Fatal(err)
	}
	bot, err := Build(ctx, cfg, Options{
		Log:   slog.New(slog.NewTextHandler(a.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Model: incarnation{a.model, new(atomic.Bool)}, Tools: tools, Clock: a.clock.now,
		OnCommit: func(_ int64, phase string) {
			if phase == "after" {
				select {
				case a.committed <- struct{}{}:
				default:
				}
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if a.app, err = New(ctx, bot, true); err != nil {
		t.Fatal(err)
	}
	if err := a.app.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.app.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	target, err := url.Parse("http://" + a.app.Addr() + "/webhooks/" + channel)
	if err != nil {
		t.Fatal(err)
	}
	a.hook = httputil.NewSingleHostReverseProxy(target)
	return a
}

func (a *account) no(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatalf("%v\n%s", err, a.logs)
	}
}

// left waits until everything that was said is known to have left.
func (a *account) left() {
	a.t.Helper()
	for {
		n, err := a.app.st.Pending(a.ctx)
		a.no(err)
		if n == 0 {
			return
		}
		select {
		case <-a.committed:
		case <-a.ctx.Done():
			a.t.Fatalf("%d messages have not left\n%s", n, a.logs)
		}
	}
}

const waYAML = `{kind: whatsapp_cloud, phone_number_id: "100", access_token: EAAtoken, app_secret: app-secret, api_url: %q}`

// An order by WhatsApp: a question with native buttons, a press, the same press
// once more, and one of a question that is over, which is told.
func TestWhatsAppCloud_B23_OrderAndStalePress(t *testing.T) {
	t.Parallel()
	p := whatsappcloudtest.New(whatsappcloudtest.Config{})
	t.Cleanup(p.Close)
	a := newAccount(t, "wa", fmt.Sprintf(waYAML, p.URL))
	p.Serve(a.hook)
	const ana = "15550001111"
	deliver := func(m whatsappcloudtest.Object) {
		t.Helper()
		if w := p.Deliver(p.Batch(p.From(ana, "Ana", m))); w.Code != http.StatusOK {
			t.Fatalf("status %d\n%s", w.Code, a.logs)
		}
	}
	a.model.then(calls("place_order", twoCoffees), says("Ordered."))
	deliver(whatsappcloudtest.Text("m1", "two coffees"))
	sent, err := p.Await(a.ctx, 1)
	a.no(err)
	q := sent[0]
	if q.Type != "interactive" || len(q.Buttons) != 2 || q.Buttons[0].Title != "Yes" || strings.Contains(q.Text, "(yes/no)") {
		t.Fatalf("question %+v", q)
	}
	press := whatsappcloudtest.Press("m2", q.Buttons[0].ID, "Yes", q.ID)
	deliver(press)
	sent, err = p.Await(a.ctx, 2)
	a.no(err)
	if sent[1].Text != "Ordered." || a.tool.count() != 1 {
		t.Fatalf("said %q after %d runs\n%s", sent[1].Text, a.tool.count(), a.logs)
	}
	deliver(press) // Meta delivers it again
	deliver(whatsappcloudtest.Press("m3", q.Buttons[1].ID, "No", q.ID))
	sent, err = p.Await(a.ctx, 3)
	a.no(err)
	if sent[2].Text != "That confirmation is no longer active." || a.tool.count() != 1 || len(sent) != 3 {
		t.Errorf("after a late press: %+v, %d runs", sent[2:], a.tool.count())
	}
}

// Meta took the question and says later that it couldn't deliver it: nobody has
// seen it, so its turn is cancelled and the next message gets one of its own.
func TestWhatsAppCloud_B27_UndeliveredQuestionCancelsTheTurn(t *testing.T) {
	t.Parallel()
	p := whatsappcloudtest.New(whatsappcloudtest.Config{})
	t.Cleanup(p.Close)
	a := newAccount(t, "wa", fmt.Sprintf(waYAML, p.URL))
	p.Serve(a.hook)
	const ana = "15550001111"
	a.model.then(calls("place_order", twoCoffees), says("Good morning."))
	p.Deliver(p.Batch(p.From(ana, "Ana", whatsappcloudtest.Text("m1", "two coffees"))))
	sent, err := p.Await(a.ctx, 1)
	a.no(err)
	failed := whatsappcloudtest.Failed(sent[0].ID, ana, sent[0].Callback, 131026)
	if w := p.Deliver(p.Batch(p.Change(whatsappcloudtest.Object{"statuses": []whatsappcloudtest.Object{failed}}))); w.Code != http.StatusOK {
		t.Fatalf("status %d\n%s", w.Code, a.logs)
	}
	p.Deliver(p.Batch(p.From(ana, "Ana", whatsappcloudtest.Text("m2", "yes"))))
	sent, err = p.Await(a.ctx, 2)
	a.no(err)
	if sent[1].Text != "Good morning." || a.tool.count() != 0 {
		t.Errorf("said %q after %d runs, want an answer to the text and no run\n%s", sent[1].Text, a.tool.count(), a.logs)
	}
	if log := a.logs.String(); !strings.Contains(log, "not delivered") || !strings.Contains(log, "131026") {
		t.Error("nothing in the log says that the message wasn't delivered")
	}
}

// An order by SMS: no buttons, so that the question has its hint, and a late
// answer is ordinary text.
func TestTwilio_B24_OrderInWords(t *testing.T) {
	t.Parallel()
	p := twiliotest.New(twiliotest.Config{})
	t.Cleanup(p.Close)
	a := newAccount(t, "sms", fmt.Sprintf(`{kind: twilio, account_sid: %q, auth_token: "12345", from: "+15550002222", api_url: %q}`, p.AccountSID, p.URL))
	p.Serve(a.hook)
	say := func(sid, text string) {
		t.Helper()
		if w := p.Deliver(p.Text(sid, "+15550001111", "+15550002222", text), "a=1&b=%20x"); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "Message") {
			t.Fatalf("status %d, body %s\n%s", w.Code, w.Body, a.logs)
		}
	}
	a.model.then(calls("place_order", twoCoffees), says("Ordered."), says("You're welcome."))
	say("SM1", "two coffees")
	say("SM1", "two coffees") // delivered again
	sent, err := p.Await(a.ctx, 1)
	a.no(err)
	if !strings.HasSuffix(sent[0].Body, "(yes/no)") {
		t.Fatalf("question %q", sent[0].Body)
	}
	if w := p.Report(sent[0], "delivered", ""); w.Code != http.StatusOK {
		t.Fatalf("report: status %d", w.Code)
	}
	// The question has left once its send is committed, which the report of
	// its delivery doesn't wait for.
	a.left()
	say("SM2", "yes")
	sent, err = p.Await(a.ctx, 2)
	a.no(err)
	if sent[1].Body != "Ordered." || a.tool.count() != 1 {
		t.Fatalf("said %q after %d runs\n%s", sent[1].Body, a.tool.count(), a.logs)
	}
	if w := p.Report(sent[1], "undelivered", "30006"); w.Code != http.StatusOK {
		t.Fatalf("report: status %d", w.Code)
	}
	say("SM3", "yes")
	sent, err = p.Await(a.ctx, 3)
	a.no(err)
	if sent[2].Body != "You're welcome." || a.tool.count() != 1 {
		t.Errorf("said %q after %d runs", sent[2].Body, a.tool.count())
	}
}
