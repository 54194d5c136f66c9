package platforms

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/twilio"
	"github.com/parley-bot/parley/channels/twilio/twiliotest"
	"github.com/parley-bot/parley/internal/secret"
)

// twilioPeople are those of the fake of Twilio, with SMS, or with WhatsApp and
// a template for questions.
type twilioPeople struct {
	*gate
	t       *testing.T
	fake    *twiliotest.Platform
	prefix  string // "whatsapp:"
	adapter *twilio.Adapter
	last    atomic.Int64
}

func newTwilio(t *testing.T, prefix string) *twilioPeople {
	t.Helper()
	return newTwilioWith(t, prefix, twiliotest.Config{Name: "sms"})
}

func newTwilioWith(t *testing.T, prefix string, c twiliotest.Config) *twilioPeople {
	t.Helper()
	p := &twilioPeople{t: t, fake: twiliotest.New(c), prefix: prefix}
	t.Cleanup(p.fake.Close)
	p.gate = newGate(t, p.fake.Server.URL)
	cfg := twilio.Defaults()
	cfg.AccountSID, cfg.AuthToken, cfg.From = p.fake.AccountSID, secret.New(p.fake.Token), p.from()
	cfg.ContentSID, cfg.APIURL, cfg.PublicURL = p.content(), p.url(), p.fake.Public
	var err error
	if p.adapter, err = twilio.New(cfg, twilio.Deps{Log: slog.New(slog.DiscardHandler), Name: "sms"}); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *twilioPeople) from() string { return p.prefix + "+15550002222" }

func (p *twilioPeople) content() string {
	if p.prefix == "" {
		return ""
	}
	return p.fake.Content
}

func (p *twilioPeople) yaml(allow ...person) string {
	return fmt.Sprintf("sms: {kind: twilio, account_sid: %q, auth_token: %q, from: %q, content_sid: %q, api_url: %q%s}",
		p.fake.AccountSID, p.fake.Token, p.from(), p.content(), p.url(), allowed(allow, p.phone))
}

// connect sets the webhook of the number, as parley webhooks register does.
func (p *twilioPeople) connect(base string) {
	p.fake.Serve(forward(base, "/webhooks/sms"))
	if p.prefix != "" {
		return // a WhatsApp sender's is set in the console
	}
	if err := p.adapter.RegisterWebhook(p.t.Context(), p.fake.Address()); err != nil {
		p.t.Errorf("registering the webhook: %v", err)
	}
}

func (p *twilioPeople) phone(w person) string { return fmt.Sprintf("%s+1555111%04d", p.prefix, int(w)) }

// deliver makes a delivery until it is answered 2xx.
func (p *twilioPeople) deliver(f url.Values) {
	if !until(p.t.Context(), func() bool { return p.fake.Deliver(f, "").Code/100 == http.StatusOK/100 }) {
		p.t.Errorf("a delivery was never taken")
	}
}

func (p *twilioPeople) form(who person, text string) url.Values {
	return p.fake.Text(fmt.Sprintf("SMA%031d", p.last.Add(1)), p.phone(who), p.from(), text)
}

func (p *twilioPeople) say(who person, text string) (again func()) {
	f := p.form(who, text)
	p.deliver(f)
	return func() { p.deliver(f) }
}

func (p *twilioPeople) press(who person, on message, b button) {
	f := p.form(who, b.label)
	f.Set("MessageType", "button")
	f.Set("ButtonText", b.label)
	f.Set("ButtonPayload", b.id)
	f.Set("OriginalRepliedMessageSid", on.id)
	p.deliver(f)
}

func (p *twilioPeople) shown(who person) (out []message) {
	for _, m := range p.fake.Messages() {
		switch {
		case m.To != p.phone(who):
		case m.Content != "":
			out = append(out, message{m.SID, m.Variables["1"], []button{{m.Variables["2"], "Yes"}, {m.Variables["3"], "No"}}})
		default:
			out = append(out, message{id: m.SID, text: m.Body})
		}
	}
	return out
}

func (p *twilioPeople) caps() channels.Capabilities {
	return p.adapter.Capabilities(channels.Chat{ID: channels.ChatID(p.phone(1))})
}
func (p *twilioPeople) calls() []call { return p.seen("") }

func (p *twilioPeople) wrong() (out []string) {
	for _, c := range p.calls() {
		if c.code >= 400 {
			out = append(out, fmt.Sprint(c.code, " for ", c.body))
		}
	}
	return out
}
