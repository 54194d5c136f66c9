package app

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-bot/parley/channels"
)

// A channel that lost its connection is ready for a while longer, one that
// waits for a person or has failed isn't; all of it shows in the state.
func TestHealth_States(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHealth([]instance{{name: "a"}}, prometheus.NewRegistry())
		for i, tc := range []struct {
			do    func()
			up    bool
			state channels.LinkState
		}{
			{func() {}, false, channels.LinkConnecting},
			{func() { h.linked("a", channels.Link{State: channels.LinkUp}) }, true, channels.LinkUp},
			{func() { h.linked("a", channels.Link{State: channels.LinkConnecting, Detail: "lost"}) }, true, channels.LinkConnecting},
			{func() { <-time.After(grace) }, false, channels.LinkConnecting},
			{func() { h.linked("a", channels.Link{State: channels.LinkUp}) }, true, channels.LinkUp},
			{func() { h.linked("a", channels.Link{State: channels.LinkBanned, Detail: "x"}) }, false, channels.LinkBanned},
			// Ending by it, and being started again, doesn't change what there is to do.
			{func() { h.down("a", errors.New("banned")) }, false, channels.LinkBanned},
			{func() { h.up("a"); h.down("a", errors.New("refused")) }, false, channels.LinkFailed},
			{func() { h.up("a"); h.down("a", nil) }, false, channels.LinkFailed},
		} {
			tc.do()
			if got := h.report()["a"]; got.Up != tc.up || got.State != string(tc.state) {
				t.Errorf("step %d: %+v, want up %v, %s", i, got, tc.up, tc.state)
			}
		}
	})
}

// TestAlert: who is named in alerts.chat is told of a channel that is away for
// longer than alerts.after, once, and when it is back.
func TestAlert(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(b *bed) { b.yaml += "alerts: {chat: \"web:ops\", after: 50ms}\n" })
	said := func(n int, text string) {
		t.Helper()
		b.until(text, func() bool {
			var count int
			b.row(`SELECT count(*) FROM outbox WHERE chat='web:ops'`, nil, &count)
			return count == n
		})
		var payload string
		b.row(`SELECT payload FROM outbox WHERE chat='web:ops' ORDER BY seq DESC LIMIT 1`, nil, &payload)
		if !strings.Contains(payload, text) {
			t.Errorf("queued is %s, want %q", payload, text)
		}
	}
	a := b.app
	a.health.down("fake", errors.New("the token is refused"))
	said(1, "The channel fake isn't working. failed: the token is refused")
	a.health.linked("fake", channels.Link{State: channels.LinkConnecting, Detail: "trying"}) // no news
	a.health.linked("fake", channels.Link{State: channels.LinkBanned, Detail: "for ever"})
	said(2, "The channel fake isn't working. banned: for ever")
	a.health.up("fake")
	said(3, "The channel fake is working again.")
	if err := b.configure(b.yaml + "bot: {lang: es}\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Reload(b.ctx); err != nil {
		t.Fatal(err)
	}
	a.health.linked("fake", channels.Link{State: channels.LinkBanned, Detail: "for ever"})
	said(4, "El canal fake no funciona. banned: for ever")
}
