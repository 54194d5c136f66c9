package platforms

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels/discord"
	"github.com/parley-bot/parley/channels/discord/discordtest"
)

// TestDiscord_SilenceShows: a connection that looks well and brings nothing
// shows in /readyz with the reason, in the metrics and in the log; it is
// connected again, which is counted, and what was written meanwhile is answered.
func TestDiscord_SilenceShows(t *testing.T) {
	t.Parallel()
	p := discordWith(t, discord.ModeGateway, discordtest.Options{Token: discordtest.Token(), Heartbeat: 200 * time.Millisecond})
	b := &bot{t: t, on: []platform{p}, model: newMind()}
	b.start()
	say(t, p, 1, "hello", "You said: hello")
	measured := func(lines ...string) bool { return measures(t, b, lines...) }
	if !measured(`parley_channel_up{channel="discord"} 1`, `parley_channel_state{channel="discord",state="up"} 1`, `parley_channel_reconnects_total{channel="discord"} 0`) {
		t.Error("the metrics don't say that it is up")
	}
	p.fake.SetSilent(true) // a new connection brings nothing, either
	if !until(t.Context(), func() bool {
		code, body := fetch(t, b, "/readyz")
		// Less than a minute is no outage.
		return code == http.StatusOK && strings.Contains(body, `"state":"connecting"`) && strings.Contains(body, "heartbeats are not acknowledged")
	}) {
		_, body := fetch(t, b, "/readyz")
		t.Fatalf("/readyz says %s", body)
	}
	if !measured(`parley_channel_up{channel="discord"} 0`, `parley_channel_state{channel="discord",state="connecting"} 1`,
		`parley_channel_state{channel="discord",state="up"} 0`, `parley_channel_reconnects_total{channel="discord"} 0`) {
		t.Error("the metrics don't say that it isn't up")
	}
	p.say(1, "are you there")
	p.fake.SetSilent(false)
	if !until(t.Context(), func() bool { return len(p.shown(1)) == 2 }) {
		t.Error("what was written meanwhile isn't answered")
	}
	if !until(t.Context(), func() bool {
		return measured(`parley_channel_up{channel="discord"} 1`, `parley_channel_state{channel="discord",state="up"} 1`, `parley_channel_reconnects_total{channel="discord"} 1`)
	}) {
		t.Error("the metrics don't say that it is up again")
	}
	if code, body := fetch(t, b, "/readyz"); code != http.StatusOK || !strings.Contains(body, `"state":"up"`) {
		t.Errorf("/readyz says %d, %s", code, body)
	}
	if !strings.Contains(b.logs.String(), "heartbeats are not acknowledged") {
		t.Error("the log doesn't say why")
	}
	if n := p.fake.Identified(); n != 1 {
		t.Errorf("%d sessions begun: it could be resumed", n)
	}
	for _, w := range p.wrong() {
		t.Error(w)
	}
}

// measures tells whether the metrics have all these lines.
func measures(t *testing.T, b *bot, lines ...string) bool {
	t.Helper()
	_, body := fetch(t, b, "/metrics")
	for _, l := range lines {
		if !strings.Contains(body, l+"\n") {
			return false
		}
	}
	return true
}

// TestDiscord_RevokedTokenShows: the state says that a person has to mend it
// and how, as long as that is so, though the channel is started again and
// again; when the token is given back it goes on, and what was written
// meanwhile is answered.
func TestDiscord_RevokedTokenShows(t *testing.T) {
	t.Parallel()
	p := newDiscord(t, discord.ModeGateway)
	b := &bot{t: t, on: []platform{p}, model: newMind()}
	b.start()
	say(t, p, 1, "hello", "You said: hello")
	p.fake.RevokeToken()
	p.say(1, "are you there")
	for tries := 1; tries <= 2; tries++ {
		if !until(t.Context(), func() bool { return strings.Count(b.logs.String(), "channel stopped receiving") >= tries }) {
			t.Fatalf("it was not started again, but %d times", tries-1)
		}
		if code, body := fetch(t, b, "/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, `"state":"refused"`) || !strings.Contains(body, "Bot, Reset Token") {
			t.Errorf("/readyz says %d, %s", code, body)
		}
		if !measures(t, b, `parley_channel_up{channel="discord"} 0`, `parley_channel_state{channel="discord",state="refused"} 1`,
			`parley_channel_state{channel="discord",state="failed"} 0`) {
			t.Error("the metrics don't say that somebody has to mend it")
		}
	}
	p.fake.RestoreToken()
	if !until(t.Context(), func() bool { return len(p.shown(1)) == 2 }) {
		t.Error("what was written meanwhile isn't answered")
	}
	if !until(t.Context(), func() bool {
		return measures(t, b, `parley_channel_up{channel="discord"} 1`, `parley_channel_reconnects_total{channel="discord"} 1`)
	}) {
		t.Error("the metrics don't say that it is up again")
	}
}
