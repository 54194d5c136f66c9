package webchat_test

import (
	"context"
	"testing"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/webchat"
)

func TestPress_B20_AnswersWithItsOutcome(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		acks []channels.PressAck
		want string
	}{
		"accepted":          {[]channels.PressAck{{Outcome: channels.PressAccepted}}, `{"outcome":"accepted"}`},
		"stale":             {[]channels.PressAck{{Outcome: channels.PressStale}}, `{"outcome":"stale"}`},
		"not yours":         {[]channels.PressAck{{Outcome: channels.PressNotYours, Notice: "Not yours."}}, `{"outcome":"not_yours","notice":"Not yours."}`},
		"undecided":         {[]channels.PressAck{{Outcome: channels.PressPending}}, `{"outcome":"accepted"}`},
		"never told":        {nil, `{"outcome":"stale"}`},
		"first one decides": {[]channels.PressAck{{Outcome: channels.PressAccepted}, {Outcome: channels.PressStale}}, `{"outcome":"accepted"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChat(t, webchat.Config{})
			v := c.begin("en")
			c.onAccept(func(ctx context.Context, in channels.Inbound) error {
				for i, ack := range tc.acks {
					if err := c.adapter.Ack(ctx, in, ack); (err != nil) != (i > 0) {
						t.Errorf("ack %d: %v", i, err)
					}
				}
				return nil
			})
			status, body := v.call("POST", "/chat/api/press", `{"button":"0123456789abcdef"}`)
			if status != 200 || body != tc.want {
				t.Errorf("%d %s, want 200 %s", status, body, tc.want)
			}
			in := c.accepted()[0]
			if in.Kind != channels.KindPress || in.Button != "0123456789abcdef" || in.Chat != v.at() {
				t.Errorf("accepted %+v", in)
			}
		})
	}
}

// A press is told with the session it came from, so that the core can refuse
// one on another session's button (interface, settled detail 4).
func TestPress_B26_EachPressIsItsOwn(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{})
	a, b := c.begin("en"), c.begin("en")
	for _, v := range []visitor{a, a, b} {
		v.call("POST", "/chat/api/press", `{"button":"0123456789abcdef"}`)
	}
	got := c.accepted()
	if got[0].ID == got[1].ID || got[0].Handle == got[1].Handle {
		t.Error("two presses share an id or a handle")
	}
	if got[2].Chat != b.at() || got[2].From.ID != channels.UserID(b.session) {
		t.Errorf("the press of %s came as %+v", b.session, got[2])
	}
}

func TestPress_InvalidButtons(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{})
	v := c.begin("en")
	for _, body := range []string{`{}`, `{"button":""}`, `{"button":"a b"}`, `{"button":"é"}`, `{"button":"0123456789012345678901234567890123456789012345678901234567890123456789"}`} {
		if status, out := v.call("POST", "/chat/api/press", body); status != 422 {
			t.Errorf("%s: %d %s, want 422", body, status, out)
		}
	}
	if len(c.accepted()) != 0 {
		t.Error("the core was asked about no button")
	}
}

func TestAck_OfAnotherChannel(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{})
	if err := c.adapter.Ack(t.Context(), channels.Inbound{Kind: channels.KindPress, Handle: "x"}, channels.PressAck{}); err == nil {
		t.Error("a handle of another channel was taken")
	}
}
