package discordtest_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/parley-bot/parley/channels/discord/discordtest"
)

// redirect brings discordgo's calls, which go to fixed addresses, to the fake.
type redirect struct {
	to   *url.URL
	next http.RoundTripper
}

func (r redirect) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host = r.to.Scheme, r.to.Host
	return r.next.RoundTrip(req)
}

const patience = 10 * time.Second

// client is discordgo, with its own gateway, in version 9 of the API.
func client(t *testing.T, fake *discordtest.Server) *discordgo.Session {
	t.Helper()
	s, err := discordgo.New("Bot " + discordtest.Token())
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(fake.URL())
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	s.Client = &http.Client{Transport: redirect{to, tr}}
	s.Identify.Intents = discordgo.IntentGuilds | discordgo.IntentGuildMessages | discordgo.IntentDirectMessages | discordgo.IntentMessageContent
	s.SyncEvents = true
	s.ShouldRetryOnRateLimit = false
	return s
}

// TestServer_SpeaksDiscordgo: a client that nobody here wrote takes the fake
// for Discord.
func TestServer_SpeaksDiscordgo(t *testing.T) {
	t.Parallel()
	fake := discordtest.New(discordtest.Options{})
	t.Cleanup(fake.Close)
	s := client(t, fake)
	got := make(chan string, 16)
	s.AddHandler(func(s *discordgo.Session, m *discordgo.MessageCreate) {
		if m.Author.Bot {
			return
		}
		got <- m.Content
		if _, err := s.ChannelMessageSendReply(m.ChannelID, "pong", m.Reference()); err != nil {
			t.Error(err)
		}
	})
	s.AddHandler(func(s *discordgo.Session, i *discordgo.InteractionCreate) {
		got <- i.MessageComponentData().CustomID
		err := s.InteractionRespond(i.Interaction, &discordgo.InteractionResponse{Type: discordgo.InteractionResponseDeferredMessageUpdate})
		if err != nil {
			t.Error(err)
		}
		if err := s.InteractionRespond(i.Interaction, &discordgo.InteractionResponse{Type: discordgo.InteractionResponseDeferredMessageUpdate}); err == nil {
			t.Error("a second acknowledgement was taken")
		}
		if _, err := s.FollowupMessageCreate(i.Interaction, true, &discordgo.WebhookParams{Content: "noted", Flags: discordgo.MessageFlagsEphemeral}); err != nil {
			t.Error(err)
		}
	})
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	ana := discordtest.User{ID: "42", Name: "Ana", Locale: "es-ES"}
	next := func() string {
		select {
		case text := <-got:
			return text
		case <-time.After(patience):
			t.Fatal("nothing came")
			return ""
		}
	}
	fake.Say(ana, discordtest.TextID, "ping", nil)
	if text := next(); text != "ping" {
		t.Errorf("received %q", text)
	}
	wait(t, fake, func() bool { return len(fake.Bots(discordtest.TextID)) == 1 })
	pong := fake.Bots(discordtest.TextID)[0]
	if pong.Content != "pong" || pong.ReplyTo == "" {
		t.Errorf("shown: %+v", pong)
	}
	fake.Press(ana, discordtest.TextID, pong.ID, "a-button")
	if id := next(); id != "a-button" {
		t.Errorf("pressed %q", id)
	}
	wait(t, fake, func() bool { return len(fake.Notices("42")) == 1 })

	// It sends what Discord refuses, and hears so.
	_, err := s.ChannelMessageSend(discordtest.TextID, strings.Repeat("é", 2001))
	if err == nil || !strings.Contains(err.Error(), "50035") {
		t.Errorf("a text that is too long: %v", err)
	}
	if _, err := s.ChannelMessageSend("1", "x"); err == nil || !strings.Contains(err.Error(), "10003") {
		t.Errorf("a channel that isn't there: %v", err)
	}
	row := discordgo.ActionsRow{}
	for range 6 {
		row.Components = append(row.Components, discordgo.Button{Label: "x", CustomID: string(rune('a' + len(row.Components)))})
	}
	if _, err := s.ChannelMessageSendComplex(discordtest.TextID, &discordgo.MessageSend{Content: "x", Components: []discordgo.MessageComponent{row}}); err == nil {
		t.Error("six buttons in a row were taken")
	}
	if list, err := s.ChannelMessages(discordtest.TextID, 100, "", "", ""); err != nil || len(list) != 2 || list[0].Content != "pong" {
		t.Errorf("history: %d messages, %v", len(list), err)
	}
}

// TestServer_RefusesWhatDiscordRefuses by the gateway.
func TestServer_RefusesWhatDiscordRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		opts discordtest.Options
		set  func(*discordgo.Session)
		want string
	}{
		"a wrong token":    {set: func(s *discordgo.Session) { s.Identify.Token = "Bot other" }, want: "4004"},
		"an intent":        {opts: discordtest.Options{NoContent: true}, want: "4014"},
		"an unknown one":   {set: func(s *discordgo.Session) { s.Identify.Intents = 1 << 27 }, want: "4013"},
		"one session less": {opts: discordtest.Options{Identifies: -1}, want: "4004"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := discordtest.New(tt.opts)
			t.Cleanup(fake.Close)
			s := client(t, fake)
			if tt.set != nil {
				tt.set(s)
			}
			if err := s.Open(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want close code %s", err, tt.want)
			}
		})
	}
}

func wait(t *testing.T, fake *discordtest.Server, cond func() bool) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- fake.Wait(t.Context(), cond) }()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatal("it didn't happen")
	}
}
