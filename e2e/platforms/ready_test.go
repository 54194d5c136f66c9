package platforms

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/parley-bot/parley/internal/httpserver"
)

// holding are the platforms that a bot is connected to; to the others it is
// connected while it serves.
func holding(name string) bool {
	return name == "telegram_polling" || name == "discord_gateway" || name == "whatsapp_web"
}

// TestReady_TellsHowEachChannelStands: since when it is connected, when it last
// received and sent, what failed last and whether a device is linked; and all
// of it again after the platform was away.
func TestReady_TellsHowEachChannelStands(t *testing.T) {
	t.Parallel()
	for name, on := range open() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := on(t)
			b := &bot{t: t, on: []platform{p}, model: newMind()}
			begun := time.Now()
			b.start()
			up := stands(t, b, func(s httpserver.ChannelState) bool { return s.State == "up" })
			if !up.Up || !up.LastInbound.IsZero() || !up.LastOutbound.IsZero() || up.LastError != nil || up.Detail != "" {
				t.Errorf("before anything: %+v", up)
			}
			between(t, "connected since", up.ConnectedSince, begun, time.Now())
			if linked := name == "whatsapp_web"; linked != (up.Pairing == "linked") || !linked && up.Pairing != "" {
				t.Errorf("pairing is %q", up.Pairing)
			}

			before := time.Now()
			say(t, p, 1, "hello", "You said: hello")
			got := stands(t, b, func(s httpserver.ChannelState) bool { return !s.LastOutbound.IsZero() })
			between(t, "last inbound", got.LastInbound, before, time.Now())
			between(t, "last outbound", got.LastOutbound, got.LastInbound, time.Now())
			if !got.ConnectedSince.Equal(up.ConnectedSince) || got.LastError != nil {
				t.Errorf("after a talk: %+v", got)
			}

			if out, ok := p.(away); ok {
				wasAway(t, b, out, holding(name), got)
			}
		})
	}
}

// wasAway takes the platform away and brings it back.
func wasAway(t *testing.T, b *bot, p away, holds bool, had httpserver.ChannelState) {
	t.Helper()
	gone := time.Now()
	p.down()
	if holds {
		lost := stands(t, b, func(s httpserver.ChannelState) bool { return s.State == "connecting" })
		if !lost.Up || lost.Detail == "" || !lost.ConnectedSince.IsZero() || !lost.LastInbound.Equal(had.LastInbound) {
			t.Errorf("without its connection: %+v", lost)
		}
	}
	p.up()
	back := stands(t, b, func(s httpserver.ChannelState) bool { return s.State == "up" })
	if holds {
		between(t, "connected since", back.ConnectedSince, gone, time.Now())
	} else if !back.ConnectedSince.Equal(had.ConnectedSince) {
		t.Errorf("called by its platform, it was connected anew: %+v, before %+v", back, had)
	}
	say(t, p, 1, "again", "You said: again")
	got := stands(t, b, func(s httpserver.ChannelState) bool { return s.LastOutbound.After(had.LastOutbound) })
	between(t, "last inbound", got.LastInbound, gone, time.Now())
}

// stands waits until the bot's only channel stands in a way.
func stands(t *testing.T, b *bot, cond func(httpserver.ChannelState) bool) (s httpserver.ChannelState) {
	t.Helper()
	var code int
	if !until(t.Context(), func() bool {
		var body string
		code, body = fetch(t, b, "/readyz")
		var r struct {
			Channels map[string]httpserver.ChannelState `json:"channels"`
		}
		if err := json.Unmarshal([]byte(body), &r); err != nil || len(r.Channels) != 1 {
			t.Fatalf("/readyz says %s: %v", body, err)
		}
		s = slices.Collect(maps.Values(r.Channels))[0]
		return cond(s)
	}) {
		t.Fatalf("the channel stands so: %+v", s)
	}
	if (code == http.StatusOK) != s.Up {
		t.Errorf("/readyz answers %d, and the channel is %+v", code, s)
	}
	return s
}

func between(t *testing.T, what string, at, from, to time.Time) {
	t.Helper()
	if at.Before(from) || at.After(to) {
		t.Errorf("%s %s, want %s to %s", what, at, from.UTC(), to.UTC())
	}
}
