package platforms

import (
	"net/http"
	"strings"
	"testing"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/whatsappweb/whatsappwebtest"
)

// TestWhatsAppWeb_SilenceShows: a connection that looks well and brings nothing
// shows in /readyz with the reason, in the metrics and in the log; it is
// connected again, which is counted, and what was written meanwhile is
// answered.
func TestWhatsAppWeb_SilenceShows(t *testing.T) {
	t.Parallel()
	p := newWAWeb(t)
	b := &bot{t: t, on: []platform{p}, model: newMind()}
	b.start()
	say(t, p, 1, "hello", "You said: hello")
	if !measures(t, b, `parley_channel_up{channel="wa"} 1`, `parley_channel_state{channel="wa",state="up"} 1`, `parley_channel_reconnects_total{channel="wa"} 0`) {
		t.Error("the metrics don't say that it is up")
	}
	p.fake.Hold() // nobody gets in again
	p.fake.Silence()
	if !until(t.Context(), func() bool {
		code, body := fetch(t, b, "/readyz")
		// Less than a minute is no outage.
		return code == http.StatusOK && strings.Contains(body, `"state":"connecting"`)
	}) {
		_, body := fetch(t, b, "/readyz")
		t.Fatalf("/readyz says %s", body)
	}
	if _, body := fetch(t, b, "/readyz"); !strings.Contains(body, "the server doesn't answer any more") {
		t.Errorf("/readyz says %s", body)
	}
	if !measures(t, b, `parley_channel_up{channel="wa"} 0`, `parley_channel_state{channel="wa",state="connecting"} 1`, `parley_channel_state{channel="wa",state="up"} 0`) {
		t.Error("the metrics don't say that it isn't up")
	}
	if !strings.Contains(b.logs.String(), `"why":"the server doesn't answer any more"`) {
		t.Error("the log doesn't say why")
	}
	st := p.who(1).Say("M-meanwhile", "are you there")
	p.fake.Release()
	if !st.WaitAcked() || !until(t.Context(), func() bool { return len(p.shown(1)) == 2 }) {
		t.Error("what was written meanwhile isn't answered")
	}
	if !until(t.Context(), func() bool {
		return measures(t, b, `parley_channel_up{channel="wa"} 1`, `parley_channel_state{channel="wa",state="up"} 1`, `parley_channel_reconnects_total{channel="wa"} 1`)
	}) {
		t.Error("the metrics don't say that it is up again")
	}
	if code, body := fetch(t, b, "/readyz"); code != http.StatusOK || !strings.Contains(body, `"state":"up"`) {
		t.Errorf("/readyz says %d, %s", code, body)
	}
	for _, w := range p.wrong() {
		t.Error(w)
	}
}

// TestWhatsAppWeb_LastingStates: each state that only a person or time can end
// is told in /readyz with what to do, by a metric, in the log and to the
// operator's chat on another channel; and the way back, too.
func TestWhatsAppWeb_LastingStates(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		end   func(*whatsappwebtest.Server)
		state channels.LinkState
		says  string
		again bool // has to be linked again
	}{
		{"logged out", (*whatsappwebtest.Server).Unlink, channels.LinkLoggedOut, "link it again by parley pair", true},
		{"the phone's account is gone", refused(403, 0, 0), channels.LinkLoggedOut, "the phone's own account was locked, or moved", true},
		{"replaced", (*whatsappwebtest.Server).Replace, channels.LinkReplaced, "is it copied to, or running at, another place?", false},
		{"outdated", refused(405, 0, 0), channels.LinkOutdated, "parley needs an update", false},
		{"banned for a while", refused(402, 101, 3600), channels.LinkBanned, "banned for a while", false},
		{"banned", refused(406, 0, 0), channels.LinkBanned, "look into the app on the phone", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, ops := newWAWeb(t), newTelegram(t, "polling")
			b := &bot{t: t, on: []platform{p, ops}, model: newMind(), more: `alerts: {chat: "telegram:7007"}`}
			b.start()
			say(t, ops, 7, "it's me", "You said: it's me")
			say(t, p, 1, "hello", "You said: hello")
			tc.end(p.fake)
			told(t, ops, 1, "The channel wa isn't working. "+string(tc.state)+": ")
			if text := ops.shown(7)[1].text; !strings.Contains(text, tc.says) {
				t.Errorf("the operator was told %q", text)
			}
			code, body := fetch(t, b, "/readyz")
			if code != http.StatusServiceUnavailable || !strings.Contains(body, `"state":"`+string(tc.state)+`"`) || !strings.Contains(body, tc.says) {
				t.Errorf("/readyz says %d, %s", code, body)
			}
			if !measures(t, b, `parley_channel_up{channel="wa"} 0`, `parley_channel_state{channel="wa",state="`+string(tc.state)+`"} 1`, `parley_channel_state{channel="wa",state="up"} 0`) {
				t.Error("the metrics don't say so")
			}
			if log := b.logs.String(); !strings.Contains(log, `"state":"`+string(tc.state)+`"`) {
				t.Error("the log doesn't say so")
			}
			if tc.again {
				pairAnew(t, b, p)
			} else { // a start anew tries at once
				b.stop()
				b.start()
			}
			told(t, ops, 2, "The channel wa is working again.")
			say(t, p, 1, "again", "You said: again")
			if code, body := fetch(t, b, "/readyz"); code != http.StatusOK {
				t.Errorf("/readyz says %d, %s", code, body)
			}
		})
	}
}

// refused ends the connection, and refuses the next login for a reason.
func refused(reason, code, expire int) func(*whatsappwebtest.Server) {
	return func(s *whatsappwebtest.Server) { s.Refuse(reason, code, expire); s.Reset() }
}
