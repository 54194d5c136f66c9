package discord_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/discord"
	"github.com/parley-bot/parley/channels/discord/discordtest"
)

func TestReceive_Groups(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.run()
	b.connected()
	asked := b.mustSend(channels.Part{Chat: inGuild, Text: "sure?"})
	bot := "<@" + discordtest.BotID + ">"
	other := b.fake.Say(ana, discordtest.TextID, "of ana's own", nil)
	b.next()
	for _, tt := range []struct {
		text      string
		extra     map[string]any
		want      string
		mentioned bool
	}{
		{"hello", nil, "hello", false},
		{bot + " yes", nil, "yes", true},
		{"<@!" + discordtest.BotID + ">, yes", nil, "yes", true},
		{"yes " + bot, nil, "yes", true},
		{"ask " + bot + " for it", nil, "ask " + bot + " for it", true},
		{bot, nil, bot, true},
		{"<@&" + discordtest.RoleID + "> yes", nil, "yes", true},
		{"<@1> yes", nil, "<@1> yes", false},
		{"@parley yes", nil, "@parley yes", false},
		{"yes", map[string]any{"reply": string(asked)}, "yes", true},
		{"yes", map[string]any{"reply": other}, "yes", false},
	} {
		b.fake.Say(ana, discordtest.TextID, tt.text, tt.extra)
		in := b.next()
		if in.Text != tt.want || in.Mentioned != tt.mentioned || !in.Chat.Group || in.From.Name != "Ana" || in.From.ID != channels.UserID(ana.ID) {
			t.Errorf("%q: received %+v", tt.text, in)
		}
		if reply, _ := tt.extra["reply"].(string); string(in.ReplyTo) != reply {
			t.Errorf("%q: an answer to %q", tt.text, in.ReplyTo)
		}
	}
}

// TestReceive_WhatIsNoPersons is not received, an edit is, and a preview that
// Discord adds is no edit.
func TestReceive_WhatIsNoPersons(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.run()
	b.connected()
	dm := b.fake.DM(ana)
	b.mustSend(channels.Part{Chat: inGuild, Text: "the bot's own"})
	b.fake.Say(discordtest.User{ID: "5", Name: "Other", Bot: true}, discordtest.TextID, "another bot's", nil)
	b.fake.Say(ana, discordtest.TextID, "by a webhook", map[string]any{"webhook_id": "7"})
	b.fake.Say(ana, discordtest.TextID, "joined", map[string]any{"type": 7})
	id := b.fake.Say(ana, dm, "see https://example.com", map[string]any{
		"embeds": []any{map[string]any{"x": 1}}, "components": []any{map[string]any{"type": 99}}, "poll": nil,
	})
	if in := b.next(); in.Text != "see https://example.com" || in.Mentioned || in.Chat.Group {
		t.Errorf("received %+v", in)
	}
	b.fake.Change(dm, id, "")
	b.fake.Change(dm, id, "see below")
	in := b.next()
	if in.Kind != channels.KindEdit || in.Text != "see below" || in.EditStamp == "" || string(in.ID) != id {
		t.Errorf("received %+v", in)
	}
	b.fake.Say(ana, dm, "", map[string]any{"attachments": []any{
		map[string]any{"id": "1", "filename": "a.png", "content_type": "image/png", "size": 3, "url": "https://cdn.example.com/a.png"},
	}})
	if in := b.next(); len(in.Media) != 1 || in.Media[0].Type != "image" || in.Media[0].Size != 3 || in.Text != "" {
		t.Errorf("received %+v", in)
	}
	b.nothing()
}

// TestReceive_WithoutAText: what came instead is named; what nobody wrote isn't
// received.
func TestReceive_WithoutAText(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.run()
	b.connected()
	dm := b.fake.DM(ana)
	file := func(name, mime string) []any {
		return []any{map[string]any{"id": "1", "filename": name, "content_type": mime, "size": 3, "url": "https://cdn.example.com/" + name, "waveform": "AA=="}}
	}
	other := map[string]any{"type": 1, "message_id": "77", "channel_id": "78"}
	for name, tt := range map[string]struct {
		extra map[string]any
		want  string // "" is that nothing is received
	}{
		"image":           {map[string]any{"attachments": file("a.webp", "image/webp")}, "image"},
		"voice message":   {map[string]any{"attachments": file("voice-message.ogg", "audio/ogg"), "flags": 1 << 13}, "audio"},
		"file of no type": {map[string]any{"attachments": file("a.bin", "")}, "document"},
		"sticker":         {map[string]any{"sticker_items": []any{map[string]any{"id": "1", "name": "x", "format_type": 1}}}, "sticker"},
		"poll":            {map[string]any{"poll": map[string]any{"question": map[string]any{"text": "?"}}}, "other"},
		"passed on":       {map[string]any{"message_snapshots": []any{map[string]any{"message": map[string]any{"content": "x"}}}, "message_reference": other}, "other"},
		"an embed alone":  {map[string]any{"embeds": []any{map[string]any{"title": "x"}}}, ""},
		"nothing":         {nil, ""},
		"pinned":          {map[string]any{"type": 6, "message_reference": other}, ""},
		"thread begun":    {map[string]any{"type": 18}, ""},
		"thread's first":  {map[string]any{"type": 21, "message_reference": other}, ""},
		"boost":           {map[string]any{"type": 8, "content": "3"}, ""},
	} {
		b.fake.Say(ana, dm, "", tt.extra)
		b.fake.Say(ana, dm, "end", nil)
		in := b.next()
		if tt.want == "" {
			if in.Text != "end" {
				t.Errorf("%s: received %+v", name, in)
			}
			continue
		}
		if len(in.Media) != 1 || in.Media[0].Type != tt.want || in.Text != "" || in.ReplyTo != "" || in.Kind != channels.KindMessage {
			t.Errorf("%s: received %+v", name, in)
		}
		b.next()
	}
	b.fake.Say(ana, dm, "of another channel", map[string]any{"message_reference": map[string]any{"message_id": "77", "channel_id": "78"}})
	if in := b.next(); in.Text != "of another channel" || in.ReplyTo != "" {
		t.Errorf("what stands elsewhere is no answer here: received %+v", in)
	}
	b.fake.Say(ana, dm, "<@"+discordtest.BotID+"> yes", nil)
	if in := b.next(); in.Text != "yes" || in.Mentioned || in.Chat.Group {
		t.Errorf("a name in private: received %+v", in)
	}
}

// TestPress_B20_DeferredAtOnce, with the notice of a press that counts for
// nothing following to the presser alone; once, however often it comes.
func TestPress_B20_DeferredAtOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.sink.ack = channels.PressAck{Outcome: channels.PressNotYours, Notice: "That question is for somebody else."}
	b.run()
	b.connected()
	q := b.mustSend(channels.Part{Chat: inGuild, Text: "sure?", Buttons: yesNo()})
	id := b.fake.Press(ana, discordtest.TextID, string(q), string(yesNo()[0].ID))
	in := b.next()
	if in.Kind != channels.KindPress || !in.Mentioned || in.From.Lang != "es-ES" || string(in.ID) != id {
		t.Errorf("received %+v", in)
	}
	if kind, _ := b.fake.Answered(id); kind != 6 {
		t.Errorf("answered with %d, want 6", kind)
	}
	if n := b.fake.Notices(ana.ID); len(n) != 1 || n[0] != b.sink.ack.Notice {
		t.Errorf("notices %q", n)
	}
	b.fake.Repeat(id) // after a resume
	b.next()
	b.wait("not asked twice", func() bool { return len(b.fake.Calls("/callback")) == 2 })
	if n := len(b.fake.Bots(discordtest.TextID)); n != 1 {
		t.Errorf("%d messages in the channel", n)
	}
}

// TestPress_TooLate: the acknowledgement comes after three seconds; the press
// counts all the same.
func TestPress_TooLate(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.run()
	b.connected()
	hold := make(chan struct{})
	b.fake.Script(discordtest.Fault{Holding: []string{"/callback"}, Hold: hold})
	id := b.fake.Press(ana, discordtest.TextID, "1", "a-button")
	b.wait("not held", func() bool { return b.fake.Held() == 1 })
	b.clock.forward(4 * time.Second)
	close(hold)
	if in := b.next(); string(in.ID) != id {
		t.Errorf("received %+v", in)
	}
	if !b.logs.Has("acknowledged too late") {
		t.Errorf("log:\n%s", b.logs)
	}
}

// TestPress_ClocksThatDiffer: an id tells its time, by Discord's clock. A host
// whose own clock is wrong refuses nothing for its age.
func TestPress_ClocksThatDiffer(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		for _, mode := range []string{discord.ModeGateway, discord.ModeInteractions} {
			b := newBed(t, func(c *discord.Config, o *discordtest.Options) {
				now := o.Now
				c.Mode, o.Now = mode, func() time.Time { return now().Add(skew) }
			})
			if mode == discord.ModeInteractions {
				b.fake.UseEndpoint(b.serve())
			}
			b.run()
			if mode == discord.ModeGateway {
				b.connected()
			}
			for _, place := range []string{discordtest.TextID, b.fake.DM(ana)} {
				id := b.fake.Press(ana, place, "1", "a-button")
				if in := b.next(); string(in.ID) != id || in.From.ID != channels.UserID(ana.ID) || in.Chat.Group != (place == discordtest.TextID) {
					t.Errorf("%s, %s: received %+v", mode, skew, in)
				}
				b.wait("not acknowledged", func() bool { kind, _ := b.fake.Answered(id); return kind == 6 })
			}
		}
	}
}

func TestCommands_AreTexts(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.run()
	b.connected()
	for _, tt := range []struct {
		name    string
		options []string
		want    string
	}{
		{"reset", nil, "/reset"}, {"lang", []string{"language", "es"}, "/lang es"}, {"lang", nil, "/lang"},
		{"ask", []string{"text", "two coffees, please"}, "two coffees, please"},
	} {
		id := b.fake.Command(ana, discordtest.TextID, tt.name, tt.options...)
		in := b.next()
		if in.Kind != channels.KindMessage || in.Text != tt.want || !in.Mentioned || in.From.Lang != "es-ES" || string(in.ID) != id {
			t.Errorf("%s: received %+v", tt.name, in)
		}
		b.wait("the thinking goes on", func() bool { kind, said := b.fake.Answered(id); return kind == 5 && said == "✓" })
	}
}

func (b *bed) serve() string {
	srv := httptest.NewServer(b.Webhook(b.sink))
	b.t.Cleanup(srv.Close)
	return srv.URL
}

// An answer of another form than Discord's isn't told in types of Go.
func TestWebhookStatus_AnswerOfAnotherForm(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"[1]", `{"id": 5}`, "5", "<html>"} {
		b := newBed(t, interactions)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }))
		t.Cleanup(srv.Close)
		b.cfg.APIURL = srv.URL
		b.restart()
		_, err := b.WebhookStatus(t.Context())
		if err == nil || !strings.Contains(err.Error(), "discord gave no answer: the answer ") || strings.Contains(err.Error(), "json") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWebhook_SetAndUsed(t *testing.T) {
	t.Parallel()
	b := newBed(t, interactions)
	url := b.serve()
	b.run()
	if err := b.RegisterWebhook(t.Context(), url); err != nil { // with a ping, and a wrong signature
		t.Fatal(err)
	}
	if s, err := b.WebhookStatus(t.Context()); err != nil || s.URL != url {
		t.Errorf("%+v, %v", s, err)
	}
	id := b.fake.Command(ana, discordtest.TextID, "ask", "text", "hello")
	if in := b.next(); in.Text != "hello" {
		t.Errorf("received %+v", in)
	}
	b.wait("not answered", func() bool { kind, _ := b.fake.Answered(id); return kind == 4 })
	press := b.fake.Press(ana, discordtest.TextID, "1", "a-button")
	b.next()
	b.wait("not answered", func() bool { kind, _ := b.fake.Answered(press); return kind == 6 })
	b.sink.ack.Notice = "Not yours."
	b.fake.Press(ana, discordtest.TextID, "1", "a-button")
	b.next()
	b.wait("no notice", func() bool { n := b.fake.Notices(ana.ID); return len(n) == 2 && n[1] == "Not yours." })
	if err := b.RegisterWebhook(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if s, err := b.WebhookStatus(t.Context()); err != nil || s.URL != "" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestWebhook_DiscordAwayAtFirst: commands are registered when it is there.
func TestWebhook_DiscordAwayAtFirst(t *testing.T) {
	t.Parallel()
	b := newBed(t, interactions)
	b.dead.CutNext(3)
	stop := b.run()
	b.wait("no commands", func() bool { return b.fake.Commands() != "" })
	if err := stop(); err != nil {
		t.Error(err)
	}
	b.fake.RevokeToken()
	b.restart()
	if err := b.ends(); err == nil || !strings.Contains(err.Error(), "Reset Token") || b.Link().State != channels.LinkRefused {
		t.Errorf("a revoked token: %v, %s", err, b.Link())
	}
}

// TestWebhook_RevokedToken: while the channel is started again and again it
// isn't said to be up, also where Discord can't be asked; when the token is
// given back it is.
func TestWebhook_RevokedToken(t *testing.T) {
	t.Parallel()
	b := newBed(t, interactions)
	stop := b.run()
	b.up()
	b.wait("no commands", func() bool { return b.fake.Commands() != "" })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	b.fake.RevokeToken()
	_ = b.ends() // up at first, for nobody asked
	from := b.sink.told()
	for range 3 {
		b.dead.CutNext(1)
		if err := b.ends(); err == nil {
			t.Fatal("a revoked token doesn't end Run")
		}
	}
	b.sink.mu.Lock()
	for _, l := range b.sink.links[from:] {
		if l.State != channels.LinkRefused {
			t.Errorf("the core is told of %s", l)
		}
	}
	b.sink.mu.Unlock()
	b.fake.RestoreToken()
	b.run()
	b.linked(from, "that it is up", func(l channels.Link) bool { return l.State == channels.LinkUp })
}

func TestWebhook_Refuses(t *testing.T) {
	t.Parallel()
	b := newBed(t, interactions)
	url := b.serve()
	post := func(method, sig, at, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Signature-Ed25519", sig)
		req.Header.Set("X-Signature-Timestamp", at)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	// https://discord.com's own scheme, with the key of a fixed seed.
	const sig = "9ef52e0980512fc86504213828935ead2d8ad69632af84e31aae7c0a1593a04f81779d871c1d68240dce56038c60788e51e59a6c3f14c72a4183c785b1e8b70e"
	for name, tt := range map[string]struct {
		method, sig, at, body string
		want                  int
	}{
		"a ping":            {"POST", sig, "1700000000", `{"type":1}`, 200},
		"another body":      {"POST", sig, "1700000000", `{"type":2}`, 401},
		"another time":      {"POST", sig, "1700000001", `{"type":1}`, 401},
		"no signature":      {"POST", "", "1700000000", `{"type":1}`, 401},
		"a short signature": {"POST", sig[:64], "1700000000", `{"type":1}`, 401},
		"no hex":            {"POST", "zz", "1700000000", `{"type":1}`, 401},
		"too large":         {"POST", sig, "1700000000", strings.Repeat(" ", 2<<20), 401},
		"a GET":             {"GET", sig, "1700000000", "", 405},
	} {
		if got := post(tt.method, tt.sig, tt.at, tt.body); got != tt.want {
			t.Errorf("%s: answered %d, want %d", name, got, tt.want)
		}
	}
	b.nothing()
	gateway := newBed(t)
	rec := httptest.NewRecorder()
	gateway.Webhook(gateway.sink).ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/", nil))
	if rec.Code != http.StatusNotFound {
		t.Errorf("gateway mode answered %d", rec.Code)
	}
	if err := gateway.RegisterWebhook(t.Context(), url); err == nil || !strings.Contains(err.Error(), "mode to interactions") {
		t.Errorf("gateway mode: %v", err)
	}
}

// TestWebhook_G9_StoreAway: what can't be taken is no success.
func TestWebhook_G9_StoreAway(t *testing.T) {
	t.Parallel()
	b := newBed(t, interactions)
	b.fake.UseEndpoint(b.serve())
	b.sink.fail(&channels.RefusedError{Reason: channels.RefusedUnavailable})
	raw := b.fake.Body(b.fake.Command(ana, discordtest.TextID, "ask", "text", "lost"))
	b.wait("not delivered", func() bool { return b.logs.Has("interaction could not be taken") || len(raw) == 0 })
	b.nothing()
}
