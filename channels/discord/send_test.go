package discord_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/discord"
	"github.com/parley-bot/parley/channels/discord/discordtest"
	"github.com/parley-bot/parley/internal/secret"
)

var inGuild = channels.Chat{ID: discordtest.TextID, Group: true}

func yesNo() []channels.Button {
	return []channels.Button{
		{ID: channels.ButtonID(strings.Repeat("y", 64)), Label: "Sí", Value: "yes"},
		{ID: channels.ButtonID(strings.Repeat("n", 64)), Label: "No", Value: "no"},
	}
}

func (b *bed) mustSend(part channels.Part) channels.MessageID {
	b.t.Helper()
	r, err := b.Send(b.t.Context(), part)
	if err != nil {
		b.t.Fatalf("Send: %v", err)
	}
	return r.ID
}

// what is the body of the only call that holds these texts.
func (b *bed) what(holding ...string) map[string]any {
	b.t.Helper()
	calls := b.fake.Calls(holding...)
	if len(calls) != 1 {
		b.t.Fatalf("%d calls of %v", len(calls), holding)
	}
	return calls[0].Body
}

func TestSend_WhatDiscordIsTold(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.mustSend(channels.Part{Chat: inGuild, Text: "**sure?** @everyone <@1>", Markup: channels.MarkupDiscord, Buttons: yesNo(), ReplyTo: "999", Key: "turn.1.0"})
	got := b.what("POST", "/messages")
	if f, _ := json.Marshal(got["flags"]); string(f) != "4" { // no previews of links
		t.Errorf("flags %s", f)
	}
	delete(got, "flags")
	button := func(style int, label, id string) map[string]any {
		return map[string]any{"type": json.Number("2"), "style": json.Number(strconv.Itoa(style)), "label": label, "custom_id": id, "disabled": false}
	}
	want := map[string]any{
		"components": []any{map[string]any{"type": json.Number("1"), "components": []any{
			button(1, "Sí", strings.Repeat("y", 64)), button(2, "No", strings.Repeat("n", 64)),
		}}},
		"content": "**sure?** @everyone <@1>", "nonce": discord.Nonce("turn.1.0"), "enforce_nonce": true,
		"allowed_mentions":  map[string]any{"parse": []any{}, "replied_user": false},
		"message_reference": map[string]any{"message_id": "999", "fail_if_not_exists": false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m := b.fake.Bots(discordtest.TextID)[0]
	if len(m.Buttons) != 2 || m.Buttons[0].Label != "Sí" || m.Pings {
		t.Errorf("shown: %+v", m)
	}
}

// TestSend_LongestTexts: the limit counts code points, as Discord does.
func TestSend_LongestTexts(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	caps := b.Capabilities(inGuild)
	text := strings.Repeat("🥐", caps.TextMax)
	b.mustSend(channels.Part{Chat: inGuild, Text: text})
	_, err := b.Send(t.Context(), channels.Part{Chat: inGuild, Text: text + "x"})
	if channels.ClassOf(err) != channels.PermanentMessage {
		t.Errorf("a text that is too long: %v", err)
	}
	var most []channels.Button
	for n := range caps.Buttons.Max {
		most = append(most, channels.Button{ID: channels.ButtonID(strings.Repeat(string(rune('a'+n)), caps.Buttons.IDBytes)), Label: strings.Repeat("é", caps.Buttons.LabelMax)})
	}
	b.mustSend(channels.Part{Chat: inGuild, Text: "choose", Buttons: most})
	if _, err := b.Send(t.Context(), channels.Part{Chat: inGuild, Text: "choose", Buttons: append(most, yesNo()...)}); channels.ClassOf(err) != channels.PermanentMessage {
		t.Errorf("too many buttons: %v", err)
	}
}

// TestSend_G5_ShownOnce: a send whose outcome nobody knows is sent again under
// its key, and Discord shows it once.
func TestSend_G5_ShownOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.fake.Script(discordtest.Fault{Done: true, Drop: true})
	part := channels.Part{Chat: inGuild, Text: "hello", Key: "k"}
	if _, err := b.Send(t.Context(), part); channels.ClassOf(err) != channels.Unknown {
		t.Fatalf("a lost answer: %v", err)
	}
	id := b.mustSend(part)
	if shown := b.fake.Bots(discordtest.TextID); len(shown) != 1 || channels.MessageID(shown[0].ID) != id {
		t.Errorf("shown: %+v, told %s", shown, id)
	}
}

// TestEdit_B21_LongAfterThePress: an edit goes by the message, not by the
// interaction, whose token has died.
func TestEdit_B21_LongAfterThePress(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{14 * time.Minute, 16 * time.Minute, 26 * time.Hour} {
		b := newBed(t)
		b.run()
		b.connected()
		id := b.mustSend(channels.Part{Chat: inGuild, Text: "sure?", Buttons: yesNo(), Key: "q"})
		b.clock.forward(14 * time.Minute)
		b.fake.Press(ana, discordtest.TextID, string(id), string(yesNo()[0].ID))
		if in := b.next(); in.Kind != channels.KindPress || in.Button != yesNo()[0].ID {
			t.Fatalf("received %+v", in)
		}
		b.clock.forward(after)
		if err := b.Edit(t.Context(), id, channels.Part{Chat: inGuild, Text: "sure?\n→ Sí @everyone"}); err != nil {
			t.Errorf("after %s: %v", after, err)
		}
		if m := b.fake.Bots(discordtest.TextID)[0]; m.Content != "sure?\n→ Sí @everyone" || len(m.Buttons) != 0 || m.Pings {
			t.Errorf("shown: %+v", m)
		}
	}
}

// Only Discord's own errors say something of the token, the chat or the message.
func TestSend_G5_ForeignAnswers(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, f := range channeltest.Foreigners() {
		fault := discordtest.Fault{Status: f.Status, Raw: f.Body + " "}
		for what, call := range map[string]func() error{
			"send": func() error {
				_, err := b.Send(t.Context(), channels.Part{Chat: inGuild, Text: "x", Key: "k"})
				return err
			},
			"edit": func() error { return b.Edit(t.Context(), "777", channels.Part{Chat: inGuild, Text: "x"}) },
		} {
			b.fake.Script(fault)
			if se, ok := errors.AsType[*channels.SendError](call()); !ok || se.Class != f.Want {
				t.Errorf("%s, %d %s: %v, want %s", what, f.Status, f.Body, se, f.Want)
			}
		}
	}
}

func TestErrors_Classes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault discordtest.Fault
		want  channels.SendClass
		after time.Duration
	}{
		{discordtest.Fault{Status: 404, Code: 10003, Message: "Unknown Channel"}, channels.PermanentChat, 0},
		{discordtest.Fault{Status: 403, Code: 50001, Message: "Missing Access"}, channels.PermanentChat, 0},
		{discordtest.Fault{Status: 403, Code: 50013, Message: "Missing Permissions"}, channels.PermanentChat, 0},
		{discordtest.Fault{Status: 403, Code: 50007, Message: "Cannot send messages to this user"}, channels.PermanentChat, 0},
		{discordtest.Fault{Status: 403, Code: 50278, Message: "no mutual guild"}, channels.PermanentChat, 0},
		{discordtest.Fault{Status: 404, Code: 10008, Message: "Unknown Message"}, channels.PermanentMessage, 0},
		{discordtest.Fault{Status: 400, Code: 50083, Message: "Thread is archived"}, channels.PermanentMessage, 0},
		{discordtest.Fault{Status: 400, Code: 20016, Message: "slowmode", RetryAfter: 4}, channels.RateLimited, 4 * time.Second},
		{discordtest.Fault{Status: 429, RetryAfter: 0.25}, channels.RateLimited, 250 * time.Millisecond},
		{discordtest.Fault{Status: 429, RetryAfter: 30, Raw: "<html>You are being rate limited</html>"}, channels.RateLimited, 30 * time.Second},
		{discordtest.Fault{Status: 401, Message: "401: Unauthorized"}, channels.PermanentToken, 0},
		{discordtest.Fault{Status: 403, Raw: "<html>cloudflare</html>"}, channels.Temporary, 0},
		{discordtest.Fault{Status: 403, Code: 160005, Message: "Thread is locked"}, channels.PermanentChat, 0},
		{discordtest.Fault{Status: 401, Code: 50014, Message: "Invalid authentication token provided"}, channels.PermanentToken, 0},
		{discordtest.Fault{Status: 401, Code: 50027, Message: "Invalid Webhook Token"}, channels.PermanentMessage, 0},
		{discordtest.Fault{Status: 404, Code: 10015, Message: "Unknown Webhook"}, channels.PermanentMessage, 0},
		{discordtest.Fault{Status: 404, Code: 10004, Message: "Unknown Guild"}, channels.PermanentChat, 0},
		{discordtest.Fault{Status: 400, Code: 50006, Message: "Cannot send an empty message"}, channels.PermanentMessage, 0},
		{discordtest.Fault{Status: 400, Code: 50035, Message: "Invalid Form Body"}, channels.PermanentMessage, 0},
		{discordtest.Fault{Status: 413, Code: 40005, Message: "Request entity too large"}, channels.PermanentMessage, 0},
		{discordtest.Fault{Status: 429, Code: 20028, RetryAfter: 3}, channels.RateLimited, 3 * time.Second},
		{discordtest.Fault{Status: 429, Code: 30046, RetryAfter: 7.5}, channels.RateLimited, 7500 * time.Millisecond},
		{discordtest.Fault{Status: 403, Code: 40333, Message: "internal network error"}, channels.Temporary, 0},
		{discordtest.Fault{Status: 503, Code: 130000, Message: "API resource is currently overloaded"}, channels.Temporary, 0},
		{discordtest.Fault{Status: 400, Message: "400: Bad Request"}, channels.PermanentMessage, 0},
		{discordtest.Fault{Status: 500, Message: "500: Internal Server Error"}, channels.Temporary, 0},
		{discordtest.Fault{Status: 502, Message: "502: Bad Gateway"}, channels.Unknown, 0},
		{discordtest.Fault{Status: 504, Raw: "timeout"}, channels.Unknown, 0},
	} {
		b := newBed(t)
		if tt.fault.Status == 400 && tt.fault.RetryAfter > 0 {
			tt.fault.Raw = `{"message":"slowmode","code":20016,"retry_after":4}`
		}
		b.fake.Script(tt.fault)
		_, err := b.Send(t.Context(), channels.Part{Chat: inGuild, Text: "x", Key: "k"})
		se, ok := errors.AsType[*channels.SendError](err)
		if !ok || se.Class != tt.want || se.After != tt.after {
			t.Errorf("%d %d: %v (after %s), want %s, %s", tt.fault.Status, tt.fault.Code, err, se.After, tt.want, tt.after)
		}
		if n := len(b.fake.Calls("/messages")); n != 1 {
			t.Errorf("%d %d: %d calls, want one", tt.fault.Status, tt.fault.Code, n)
		}
	}
}

// TestSend_NoOtherHostGetsTheToken, not even one that Discord names.
func TestSend_NoOtherHostGetsTheToken(t *testing.T) {
	t.Parallel()
	var called atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) }))
	t.Cleanup(other.Close)
	moved := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(moved.Close)
	a, err := discord.New(discord.Config{Token: secret.New(discordtest.Token()), APIURL: moved.URL},
		discord.Deps{Host: channeltest.NewHost(), Log: slog.New(slog.DiscardHandler), Name: "dc"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Send(t.Context(), channels.Part{Chat: inGuild, Text: "x"}); channels.ClassOf(err) != channels.Temporary {
		t.Errorf("send: %v", err)
	}
	if n := called.Load(); n != 0 {
		t.Errorf("the other host was called %d times", n)
	}
}

func TestSend_NotOurs(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for name, part := range map[string]channels.Part{
		"another platform's chat": {Chat: channels.Chat{ID: "../users/@me"}, Text: "x"},
		"private in a group":      {Chat: inGuild, Text: "x", Private: "1"},
	} {
		if _, err := b.Send(t.Context(), part); channels.ClassOf(err) != channels.PermanentMessage {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(b.fake.Calls()); n != 0 {
		t.Errorf("%d calls were made", n)
	}
}

func TestTyping(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.Typing(t.Context(), inGuild, time.Time{})
	b.Typing(t.Context(), inGuild, b.clock.now().Add(time.Minute))
	if n := len(b.fake.Typing()); n != 1 {
		t.Errorf("%d signs, want 1", n)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	if account, err := b.Check(t.Context()); err != nil || !strings.Contains(account, "parley (id "+discordtest.BotID) {
		t.Errorf("%q, %v", account, err)
	}
	b.fake.UseEndpoint("https://bot.example.com/webhooks/dc")
	if _, err := b.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "interactions endpoint is set") {
		t.Errorf("an endpoint is set in gateway mode: %v", err)
	}
	b.fake.RevokeToken()
	if _, err := b.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "Reset Token") {
		t.Errorf("a revoked token: %v", err)
	}
	off := newBed(t, func(_ *discord.Config, o *discordtest.Options) { o.NoContent = true })
	if _, err := off.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "message content intent is off") {
		t.Errorf("an intent that is off: %v", err)
	}
}

// TestCommands_WhenDiscordWasAwayAtFirst: they are registered as soon as it is
// there.
func TestCommands_WhenDiscordWasAwayAtFirst(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.fake.Script(discordtest.Fault{Holding: []string{"GET", "/applications/@me"}, Status: 500}, discordtest.Fault{Holding: []string{"/gateway/bot"}, Status: 503})
	b.run()
	b.wait("no commands", func() bool { return b.fake.Commands() != "" })
}

func TestCommands_RegisteredOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for range 2 {
		stop := b.run()
		b.connected()
		for !b.logs.Has("commands registered") {
			b.fake.Say(ana, discordtest.TextID, "x", nil)
			b.next()
		}
		b.RegisterCommands(t.Context())
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		b.restart()
	}
	if n := len(b.fake.Calls(http.MethodPut, "/commands")); n != 1 {
		t.Errorf("registered %d times", n)
	}
	for _, name := range []string{"ask", "reset", "cancel", "lang", "help", "start"} {
		if !strings.Contains(b.fake.Commands(), `"name":"`+name+`"`) {
			t.Errorf("%s is missing in %s", name, b.fake.Commands())
		}
	}
}
