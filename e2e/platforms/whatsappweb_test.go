package platforms

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/whatsappweb"
	"github.com/parley-bot/parley/channels/whatsappweb/whatsappwebtest"
	"github.com/parley-bot/parley/internal/app"
	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/store/whatsappdb"
)

// waWeb are the people of the fake of WhatsApp, with the bot as a linked
// device.
type waWeb struct {
	t       *testing.T
	fake    *whatsappwebtest.Server
	linked  bool
	adapter *whatsappweb.Adapter
	last    atomic.Int64
}

// quicken lets a server that is silent be noticed in seconds, not in half a
// minute. These are variables of the SDK.
var quicken = sync.OnceFunc(func() {
	whatsmeow.KeepAliveIntervalMin, whatsmeow.KeepAliveIntervalMax = time.Second, 2*time.Second
	whatsmeow.KeepAliveResponseDeadline = 5 * time.Second
})

func newWAWeb(t *testing.T) *waWeb {
	t.Helper()
	quicken()
	p := &waWeb{t: t}
	var err error
	p.adapter, err = whatsappweb.New(whatsappweb.Defaults(), whatsappweb.Deps{
		Host: channeltest.NewHost(), Log: slog.New(slog.DiscardHandler), Name: "wa",
		Open: func(context.Context) (whatsappweb.Store, error) {
			return nil, errors.New("only asked for what it can do")
		},
		InUse: func(error) bool { return false },
	})
	if err != nil {
		t.Fatal(err)
	}
	// After the adapter, which sets the Signal library up for both.
	p.fake = whatsappwebtest.New(whatsappwebtest.Config{})
	t.Cleanup(p.fake.Close)
	return p
}

func (p *waWeb) yaml(allow ...person) string {
	return "wa: {kind: whatsapp_web" + allowed(allow, func(w person) string { return p.who(w).Phone }) + "}"
}

// link links the bot's device, once, before the bot starts.
func (p *waWeb) link(b *bot) {
	p.t.Helper()
	if p.linked {
		return
	}
	p.linked = true
	open := sessionIn(b.dir)
	if b.store != "" {
		open = func(ctx context.Context) (*whatsappdb.DB, error) {
			return whatsappdb.OpenPostgres(ctx, b.store, "wa", nil)
		}
	}
	if err := link(p.t.Context(), p.fake, open); err != nil {
		p.t.Fatal(err)
	}
}

// sessionIn opens the session of a bot with that data folder.
func sessionIn(dir string) func(context.Context) (*whatsappdb.DB, error) {
	return func(ctx context.Context) (*whatsappdb.DB, error) {
		return whatsappdb.Open(ctx, filepath.Join(dir, "whatsapp-wa.db"), nil)
	}
}

// link links the device of a session.
func link(ctx context.Context, fake *whatsappwebtest.Server, open func(context.Context) (*whatsappdb.DB, error)) error {
	db, err := open(ctx)
	if err != nil {
		return err
	}
	d, err := db.Device(ctx)
	if err == nil {
		err = fake.Provision(d, time.Now().Add(-time.Minute))
	}
	if err == nil {
		err = d.Save(ctx)
	}
	return errors.Join(err, db.Close())
}

func (p *waWeb) connect(string) {}

func (p *waWeb) who(w person) *whatsappwebtest.Person { return somebody(p.fake, w) }

func somebody(fake *whatsappwebtest.Server, w person) *whatsappwebtest.Person {
	return fake.Person(fmt.Sprintf("1555333%04d", int(w)), fmt.Sprintf("77000000%04d", int(w)), fmt.Sprint("Person ", int(w)))
}

func (p *waWeb) say(who person, text string) (again func()) {
	id := fmt.Sprintf("M%06d", p.last.Add(1))
	st := p.who(who).Say(id, text)
	if !st.WaitAcked() {
		p.t.Errorf("message %q was never taken", text)
	}
	return func() {
		if !p.who(who).Repeat(id, text).WaitAcked() {
			p.t.Errorf("message %q was never taken again", text)
		}
	}
}

func (p *waWeb) press(person, message, button) { p.t.Error("there are no buttons") }

func (p *waWeb) shown(who person) (out []message) {
	for _, m := range p.who(who).Shown() {
		out = append(out, message{id: m.ID, text: m.Text})
	}
	return out
}

func (p *waWeb) caps() channels.Capabilities {
	return p.adapter.Capabilities(channels.Chat{ID: "15553330001"})
}
func (p *waWeb) calls() []call   { return make([]call, p.fake.Calls()) }
func (p *waWeb) wrong() []string { return p.fake.Wrong() }
func (p *waWeb) down()           { p.fake.Down() }

func (p *waWeb) up() {
	if err := p.fake.Up(); err != nil {
		p.t.Errorf("the server can't be reached again: %v", err)
	}
}

// TestWhatsAppWeb_LoggedOut: a session that was ended on the phone is told in
// /readyz, by a metric, in the log and to the operator's chat, on another
// channel; linked anew, the bot goes on in the same chats, and the operator is
// told that too.
func TestWhatsAppWeb_LoggedOut(t *testing.T) {
	t.Parallel()
	p, ops := newWAWeb(t), newTelegram(t, "polling")
	m := newMind()
	b := &bot{t: t, on: []platform{p, ops}, model: m, more: `alerts: {chat: "telegram:7007"}`}
	b.start()
	say(t, ops, 7, "it's me", "You said: it's me")
	say(t, p, 1, "hello", "You said: hello")
	p.fake.Unlink()
	told(t, ops, 1, "The channel wa isn't working. logged_out: ")
	if code, body := fetch(t, b, "/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, `"state":"logged_out"`) || !strings.Contains(body, "parley pair") {
		t.Errorf("/readyz says %d, %s", code, body)
	}
	if _, body := fetch(t, b, "/metrics"); !strings.Contains(body, `parley_channel_state{channel="wa",state="logged_out"} 1`) || !strings.Contains(body, `parley_channel_up{channel="wa"} 0`) {
		t.Error("the metrics don't say so")
	}
	if !strings.Contains(b.logs.String(), `"state":"logged_out"`) {
		t.Error("the log doesn't say so")
	}
	// A restart doesn't tell it again.
	b.stop()
	b.start()
	pairAnew(t, b, p)
	told(t, ops, 2, "The channel wa is working again.")
	say(t, p, 1, "again", "You said: again")
	if code, body := fetch(t, b, "/readyz"); code != http.StatusOK {
		t.Errorf("/readyz says %d, %s", code, body)
	}
	b.stop()
	if got := b.column(`SELECT text FROM log WHERE chat='wa:15553330001' AND author='user' ORDER BY n`); strings.Join(got, " ") != "hello again" {
		t.Errorf("the chat's log has %q", got)
	}
	b.atRest()
}

// say writes, and waits for the newest message.
func say(t *testing.T, p platform, who person, text, answer string) {
	t.Helper()
	had := len(p.shown(who))
	p.say(who, text)
	if !until(t.Context(), func() bool { return len(p.shown(who)) > had }) {
		t.Fatalf("no answer to %q", text)
	}
	if got := p.shown(who)[had].text; got != answer {
		t.Errorf("%q was answered %q, want %q", text, got, answer)
	}
}

// told waits for the n-th message to the operator.
func told(t *testing.T, ops platform, n int, text string) {
	t.Helper()
	if !until(t.Context(), func() bool { return len(ops.shown(7)) > n }) {
		t.Fatalf("the operator was never told %q: %v", text, ops.shown(7))
	}
	if got := ops.shown(7)[n].text; !strings.HasPrefix(got, text) {
		t.Errorf("the operator was told %q, want %q", got, text)
	}
}

func fetch(t *testing.T, b *bot, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+b.app.Addr()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// pairAnew is parley pair, beside the running bot.
func pairAnew(t *testing.T, b *bot, p *waWeb) {
	t.Helper()
	cfg, err := config.Load(b.file(), app.Kinds())
	if err != nil {
		t.Fatal(err)
	}
	other, err := app.Build(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler), Transport: p.fake.Transport(), Model: b.model})
	if err != nil {
		t.Fatal(err)
	}
	if !until(t.Context(), func() bool {
		err = other.Pair(t.Context(), "wa", "", func(code string) {
			if err := p.fake.Scan(code); err != nil {
				t.Errorf("scanning: %v", err)
			}
		})
		return err == nil || !strings.Contains(err.Error(), "in use")
	}) || err != nil {
		t.Fatalf("pairing: %v", err)
	}
	if err := other.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
