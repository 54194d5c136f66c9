package platforms

import (
	"fmt"
	"log/slog"
	"strconv"
	"testing"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/telegram"
	"github.com/parley-bot/parley/channels/telegram/telegramtest"
	"github.com/parley-bot/parley/internal/secret"
)

// telegramPeople are those of the fake Bot API server.
type telegramPeople struct {
	*gate
	t       *testing.T
	fake    *telegramtest.Server
	mode    string
	token   string
	secret  string
	adapter *telegram.Adapter
}

func newTelegram(t *testing.T, mode string) *telegramPeople {
	t.Helper()
	return newTelegramWith(t, mode, telegramtest.Token, "webhook-secret_1")
}

func newTelegramWith(t *testing.T, mode, token, hook string) *telegramPeople {
	t.Helper()
	p := &telegramPeople{t: t, fake: telegramtest.New(telegramtest.Options{Token: token}), mode: mode, token: token, secret: hook}
	t.Cleanup(p.fake.Close)
	p.gate = newGate(t, p.fake.URL())
	var err error
	p.adapter, err = telegram.New(telegram.Config{
		Token: secret.New(token), Mode: mode, APIURL: p.url(), SecretToken: secret.New(hook),
	}, telegram.Deps{Host: channeltest.NewHost(), Log: slog.New(slog.DiscardHandler), Name: "telegram"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *telegramPeople) yaml(allow ...person) string {
	return fmt.Sprintf("telegram: {mode: %s, token: %q, secret_token: %q, api_url: %q%s}", p.mode, p.token, p.secret, p.url(),
		allowed(allow, func(w person) string { return strconv.FormatInt(p.user(w).ID, 10) }))
}

// connect sets the webhook, as parley webhooks register does.
func (p *telegramPeople) connect(base string) {
	if p.mode != "webhook" {
		return
	}
	if err := p.adapter.RegisterWebhook(p.t.Context(), base+"/webhooks/telegram"); err != nil {
		p.t.Errorf("registering the webhook: %v", err)
	}
}

func (p *telegramPeople) user(w person) telegramtest.User {
	return telegramtest.User{ID: 7000 + int64(w), Name: fmt.Sprint("Person ", w), Lang: "en"}
}

func (p *telegramPeople) say(who person, text string) (again func()) {
	id := p.fake.Say(p.user(who), text, nil)
	return func() { p.fake.Say(p.user(who), text, map[string]any{"message_id": id}) }
}

func (p *telegramPeople) press(who person, on message, b button) {
	id, err := strconv.ParseInt(on.id, 10, 64)
	if err != nil {
		p.t.Errorf("message %q: %v", on.id, err)
		return
	}
	p.fake.Press(p.user(who).ID, id, p.user(who), b.id)
}

func (p *telegramPeople) shown(who person) (out []message) {
	for _, m := range p.fake.Messages(p.user(who).ID) {
		s := message{id: strconv.FormatInt(m.ID, 10), text: m.Text}
		for _, b := range m.Buttons {
			s.buttons = append(s.buttons, button{b.Data, b.Text})
		}
		out = append(out, s)
	}
	return out
}

func (p *telegramPeople) caps() channels.Capabilities {
	return p.adapter.Capabilities(channels.Chat{ID: "1"})
}
func (p *telegramPeople) calls() []call   { return p.seen("") }
func (p *telegramPeople) wrong() []string { return p.fake.Violations() }
