package telegram_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/telegram"
	"github.com/parley-bot/parley/channels/telegram/telegramtest"
)

// conformance is a case of the suite; deliver gives an update to the platform
// and tells whether the adapter took it.
func conformance(b *bed, deliver func(kind string, body map[string]any) bool) channeltest.Case {
	ids := map[string]int64{}
	chat := map[string]any{"id": ana.ID, "type": "private"}
	from := map[string]any{"id": ana.ID, "is_bot": false, "first_name": "Ana", "language_code": "es"}
	return channeltest.Case{
		Adapter: b.Adapter, Chat: channels.Chat{ID: "42"}, Secrets: []string{telegramtest.Token, hookSecret},
		Close: b.fake.Close,
		Deliver: func(_ *testing.T, id, text string) bool {
			if ids[id] == 0 {
				ids[id] = int64(len(ids) + 1)
			}
			return deliver("message", map[string]any{"message_id": ids[id], "date": 1700000000, "chat": chat, "from": from, "text": text})
		},
		Press: func(_ *testing.T, button channels.ButtonID) bool {
			return deliver("callback_query", map[string]any{
				"id": "777", "from": from, "chat_instance": "1", "data": string(button),
				"message": map[string]any{"message_id": 9, "date": 1700000000, "chat": chat, "text": "?"},
			})
		},
		Calls: func() int { return len(b.fake.Calls("sendMessage", "editMessageText")) },
		Shown: func() []string {
			var out []string
			for _, m := range b.fake.Messages(ana.ID) {
				out = append(out, m.Text)
			}
			return out
		},
		Fail: func(f channeltest.Fault) bool {
			faults := map[channeltest.Fault]telegramtest.Fault{
				channeltest.FaultTooLong:   {Code: 400, Description: "Bad Request: message is too long"},
				channeltest.FaultBlocked:   {Code: 403, Description: "Forbidden: bot was blocked by the user"},
				channeltest.FaultToken:     {Code: 401, Description: "Unauthorized"},
				channeltest.FaultRate:      {Code: 429, Description: "Too Many Requests: retry after 7", RetryAfter: int(channeltest.FaultAfter / time.Second)},
				channeltest.FaultServer:    {Status: 502, Raw: "<html>Bad Gateway " + telegramtest.Token + "</html>"},
				channeltest.FaultLost:      {Drop: true},
				channeltest.FaultMalformed: {Raw: `{"ok":true,"result":{"message_id":`},
			}
			switch fault, ok := faults[f]; {
			case ok:
				b.fake.Script(fault)
				return true
			case f == channeltest.FaultRefused:
				b.dead.CutNext(1)
				return true
			}
			return f == channeltest.FaultNoChange // the platform's own
		},
	}
}

// settled waits until the adapter has begun, so that its first calls are over
// when the suite cuts the connection.
func (b *bed) settled() {
	b.wait("the adapter has not begun", func() bool { return len(b.fake.Calls("setMyCommands")) == 3 })
}

func TestConformance_Polling(t *testing.T) {
	channeltest.Run(t, channeltest.Setup{New: func(t *testing.T) channeltest.Case {
		b := newBed(t)
		c := conformance(b, func(kind string, body map[string]any) bool {
			b.settled()
			id := b.fake.Push(kind, body)
			b.wait("not confirmed", func() bool { return !slices.Contains(b.fake.Unconfirmed(), id) })
			select {
			case <-b.rests: // the core had refused it first
				return false
			default:
				return true
			}
		})
		c.Serve = func(http.Handler) {}
		settle(b, &c)
		return c
	}})
}

func TestConformance_Webhook(t *testing.T) {
	channeltest.Run(t, channeltest.Setup{New: func(t *testing.T) channeltest.Case {
		b := newBed(t, webhook)
		srv := httptest.NewUnstartedServer(nil)
		c := conformance(b, func(kind string, body map[string]any) bool {
			code, _, err := b.fake.DeliverTo(t.Context(), srv.URL, hookSecret, kind, body)
			if err != nil {
				t.Fatal(err)
			}
			return code == http.StatusOK
		})
		c.Serve = func(h http.Handler) {
			srv.Config.Handler = h
			srv.Start()
		}
		c.Close = func() { b.fake.Close(); srv.Close() }
		settle(b, &c)
		return c
	}})
}

// settle lets faults wait until the adapter has begun.
func settle(b *bed, c *channeltest.Case) {
	fail := c.Fail
	c.Fail = func(f channeltest.Fault) bool {
		b.settled()
		b.wait("not waiting", func() bool {
			return len(b.fake.Calls("getWebhookInfo")) > 0 || b.fake.Polling()
		})
		return fail(f)
	}
}

var _ channels.Adapter = (*telegram.Adapter)(nil)
