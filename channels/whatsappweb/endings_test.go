//go:build !race

package whatsappweb_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/whatsappweb/whatsappwebtest"
)

// Not under the race detector: when a server ends a connection, the SDK closes
// its socket while it sends on it (socket/framesocket.go reads conn without
// the lock that Close writes it under). make test runs this package both ways.

// TestSession_Endings: whichever way a connection ends while people write,
// nothing is lost, nothing is given to the core twice that the SDK could tell,
// each chat keeps its order, and the bot's own messages are shown once.
func TestSession_Endings_G1(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end   func(*whatsappwebtest.Server)
		state channels.LinkState
	}{
		"clean close":     {(*whatsappwebtest.Server).Leave, channels.LinkConnecting},
		"TCP reset":       {(*whatsappwebtest.Server).Reset, channels.LinkConnecting},
		"silence":         {(*whatsappwebtest.Server).Silence, channels.LinkConnecting},
		"stream error":    {func(s *whatsappwebtest.Server) { s.StreamError(503) }, channels.LinkConnecting},
		"told to restart": {func(s *whatsappwebtest.Server) { s.StreamError(515) }, channels.LinkConnecting},
		"server restart": {func(s *whatsappwebtest.Server) {
			s.Down()
			_ = s.Up() // the test fails later if it isn't
		}, channels.LinkConnecting},
		"login refused": {func(s *whatsappwebtest.Server) { s.Refuse(503, 0, 0); s.Reset() }, channels.LinkConnecting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t).run().up(1)
			const people, each = 4, 12
			var wg sync.WaitGroup
			for p := range people {
				who := b.fake.Person(fmt.Sprintf("1555222%04d", p), fmt.Sprintf("88000000%04d", p), "P")
				wg.Go(func() {
					for n := range each {
						who.Say(fmt.Sprintf("P%d-%02d", p, n), fmt.Sprint(n))
						if p == 0 && n == each/2 {
							tc.end(b.fake)
						}
					}
				})
			}
			wg.Go(func() {
				for n := range each {
					part := channels.Part{Chat: chatOf(b.ana), Text: fmt.Sprint(n), Key: fmt.Sprint("k", n)}
					if !until(func() bool { _, err := b.Send(t.Context(), part); return err == nil }) {
						t.Errorf("message %d never left", n)
					}
				}
			})
			wg.Wait()
			b.heard(people * each)
			b.told(tc.state)
			b.up(2)
			last := map[channels.ChatID]int{}
			for _, in := range b.sink.got {
				var n int
				if _, err := fmt.Sscan(in.Text, &n); err != nil || n != last[in.Chat.ID] {
					t.Errorf("chat %s: %q came where %d was next", in.Chat.ID, in.Text, last[in.Chat.ID])
				}
				last[in.Chat.ID] = n + 1
			}
			shown := b.ana.Shown()
			for n, m := range shown {
				if m.Text != fmt.Sprint(n) {
					t.Errorf("message %d is %q", n, m.Text)
				}
			}
			if len(b.sink.got) != people*each || len(shown) != each {
				t.Errorf("%d messages in, %d out; want %d and %d", len(b.sink.got), len(shown), people*each, each)
			}
		})
	}
}

// TestSession_States: what only a person or time can end has its own name.
func TestSession_States(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end    func(*whatsappwebtest.Server)
		state  channels.LinkState
		detail string
		until  time.Duration
	}{
		"replaced":    {(*whatsappwebtest.Server).Replace, channels.LinkReplaced, "another program", 0},
		"logged out":  {(*whatsappwebtest.Server).Unlink, channels.LinkLoggedOut, "parley pair", 0},
		"outdated":    {func(s *whatsappwebtest.Server) { s.Refuse(405, 0, 0); s.Reset() }, channels.LinkOutdated, "needs an update", 0},
		"banned":      {func(s *whatsappwebtest.Server) { s.Refuse(402, 101, 3600); s.Reset() }, channels.LinkBanned, "too many", time.Hour},
		"banned ever": {func(s *whatsappwebtest.Server) { s.Refuse(406, 0, 0); s.Reset() }, channels.LinkBanned, "406", 0},
		"locked":      {func(s *whatsappwebtest.Server) { s.Refuse(403, 0, 0); s.Reset() }, channels.LinkLoggedOut, "403", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t).run().up(1)
			tc.end(b.fake)
			l := b.told(tc.state)
			if !strings.Contains(l.Detail, tc.detail) || !l.State.Lasting() {
				t.Errorf("told %s", l)
			}
			if left := time.Until(l.Until); tc.until > 0 && (left > tc.until || left < tc.until-time.Minute) {
				t.Errorf("until %s", l.Until)
			}
			if _, err := b.Send(t.Context(), channels.Part{Chat: chatOf(b.ana), Text: "x", Key: "k"}); channels.ClassOf(err) != channels.Temporary {
				t.Errorf("a message is %v, want one to try again", err)
			}
		})
	}
}

// Somebody who took the connection and left it gives it back, in a while.
func TestSession_ReplacedComesBack(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	waits := b.skipRests()
	b.run().up(1)
	b.fake.Replace()
	b.told(channels.LinkReplaced)
	b.up(2)
	if d := <-waits; d < 30*time.Second {
		t.Errorf("it waited %s", d)
	}
}
