package app

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/httpserver"
)

// Each channel tells when it last received, sent and failed; no failure's text
// gets out that way.
func TestHealth_TellsOfTraffic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHealth([]instance{{name: "a"}}, prometheus.NewRegistry())
		begun := time.Now().UTC()
		at := func(n int) time.Time { return begun.Add(time.Duration(n) * time.Second) }
		check := func(want httpserver.ChannelState) {
			t.Helper()
			same(t, want, h.report()["a"])
		}
		step := func() { <-time.After(time.Second) }
		h.up("a")
		want := httpserver.ChannelState{Up: true, State: "up", ConnectedSince: at(0)}
		check(want)
		step()
		h.heard("a")
		want.LastInbound = at(1)
		check(want)
		step()
		h.sent("a", nil)
		want.LastOutbound = at(2)
		check(want)
		step()
		h.sent("a", &channels.SendError{Class: channels.RateLimited, Err: errors.New("canary")})
		want.LastError = &httpserver.ChannelError{At: at(3), Doing: "send", Class: "rate_limited"}
		check(want)
		step()
		h.down("a", &channels.SendError{Class: channels.PermanentToken, Err: errors.New("refused")})
		got := h.report()["a"]
		same(t, &httpserver.ChannelError{At: at(4), Doing: "receive", Class: "permanent_token"}, got.LastError)
		if !got.ConnectedSince.IsZero() || got.Up {
			t.Errorf("down, but %+v", got)
		}
		h.up("a")
		h.down("a", nil)
		same(t, at(4), h.report()["a"].LastError.At)
		if text, err := json.Marshal(h.report()); err != nil || strings.Contains(string(text), "canary") {
			t.Errorf("%s, %v", text, err)
		}
	})
}

func TestHealth_Pairing(t *testing.T) {
	t.Parallel()
	for state, want := range map[channels.LinkState]string{
		channels.LinkUp: "linked", channels.LinkConnecting: "linked", channels.LinkPairing: "needed", channels.LinkLoggedOut: "needed",
	} {
		s := standing{pairs: true, was: true, link: channels.Link{State: state}}
		if got := s.pairing(); got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
		s.pairs = false
		if got := s.pairing(); got != "" {
			t.Errorf("without pairing, %s: %q", state, got)
		}
	}
	if got := (standing{pairs: true, link: channels.Link{State: channels.LinkConnecting}}).pairing(); got != "" {
		t.Errorf("before the first connection: %q", got)
	}
}

// A message and its answer show in the channel's health, through a whole bot.
func TestHealth_OfATalk(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, m := range []string{"inbound", "outbound"} {
		if got := b.metric("parley_channel_last_" + m + "_timestamp_seconds"); got != 0 {
			t.Errorf("last %s before any: %v", m, got)
		}
	}
	b.model.then(says("hello"))
	b.say("hi")
	b.wants(1, "hello")
	b.until("sent", func() bool {
		s := b.app.health.report()["fake"]
		return !s.LastInbound.IsZero() && !s.LastOutbound.IsZero() && s.LastError == nil
	})
}
