package platforms

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/discord"
	"github.com/parley-bot/parley/channels/discord/discordtest"
	"github.com/parley-bot/parley/internal/secret"
)

// discordPeople are those of the fake Discord, in direct conversations.
type discordPeople struct {
	*gate
	t       *testing.T
	fake    *discordtest.Server
	mode    string
	token   string
	adapter *discord.Adapter
	hook    string
}

func newDiscord(t *testing.T, mode string) *discordPeople {
	t.Helper()
	return newDiscordWith(t, mode, discordtest.Token())
}

func newDiscordWith(t *testing.T, mode, token string) *discordPeople {
	t.Helper()
	return discordWith(t, mode, discordtest.Options{Token: token})
}

func discordWith(t *testing.T, mode string, traits discordtest.Options) *discordPeople {
	t.Helper()
	token := traits.Token
	p := &discordPeople{t: t, fake: discordtest.New(traits), mode: mode, token: token}
	t.Cleanup(p.fake.Close)
	p.gate = newGate(t, strings.TrimSuffix(p.fake.URL(), "/api"))
	var err error
	p.adapter, err = discord.New(discord.Config{
		Token: secret.New(token), Mode: mode, APIURL: p.url(), PublicKey: p.fake.PublicKey(),
	}, discord.Deps{Host: channeltest.NewHost(), Log: slog.New(slog.DiscardHandler), Name: "discord"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// canaryToken looks like one of a bot's.
func canaryToken() string {
	return base64.RawStdEncoding.EncodeToString([]byte(discordtest.BotID)) + "." + canary + ".discord"
}

// yaml leaves the gateway out of the gate: its connection lasts.
func (p *discordPeople) yaml(allow ...person) string {
	return fmt.Sprintf("discord: {mode: %s, token: %q, public_key: %q, api_url: %q, gateway_url: %q%s}", p.mode, p.token, p.fake.PublicKey(), p.url(),
		p.fake.GatewayURL(), allowed(allow, func(w person) string { return p.user(w).ID }))
}

// connect sets the endpoint, as parley webhooks register does; or waits for
// the gateway, which tells nothing of the time before the first start.
func (p *discordPeople) connect(base string) {
	if p.mode == discord.ModeInteractions {
		p.hook = base + "/webhooks/discord"
		if err := p.adapter.RegisterWebhook(p.t.Context(), p.hook); err != nil {
			p.t.Errorf("setting the endpoint: %v", err)
		}
		return
	}
	if !until(p.t.Context(), func() bool { return p.fake.Connected() == 1 }) {
		p.t.Error("the bot doesn't connect")
	}
}

// down and up concern the API and the gateway.
func (p *discordPeople) down() {
	p.fake.SetAway(true)
	p.gate.down()
}

func (p *discordPeople) up() {
	p.gate.up()
	p.fake.SetAway(false)
}

func (p *discordPeople) user(w person) discordtest.User {
	return discordtest.User{ID: fmt.Sprintf("71%017d", int(w)), Name: fmt.Sprint("Person ", w), Locale: "en-US"}
}

func (p *discordPeople) dm(w person) string { return p.fake.DM(p.user(w)) }

func (p *discordPeople) say(who person, text string) (again func()) {
	dm := p.dm(who)
	if p.mode == discord.ModeGateway {
		id := p.fake.Say(p.user(who), dm, text, nil)
		return func() { p.fake.Again(dm, id) }
	}
	name, options := "ask", []string{"text", text}
	if command, ok := strings.CutPrefix(text, "/"); ok {
		name, options = command, nil
		if first, rest, more := strings.Cut(command, " "); more {
			name, options = first, []string{"language", rest}
		}
	}
	id := p.fake.Command(p.user(who), dm, name, options...)
	return func() {
		if _, _, err := p.fake.PostTo(p.t.Context(), p.hook, p.fake.Body(id)); err != nil {
			p.t.Error(err)
		}
	}
}

func (p *discordPeople) press(who person, on message, b button) {
	p.fake.Press(p.user(who), p.dm(who), on.id, b.id)
}

// escaped is what a reader doesn't see of Discord's Markdown.
var escaped = regexp.MustCompile(`\\([[:punct:]])`)

func (p *discordPeople) shown(who person) (out []message) {
	for _, m := range p.fake.Bots(p.dm(who)) {
		s := message{id: m.ID, text: escaped.ReplaceAllString(m.Content, "$1")}
		for _, b := range m.Buttons {
			s.buttons = append(s.buttons, button{b.ID, b.Label})
		}
		out = append(out, s)
	}
	return out
}

func (p *discordPeople) caps() channels.Capabilities {
	return p.adapter.Capabilities(channels.Chat{ID: "1"})
}
func (p *discordPeople) calls() []call   { return p.seen("") }
func (p *discordPeople) wrong() []string { return p.fake.Violations() }

// TestPresses_B20_DiscordDeferredWhileTheModelIsSlow: as on Telegram, presses
// come 200 a second while every worker waits for the model. Each is deferred
// before its three seconds are over, and once.
func TestPresses_B20_DiscordDeferredWhileTheModelIsSlow(t *testing.T) { //nolint:paralleltest // it measures: no other test of the package runs meanwhile
	const (
		askers, workers, presses = 40, 8, 600
		every                    = time.Second / 200
	)
	p := newDiscord(t, discord.ModeGateway)
	released := make(chan struct{})
	m := newMind()
	m.stuck = released
	s := &shop{}
	b := &bot{t: t, on: []platform{p}, model: m, more: fmt.Sprintf("confirm: {timeout: 1h}\nlimits: {per_user: 100000/1m, workers: %d}", workers)}
	b.tools = append(b.tools, placeOrder(s))
	b.start()
	questions := make([]message, askers)
	for i := range questions {
		p.say(person(1+i), "order 2")
	}
	for i := range questions {
		if !until(t.Context(), func() bool {
			shown := p.shown(person(1 + i))
			if len(shown) == 1 {
				questions[i] = shown[0]
			}
			return len(questions[i].buttons) == 2
		}) {
			t.Fatalf("person %d was not asked", i)
		}
	}
	for i := range workers {
		p.say(person(1000+i), "wait for it")
	}
	if !until(t.Context(), func() bool { return m.waiting() == workers }) {
		t.Fatalf("%d of %d workers wait for the model", m.waiting(), workers)
	}
	pressed := map[string]time.Time{}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := range presses {
		<-tick.C
		q, who := questions[i%askers], person(1+i%askers)
		at := time.Now()
		pressed[p.fake.Press(p.user(who), p.dm(who), q.id, q.buttons[0].id)] = at
	}
	if !until(t.Context(), func() bool { return len(p.seen("/callback")) >= presses }) {
		t.Fatalf("%d of %d presses were deferred", len(p.seen("/callback")), presses)
	}
	if s.count() != 0 || m.waiting() != workers {
		t.Errorf("%d orders and %d waiting workers: the model was not slow", s.count(), m.waiting())
	}
	var took []time.Duration
	for _, c := range p.seen("/callback") {
		id := strings.Split(c.path, "/")[4] // /api/v10/interactions/ID/TOKEN/callback
		if at, ok := pressed[id]; ok && c.code < 300 {
			took = append(took, max(0, c.at.Sub(at)))
		}
	}
	if len(took) != presses {
		t.Errorf("%d presses of %d were deferred in time and once", len(took), presses)
	}
	slices.Sort(took)
	t.Logf("%d presses deferred: half within %s, 99 of 100 within %s, all within %s", len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	close(released)
	if !until(t.Context(), func() bool { return s.count() == askers }) {
		t.Errorf("%d orders, want %d: one for each question", s.count(), askers)
	}
	if w := p.wrong(); len(w) > 0 {
		t.Errorf("the platform found %q", w[0])
	}
}
