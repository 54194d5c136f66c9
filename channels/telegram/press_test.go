package telegram_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/telegram"
	"github.com/parley-bot/parley/channels/telegram/telegramtest"
	"github.com/parley-bot/parley/internal/secret"
)

func TestPress_B20_AcknowledgedOnceWithItsNotice(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.sink.ack = channels.PressAck{Outcome: channels.PressNotYours, Notice: strings.Repeat("🥐", 300)}
	id := b.mustSend(channels.Part{Chat: toAna, Text: "?", Buttons: yesNo()})
	b.run()
	press := b.fake.Press(42, b.fake.Messages(42)[0].ID, ana, b.fake.Messages(42)[0].Buttons[0].Data)
	in := b.next()
	if in.Button != yesNo()[0].ID || string(in.ID) != press || in.From.ID != "42" || id == "" {
		t.Errorf("received %+v", in)
	}
	b.confirmed()
	calls := b.fake.Calls("answerCallbackQuery")
	if len(calls) != 1 || calls[0].Code != 0 || calls[0].Str("callback_query_id") != press {
		t.Fatalf("calls %+v", calls)
	}
	if text := calls[0].Str("text"); len(utf16.Encode([]rune(text))) != 200 {
		t.Errorf("notice of %d units", len(utf16.Encode([]rune(text))))
	}
	// The core says it twice, or the press is delivered twice: one call.
	if err := b.Ack(t.Context(), in, channels.PressAck{}); err != nil {
		t.Error(err)
	}
	if n := len(b.fake.Calls("answerCallbackQuery")); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
	if err := b.Ack(t.Context(), channels.Inbound{Kind: channels.KindPress}, channels.PressAck{}); err == nil {
		t.Error("a press of nobody's was acknowledged")
	}
}

func TestPress_Mistake12_TooLate(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	press := b.fake.Press(42, 7, ana, "x")
	b.fake.Expire(press)
	b.run()
	b.next() // not offered for ever
	b.confirmed()
	if c := b.fake.Calls("answerCallbackQuery"); len(c) != 1 || !strings.Contains(c[0].Description, "query is too old") {
		t.Errorf("calls %+v", c)
	}
}

func TestPress_Mistake12_AnswerThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.fake.Script(telegramtest.Fault{Method: "answerCallbackQuery", Status: 502, Raw: "<html>"})
	b.fake.Press(42, 7, ana, "x")
	b.run()
	b.next()
	b.confirmed()
	if c := b.fake.Calls("answerCallbackQuery"); len(c) != 2 || c[1].Code != 0 {
		t.Errorf("calls %+v", c)
	}
}

// A process that took a press and died before its offset moved: the next one
// may not be refused for ever.
func TestPress_AnsweredByAnEarlierProcess(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	press := b.fake.Press(42, 7, ana, "x")
	stop := b.run()
	in := b.next()
	b.confirmed()
	_ = stop()
	b.restart(telegram.Config{Token: secret.New(telegramtest.Token), APIURL: b.fake.URL()})
	if err := b.Ack(t.Context(), in, channels.PressAck{}); err != nil {
		t.Errorf("%v", err)
	}
	if string(in.ID) != press {
		t.Errorf("press %q", in.ID)
	}
}

func TestPress_OfNobodysMessageGetsASign(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.fake.Push("callback_query", map[string]any{"id": "5", "from": map[string]any{"id": 42}, "inline_message_id": "z", "data": "x"})
	b.run()
	b.confirmed()
	b.nothing()
	if n := len(b.fake.Calls("answerCallbackQuery")); n != 1 {
		t.Errorf("%d calls", n)
	}
}

func TestPress_InATopic(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.fake.AddGroup(-1001, "supergroup", 5)
	to := channels.Chat{ID: "-1001", Group: true, Thread: "5"}
	b.mustSend(channels.Part{Chat: to, Text: "?", Buttons: yesNo()})
	b.fake.Press(-1001, b.fake.Messages(-1001)[0].ID, ana, "x")
	b.run()
	if in := b.next(); in.Chat != to || !in.Mentioned {
		t.Errorf("received %+v", in)
	}
	b.confirmed()
}

func TestRun_LearnsTheNameAndRegistersCommandsOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	stop := b.run()
	b.settled()
	b.fake.AddGroup(-5, "group")
	b.fake.SayIn(-5, ana, "/reset@parley_bot", map[string]any{"entities": []any{map[string]any{"type": "bot_command", "offset": 0, "length": 17}}})
	if in := b.next(); !in.Mentioned || in.Text != "/reset@parley_bot" {
		t.Errorf("received %+v", in)
	}
	b.confirmed()
	b.logs.Until(t, "commands registered")
	_ = stop()
	if es, en, own := b.fake.Commands("es"), b.fake.Commands("en"), b.fake.Commands(""); es == en || own != es || !strings.Contains(en, `"reset"`) {
		t.Errorf("commands: en %s, es %s, others %s", en, es, own)
	}
	// Later, with Telegram out of order: the name is remembered.
	b.restart(telegram.Config{Token: secret.New(telegramtest.Token), APIURL: b.fake.URL()})
	b.fake.Script(telegramtest.Fault{Method: "getMe", Status: 502, Raw: "<html>", Times: 9})
	b.fake.SayIn(-5, ana, "hi @parley_bot", map[string]any{"entities": []any{map[string]any{"type": "mention", "offset": 3, "length": 11}}})
	b.run()
	if in := b.next(); !in.Mentioned || in.Text != "hi" {
		t.Errorf("received %+v", in)
	}
	b.confirmed()
	if n := len(b.fake.Calls("setMyCommands")); n != 3 {
		t.Errorf("%d registrations of commands, want 3", n)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	got, err := b.Check(t.Context())
	if err != nil || !strings.HasPrefix(got, "@parley_bot (id 4217; in groups it sees commands and replies only") {
		t.Errorf("%q, %v", got, err)
	}
	b.fake.RevokeToken()
	if _, err = b.Check(t.Context()); channels.ClassOf(err) != channels.PermanentToken {
		t.Errorf("%v", err)
	}
}

func TestInstancesAreApart(t *testing.T) {
	t.Parallel()
	one, two := newBed(t), newBed(t, func(c *telegram.Config, o *telegramtest.Options) {
		o.Token, o.BotID, o.Username = "9:other", 9, "other_bot"
		c.Token = secret.New(o.Token)
	})
	one.run()
	two.run()
	one.fake.Say(ana, "to one", nil)
	two.fake.Say(ana, "to two", nil)
	if a, b := one.next(), two.next(); a.Text != "to one" || b.Text != "to two" {
		t.Errorf("received %q, %q", a.Text, b.Text)
	}
	one.nothing()
	two.nothing()
}
