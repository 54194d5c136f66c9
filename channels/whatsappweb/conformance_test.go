package whatsappweb_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/whatsappweb/whatsappwebtest"
)

//nolint:paralleltest // the suite looks for goroutines left behind
func TestConformance(t *testing.T) {
	channeltest.Run(t, channeltest.Setup{New: newCase, Leaks: []goleak.Option{
		// A frame that comes while the SDK disconnects waits for a reader
		// that is gone (socket/framesocket.go).
		goleak.IgnoreAnyFunction("go.mau.fi/whatsmeow/socket.(*FrameSocket).frameComplete"),
	}})
}

func newCase(t *testing.T) channeltest.Case {
	t.Helper()
	b := newBed(t)
	known := map[string]bool{}
	return channeltest.Case{
		Adapter: b.Adapter, Chat: channels.Chat{ID: channels.ChatID(b.ana.Phone)}, Calls: b.fake.Calls, Close: b.fake.Close,
		Deliver: func(_ *testing.T, id, text string) bool {
			if known[id] {
				// The sender's phone heard nothing and sends it once more. (The
				// very same ciphertext the SDK knows by itself.)
				return b.ana.Repeat(id, text).Acked()
			}
			known[id] = true
			return b.ana.Say(id, text).Acked()
		},
		Shown: func() (out []string) {
			for _, m := range b.ana.Shown() {
				out = append(out, m.Text)
			}
			return out
		},
		Fail: func(f channeltest.Fault) bool { return fail(b, f) },
	}
}

// fail makes the server fail. WhatsApp knows no credentials that could be
// refused in the middle, and doesn't say how long to wait.
func fail(b *bed, f channeltest.Fault) bool {
	_ = b.fake.Up() // it may be up
	if !b.fake.WaitActive() || !until(func() bool { return b.Link().State == channels.LinkUp }) {
		b.t.Fatalf("not connected: %s", b.Link())
	}
	switch f {
	case channeltest.FaultTooLong:
		b.fake.Fail(whatsappwebtest.Fault{Code: 479})
	case channeltest.FaultBlocked:
		b.fake.Fail(whatsappwebtest.Fault{Code: 403})
	case channeltest.FaultServer:
		b.fake.Fail(whatsappwebtest.Fault{Code: 503})
	case channeltest.FaultLost:
		b.fake.Fail(whatsappwebtest.Fault{Lost: true})
	case channeltest.FaultRefused:
		b.fake.Down()
		if !until(func() bool { return b.Link().State != channels.LinkUp }) {
			b.t.Fatal("still connected")
		}
	case channeltest.FaultNoChange:
	case channeltest.FaultToken, channeltest.FaultRate, channeltest.FaultMalformed:
		return false
	default:
		return false
	}
	return true
}
