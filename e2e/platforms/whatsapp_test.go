package platforms

import (
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/whatsappcloud"
	"github.com/parley-bot/parley/channels/whatsappcloud/whatsappcloudtest"
	"github.com/parley-bot/parley/internal/secret"
)

// whatsappPeople are those of the fake Graph API.
type whatsappPeople struct {
	*gate
	t       *testing.T
	fake    *whatsappcloudtest.Platform
	adapter *whatsappcloud.Adapter
	last    atomic.Int64
}

func newWhatsApp(t *testing.T) *whatsappPeople {
	t.Helper()
	return newWhatsAppWith(t, whatsappcloudtest.Config{})
}

func newWhatsAppWith(t *testing.T, c whatsappcloudtest.Config) *whatsappPeople {
	t.Helper()
	p := &whatsappPeople{t: t, fake: whatsappcloudtest.New(c)}
	t.Cleanup(p.fake.Close)
	p.gate = newGate(t, p.fake.Server.URL)
	cfg := whatsappcloud.Defaults()
	cfg.PhoneNumberID, cfg.WABAID, cfg.APIURL = p.fake.PhoneNumberID, p.fake.WABAID, p.url()
	cfg.AccessToken, cfg.AppSecret, cfg.VerifyToken = secret.New(p.fake.Token), secret.New(p.fake.AppSecret), secret.New(p.fake.VerifyToken)
	var err error
	p.adapter, err = whatsappcloud.New(cfg, whatsappcloud.Deps{Host: channeltest.NewHost(), Log: slog.New(slog.DiscardHandler), Name: "whatsapp"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *whatsappPeople) yaml(allow ...person) string {
	return fmt.Sprintf("whatsapp: {kind: whatsapp_cloud, phone_number_id: %q, waba_id: %q, access_token: %q, app_secret: %q, verify_token: %q, api_url: %q%s}",
		p.fake.PhoneNumberID, p.fake.WABAID, p.fake.Token, p.fake.AppSecret, p.fake.VerifyToken, p.url(), allowed(allow, p.phone))
}

// connect sets the webhook, as parley webhooks register does.
func (p *whatsappPeople) connect(base string) {
	p.fake.Serve(forward(base, "/webhooks/whatsapp"))
	if err := p.adapter.RegisterWebhook(p.t.Context(), "https://bot.example.com/webhooks/whatsapp"); err != nil {
		p.t.Errorf("registering the webhook: %v", err)
	}
}

func (p *whatsappPeople) phone(w person) string { return fmt.Sprintf("1555111%04d", int(w)) }

// deliver makes a delivery until it is answered 200.
func (p *whatsappPeople) deliver(batch whatsappcloudtest.Object) {
	if !until(p.t.Context(), func() bool { return p.fake.Deliver(batch).Code == http.StatusOK }) {
		p.t.Errorf("a delivery was never taken")
	}
}

func (p *whatsappPeople) next() string { return fmt.Sprint("wamid.IN", p.last.Add(1)) }

func (p *whatsappPeople) say(who person, text string) (again func()) {
	batch := p.fake.Batch(p.fake.From(p.phone(who), "Ana", whatsappcloudtest.Text(p.next(), text)))
	p.deliver(batch)
	return func() { p.deliver(batch) }
}

func (p *whatsappPeople) press(who person, on message, b button) {
	p.deliver(p.fake.Batch(p.fake.From(p.phone(who), "Ana", whatsappcloudtest.Press(p.next(), b.id, b.label, on.id))))
}

func (p *whatsappPeople) shown(who person) (out []message) {
	for _, m := range p.fake.Messages() {
		if m.To != p.phone(who) {
			continue
		}
		s := message{id: m.ID, text: m.Text}
		for _, b := range m.Buttons {
			s.buttons = append(s.buttons, button{b.ID, b.Title})
		}
		out = append(out, s)
	}
	return out
}

func (p *whatsappPeople) caps() channels.Capabilities {
	return p.adapter.Capabilities(channels.Chat{ID: "1"})
}
func (p *whatsappPeople) calls() []call { return p.seen("") }

func (p *whatsappPeople) wrong() (out []string) {
	for _, c := range p.calls() {
		if c.code >= 400 {
			out = append(out, fmt.Sprint(c.code, " for ", c.body))
		}
	}
	return out
}
