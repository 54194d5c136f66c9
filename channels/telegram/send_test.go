package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/telegram/telegramtest"
)

var toAna = channels.Chat{ID: "42"}

func yesNo() []channels.Button {
	return []channels.Button{
		{ID: channels.ButtonID(strings.Repeat("y", 64)), Label: "Sí", Value: "yes"},
		{ID: channels.ButtonID(strings.Repeat("n", 64)), Label: "No", Value: "no"},
	}
}

func (b *bed) send(part channels.Part) (channels.Receipt, error) {
	b.t.Helper()
	return b.Send(b.t.Context(), part)
}

func (b *bed) mustSend(part channels.Part) channels.MessageID {
	b.t.Helper()
	r, err := b.send(part)
	if err != nil {
		b.t.Fatalf("Send: %v", err)
	}
	return r.ID
}

func classOf(t *testing.T, err error) channels.SendClass {
	t.Helper()
	if _, ok := errors.AsType[*channels.SendError](err); !ok {
		t.Fatalf("%v is no SendError", err)
	}
	return channels.ClassOf(err)
}

func TestSend_WhatTelegramIsTold(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.fake.AddGroup(-1001234567890, "supergroup", 5)
	to := channels.Chat{ID: "-1001234567890", Group: true, Thread: "5"}
	b.mustSend(channels.Part{Chat: to, Text: "<b>sure?</b> &amp; https://example.com", Markup: channels.MarkupHTML, Buttons: yesNo(), ReplyTo: "999"})
	c := b.fake.Calls("sendMessage")[0]
	want := map[string]any{
		"chat_id": int64(-1001234567890), "message_thread_id": int64(5), "text": "<b>sure?</b> &amp; https://example.com", "parse_mode": "HTML",
		"link_preview_options": map[string]any{"is_disabled": true},
	}
	got := map[string]any{}
	for k := range want {
		got[k] = c.Params[k]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m := b.fake.Messages(-1001234567890)[0]
	if m.Text != "sure? & https://example.com" || len(m.Buttons) != 2 || m.Buttons[0].Text != "Sí" || m.Thread != 5 {
		t.Errorf("shown: %+v", m)
	}
}

// A message that was sent is sent, whatever Telegram adds to its answer.
func TestSend_AnswerWithPartsOfANewKind(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	id := b.fake.Say(ana, "hi", nil)
	b.mustSend(channels.Part{Chat: toAna, Text: "hello", ReplyTo: channels.MessageID(fmt.Sprint(id))})
	if m := b.fake.Messages(42); len(m) != 1 || m[0].ReplyTo != id {
		t.Errorf("shown: %+v", m)
	}
}

func TestSend_Mistake01_MarkupThatIsRefused(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	_, err := b.send(channels.Part{Chat: toAna, Text: "<b>cut <i>here", Markup: channels.MarkupHTML, Plain: "cut here"})
	// The class that makes the outbox send Part.Plain.
	if classOf(t, err) != channels.PermanentMessage || !strings.Contains(err.Error(), "can't parse entities") {
		t.Errorf("error %v", err)
	}
	if n := len(b.fake.Calls("sendMessage")); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
}

func TestSend_Mistake02_LimitCountsUTF16AfterParsing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text   string
		markup channels.Markup
		ok     bool
	}{
		"4096 letters":           {strings.Repeat("é", 4096), "", true},
		"4097 letters":           {strings.Repeat("é", 4097), "", false},
		"2048 emoji":             {strings.Repeat("🥐", 2048), "", true},
		"2049 emoji":             {strings.Repeat("🥐", 2049), "", false},
		"tags don't count":       {"<b>" + strings.Repeat("x", 4096) + "</b>", channels.MarkupHTML, true},
		"entities count once":    {strings.Repeat("&amp;", 4096), channels.MarkupHTML, true},
		"the raw text has a cap": {strings.Repeat("<b></b>", 5000) + "x", channels.MarkupHTML, false},
	} {
		b := newBed(t)
		_, err := b.send(channels.Part{Chat: toAna, Text: tt.text, Markup: tt.markup})
		if tt.ok != (err == nil) || err != nil && classOf(t, err) != channels.PermanentMessage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSend_Mistake03_PlainTextIsNotEscaped(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const text = `1 < 2 && *x* _y_ [z](q) \- <b>`
	b.mustSend(channels.Part{Chat: toAna, Text: text})
	if m := b.fake.Messages(42)[0]; m.Text != text {
		t.Errorf("shown %q", m.Text)
	}
	if c := b.fake.Calls("sendMessage")[0]; c.Params["parse_mode"] != nil {
		t.Errorf("parse_mode %v", c.Params["parse_mode"])
	}
}

func TestSend_Mistake04_CallbackDataCountsBytes(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	button := func(id string) []channels.Button { return []channels.Button{{ID: channels.ButtonID(id), Label: "x"}} }
	b.mustSend(channels.Part{Chat: toAna, Text: "?", Buttons: button(strings.Repeat("é", 32))})
	for _, id := range []string{"", strings.Repeat("é", 33), strings.Repeat("x", 65)} {
		if _, err := b.send(channels.Part{Chat: toAna, Text: "?", Buttons: button(id)}); classOf(t, err) != channels.PermanentMessage {
			t.Errorf("id %q: %v", id, err)
		}
	}
	if n := len(b.fake.Calls("sendMessage")); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
}

func TestEdit_B21_TakesButtonsAway(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	id := b.mustSend(channels.Part{Chat: toAna, Text: "sure?", Buttons: yesNo()})
	if err := b.Edit(t.Context(), id, channels.Part{Chat: toAna, Text: "sure? → Sí"}); err != nil {
		t.Fatal(err)
	}
	if m := b.fake.Messages(42)[0]; m.Text != "sure? → Sí" || len(m.Buttons) != 0 {
		t.Errorf("shown: %+v", m)
	}
}

func TestEdit_Mistake05_NotModifiedIsSuccess(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	id := b.mustSend(channels.Part{Chat: toAna, Text: "same"})
	if err := b.Edit(t.Context(), id, channels.Part{Chat: toAna, Text: "same"}); err != nil {
		t.Error(err)
	}
	if c := b.fake.Calls("editMessageText")[0]; c.Code != 400 {
		t.Error("the platform took it as a change; the test proves nothing")
	}
	for _, id := range []channels.MessageID{"9999", "x", "", "-1"} {
		if err := b.Edit(t.Context(), id, channels.Part{Chat: toAna, Text: "y"}); classOf(t, err) != channels.PermanentMessage {
			t.Errorf("message %q: %v", id, err)
		}
	}
}

func TestSend_Mistake10_GroupThatMoved(t *testing.T) {
	t.Parallel()
	const from, to = -500, -1009876543210
	old := channels.Chat{ID: "-500", Group: true}
	for _, told := range []bool{false, true} {
		t.Run(fmt.Sprintf("told by a service message %v", told), func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.fake.AddGroup(from, "group")
			before := b.mustSend(channels.Part{Chat: old, Text: "before", Buttons: yesNo()})
			b.fake.Migrate(from, to, told)
			if told {
				b.run()
				b.confirmed()
				b.nothing()
			} else if _, err := b.send(channels.Part{Chat: old, Text: "after"}); classOf(t, err) != channels.Temporary {
				t.Fatalf("first attempt: %v; want it to be made again", err)
			}
			calls := len(b.fake.Calls("sendMessage"))
			id := b.mustSend(channels.Part{Chat: old, Text: "after", ReplyTo: before})
			if n := len(b.fake.Calls("sendMessage")) - calls; n != 1 {
				t.Errorf("%d calls, want 1", n)
			}
			if err := b.Edit(t.Context(), id, channels.Part{Chat: old, Text: "after, edited"}); err != nil {
				t.Errorf("Edit: %v", err)
			}
			if m := b.fake.Messages(to); len(m) != 1 || m[0].Text != "after, edited" || m[0].ReplyTo != 0 {
				t.Errorf("in the new chat: %+v", m)
			}
			if err := b.Edit(t.Context(), before, channels.Part{Chat: old, Text: "x"}); classOf(t, err) != channels.PermanentMessage {
				t.Errorf("edit of what stayed behind: %v", err)
			}
			// A new process knows it.
			b.restart(cfgFor(b))
			b.mustSend(channels.Part{Chat: old, Text: "later"})
			if m := b.fake.Messages(to); len(m) != 2 {
				t.Errorf("in the new chat: %+v", m)
			}
		})
	}
}

func TestSend_Mistake11_GeneralIsNoThread(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.fake.AddGroup(-1001, "supergroup")
	for _, thread := range []channels.ThreadID{"", "1", "x"} {
		b.mustSend(channels.Part{Chat: channels.Chat{ID: "-1001", Group: true, Thread: thread}, Text: "x"})
	}
	_, err := b.send(channels.Part{Chat: channels.Chat{ID: "-1001", Group: true, Thread: "77"}, Text: "x"})
	if classOf(t, err) != channels.PermanentMessage {
		t.Errorf("unknown topic: %v", err)
	}
}

func TestSend_G5_ErrorClasses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code int
		text string
		want channels.SendClass
	}{
		{403, "Forbidden: bot was blocked by the user", channels.PermanentChat},
		{403, "Forbidden: user is deactivated", channels.PermanentChat},
		{403, "Forbidden: bot was kicked from the supergroup chat", channels.PermanentChat},
		{403, "Forbidden: bot can't initiate conversation with a user", channels.PermanentChat}, // mistake 14
		{400, "Bad Request: chat not found", channels.PermanentChat},
		{400, "Bad Request: CHAT_WRITE_FORBIDDEN", channels.PermanentChat},
		{400, "Bad Request: not enough rights to send text messages to the chat", channels.PermanentChat},
		{400, "Bad Request: message text is empty", channels.PermanentMessage},
		{400, "Bad Request: BUTTON_DATA_INVALID", channels.PermanentMessage},
		{413, "Request Entity Too Large", channels.PermanentMessage},
		{401, "Unauthorized", channels.PermanentToken},
		{404, "Not Found", channels.PermanentToken},
		{409, "Conflict: x", channels.Temporary},
		{429, "Too Many Requests: retry after 1", channels.RateLimited},
		{500, "Internal Server Error", channels.Temporary},
		{502, "Bad Gateway", channels.Unknown}, // the API's own form, of what stands before it
		{503, "Service Unavailable", channels.Temporary},
		{504, "Gateway Timeout", channels.Unknown},
	} {
		b := newBed(t)
		b.fake.Script(telegramtest.Fault{Code: tt.code, Description: tt.text})
		_, err := b.send(channels.Part{Chat: toAna, Text: "x"})
		if got := classOf(t, err); got != tt.want {
			t.Errorf("%d %s: %s, want %s", tt.code, tt.text, got, tt.want)
		}
	}
	for _, tt := range []struct {
		status int
		raw    string
		want   channels.SendClass
	}{
		{403, "<html>blocked by a proxy", channels.Temporary},
		{502, "<html>", channels.Unknown},
		{504, "<html>", channels.Unknown},
		{302, "moved", channels.Temporary},
		{413, "<html>", channels.PermanentMessage},
		{200, "", channels.Unknown},
		{200, "{}", channels.Unknown},
		{200, "[]", channels.Unknown},
		{200, `{"ok":true}`, channels.Unknown},
		{200, `{"ok":true,"result":true}`, channels.Unknown},
		{200, `{"ok":true,"result":{"message_id":0}}`, channels.Unknown},
		{403, `{"ok":false,"description":"Forbidden: bot was blocked by the user"}`, channels.PermanentChat},
	} {
		b := newBed(t)
		b.fake.Script(telegramtest.Fault{Status: tt.status, Raw: tt.raw + " "})
		_, err := b.send(channels.Part{Chat: toAna, Text: "x"})
		if got := classOf(t, err); got != tt.want {
			t.Errorf("%d %s: %s, want %s", tt.status, tt.raw, got, tt.want)
		}
	}
}

// Only Telegram's own errors say something of the token, the chat or the message.
func TestSend_G5_ForeignAnswers(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, f := range channeltest.Foreigners() {
		fault := telegramtest.Fault{Status: f.Status, Raw: f.Body + " "}
		b.fake.Script(fault, fault)
		_, err := b.send(channels.Part{Chat: toAna, Text: "x"})
		if got := classOf(t, err); got != f.Want {
			t.Errorf("send, %d %s: %s, want %s", f.Status, f.Body, got, f.Want)
		}
		err = b.Edit(t.Context(), "1", channels.Part{Chat: toAna, Text: "x"})
		if got := classOf(t, err); got != f.Want {
			t.Errorf("edit, %d %s: %s, want %s", f.Status, f.Body, got, f.Want)
		}
	}
}

func TestSend_NoCallForWhatCanNotBe(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	_, err := b.send(channels.Part{Chat: channels.Chat{ID: "web"}, Text: "x"})
	if classOf(t, err) != channels.PermanentChat {
		t.Errorf("foreign chat: %v", err)
	}
	_, err = b.send(channels.Part{Chat: channels.Chat{ID: "-5", Group: true}, Private: "42", Text: "x"})
	if classOf(t, err) != channels.PermanentMessage {
		t.Errorf("private part in a group: %v", err)
	}
	if n := len(b.fake.Calls()); n != 0 {
		t.Errorf("%d calls", n)
	}
}

// A context that ends before the request has left means that nothing was
// sent; afterwards nobody knows.
func TestSend_G5_OutcomeAfterTheRequestHasLeft(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	hold := make(chan struct{})
	defer close(hold)
	b.fake.Script(telegramtest.Fault{Hold: hold, Done: true})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		b.wait("not called", func() bool { return b.fake.Held() > 0 })
		cancel()
	}()
	if _, err := b.Send(ctx, channels.Part{Chat: toAna, Text: "x"}); classOf(t, err) != channels.Unknown {
		t.Errorf("cancelled under way: %v", err)
	}
	if _, err := b.Send(ctx, channels.Part{Chat: toAna, Text: "x"}); classOf(t, err) != channels.Temporary {
		t.Errorf("cancelled before: %v", err)
	}
}

// The token is part of the URL: another host must not get it.
func TestSend_RedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 8)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	defer other.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer first.Close()
	b := newBed(t)
	cfg := cfgFor(b)
	cfg.APIURL = first.URL
	b.restart(cfg)
	if _, err := b.send(channels.Part{Chat: toAna, Text: "x"}); classOf(t, err) != channels.Temporary {
		t.Errorf("error %v", err)
	}
	if len(asked) != 0 {
		t.Errorf("another host was sent %s", <-asked)
	}
}

// A server that sends back what it was asked must not bring the token into a
// log.
func TestSend_TokenInNoError(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"%s\r\n\r\n", "HTTP/1.1 %s\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n%s", "HTTP/1.1 400 X\r\nConnection: close\r\n\r\n{\"ok\":false,\"error_code\":400,\"description\":\"%s\"}"} {
		echo := echoing(t, answer)
		b := newBed(t)
		cfg := cfgFor(b)
		cfg.APIURL = echo
		b.restart(cfg)
		_, err := b.send(channels.Part{Chat: toAna, Text: "x"})
		_, checkErr := b.Check(t.Context())
		hookErr := b.RegisterWebhook(t.Context(), "")
		for _, err := range []error{err, checkErr, hookErr} {
			for e := err; e != nil; e = errors.Unwrap(e) {
				if text := fmt.Sprintf("%v %+v %#v", e, e, e); strings.Contains(text, telegramtest.Token) {
					t.Errorf("answer %q: %s", answer, text)
				}
			}
			if err == nil {
				t.Errorf("answer %q: no error", answer)
			}
		}
	}
}

func TestTyping(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.Typing(t.Context(), toAna, time.Now().Add(5*time.Second))
	b.Typing(t.Context(), toAna, time.Time{})
	b.Typing(t.Context(), toAna, time.Now().Add(-time.Second))
	b.Typing(t.Context(), channels.Chat{ID: "nowhere"}, time.Now().Add(time.Second))
	if c := b.fake.Calls(); len(c) != 1 || c[0].Method != "sendChatAction" || c[0].Str("action") != "typing" || c[0].Int("chat_id") != 42 {
		t.Errorf("calls: %+v", c)
	}
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	want := channels.Capabilities{
		TextMax: 4096, Unit: channels.UnitUTF16, Markup: channels.MarkupHTML, Buttons: &channels.ButtonLimits{Max: 8, LabelMax: 64, IDBytes: 64},
		Edit: channels.EditLimits{Text: true, MinInterval: time.Second, Draft: 1500 * time.Millisecond}, Typing: 5 * time.Second, Private: true, Threads: true,
	}
	if diff := cmp.Diff(want, b.Capabilities(toAna)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
