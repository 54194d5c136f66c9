package discord_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/discord/discordtest"
)

// conformance is a case of the suite. say and press make the platform deliver.
func conformance(b *bed, dm string, ready func()) channeltest.Case {
	return channeltest.Case{
		Adapter: b.Adapter, Chat: channels.Chat{ID: channels.ChatID(dm)}, Secrets: []string{discordtest.Token()},
		Close: b.fake.Close,
		Calls: func() int {
			return len(slices.DeleteFunc(b.fake.Calls("/channels/", "/messages"), func(c discordtest.Call) bool { return c.Method == http.MethodGet }))
		},
		Shown: func() []string {
			var out []string
			for _, m := range b.fake.Messages(dm) {
				out = append(out, m.Content)
			}
			return out
		},
		Fail: func(f channeltest.Fault) bool {
			ready()
			faults := map[channeltest.Fault]discordtest.Fault{
				channeltest.FaultTooLong:   {Status: 400, Code: 50035, Message: "Invalid Form Body"},
				channeltest.FaultBlocked:   {Status: 403, Code: 50007, Message: "Cannot send messages to this user"},
				channeltest.FaultToken:     {Status: 401, Message: "401: Unauthorized"},
				channeltest.FaultRate:      {Status: 429, Message: "You are being rate limited.", RetryAfter: channeltest.FaultAfter.Seconds()},
				channeltest.FaultServer:    {Status: 502, Raw: "<html>Bad Gateway " + discordtest.Token() + "</html>"},
				channeltest.FaultLost:      {Drop: true},
				channeltest.FaultMalformed: {Raw: `{"id":`},
			}
			switch fault, ok := faults[f]; {
			case ok:
				b.fake.Script(fault)
				return true
			case f == channeltest.FaultRefused:
				b.dead.CutNext(1)
				return true
			}
			return f == channeltest.FaultNoChange // Discord takes it
		},
	}
}

func TestConformance_Gateway(t *testing.T) { //nolint:paralleltest // it watches for goroutines
	channeltest.Run(t, channeltest.Setup{
		NoAck: true, // the platform isn't told what was taken
		New: func(t *testing.T) channeltest.Case {
			b := newBed(t)
			dm := b.fake.DM(ana)
			ids := map[string]string{}
			c := conformance(b, dm, b.connected)
			c.Serve = func(http.Handler) {}
			c.Deliver = func(_ *testing.T, id, text string) bool {
				b.connected()
				if had, ok := ids[id]; ok {
					b.fake.Again(dm, had)
					return true
				}
				ids[id] = b.fake.Say(ana, dm, text, nil)
				return true
			}
			c.Press = func(_ *testing.T, button channels.ButtonID) bool {
				b.connected()
				id := b.fake.Press(ana, dm, "1", string(button))
				b.wait("not acknowledged", func() bool { kind, _ := b.fake.Answered(id); return kind == 6 })
				return true
			}
			return c
		},
	})
}

func TestConformance_Interactions(t *testing.T) { //nolint:paralleltest // likewise
	channeltest.Run(t, channeltest.Setup{New: func(t *testing.T) channeltest.Case {
		b := newBed(t, interactions)
		dm := b.fake.DM(ana)
		srv := httptest.NewUnstartedServer(nil)
		posted := map[string][]byte{}
		began := func() { b.wait("not begun", func() bool { return b.fake.Commands() != "" }) }
		c := conformance(b, dm, began)
		post := func(id string, begin func() string) bool {
			if posted[id] == nil {
				posted[id] = b.fake.Body(begin())
			}
			code, _, err := b.fake.PostTo(t.Context(), srv.URL, posted[id])
			if err != nil {
				t.Fatal(err)
			}
			return code == http.StatusOK
		}
		c.Deliver = func(_ *testing.T, id, text string) bool {
			return post(id, func() string { return b.fake.Command(ana, dm, "ask", "text", text) })
		}
		c.Press = func(_ *testing.T, button channels.ButtonID) bool {
			return post("press", func() string { return b.fake.Press(ana, dm, "1", string(button)) })
		}
		c.Serve = func(h http.Handler) {
			srv.Config.Handler = h
			srv.Start()
		}
		c.Close = func() { b.fake.Close(); srv.Close() }
		return c
	}})
}
