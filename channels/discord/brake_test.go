package discord_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/discord"
	"github.com/parley-bot/parley/channels/discord/discordtest"
)

// TestSend_ARefusedChannelIsNotAskedAgain: Discord bans an address that makes
// too many calls which it refuses. What fails is told so at once, in the same
// class, until some minutes later or until Discord tells of a change.
func TestSend_ARefusedChannelIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.run()
	b.connected()
	other, dm := channels.Chat{ID: channels.ChatID(b.fake.AddChannel("")), Group: true}, b.fake.DM(ana)
	asked := func(chat channels.Chat, method, what string) int {
		return len(b.fake.Calls(method, string(chat.ID)+what))
	}
	fails := func(chat channels.Chat, code string) {
		t.Helper()
		for n := range 50 {
			_, err := b.Send(t.Context(), channels.Part{Chat: chat, Text: "x", Key: fmt.Sprint(n)})
			if channels.ClassOf(err) != channels.PermanentChat || !strings.Contains(err.Error(), "code "+code) {
				t.Fatalf("send %d: %v", n, err)
			}
			if err := b.Edit(t.Context(), channels.MessageID(fmt.Sprint(1+n)), channels.Part{Chat: chat, Text: "x"}); channels.ClassOf(err) != channels.PermanentChat {
				t.Fatalf("edit %d: %v", n, err)
			}
			b.Typing(t.Context(), chat, b.clock.now().Add(time.Minute))
		}
	}
	b.fake.Refuse(discordtest.TextID, 403, 50001, "Missing Access")
	for n := range 2 { // a channel that stays refused is asked again now and then
		fails(inGuild, "50001")
		for _, call := range [][2]string{{"POST", "/messages"}, {"PATCH", "/messages"}, {"POST", "/typing"}} {
			if got := asked(inGuild, call[0], call[1]); got != 3+n {
				t.Errorf("%s was called %d times, want %d", call, got, 3+n)
			}
		}
		b.mustSend(channels.Part{Chat: other, Text: "elsewhere"})
		b.clock.forward(6 * time.Minute)
	}
	fails(inGuild, "50001")
	b.fake.Refuse(discordtest.TextID, 0, 0, "")
	b.fake.Say(ana, discordtest.TextID, "now you can", nil)
	b.next()
	b.mustSend(channels.Part{Chat: inGuild, Text: "thanks"})

	private := channels.Chat{ID: channels.ChatID(dm)}
	b.fake.Refuse(dm, 403, 50007, "Cannot send messages to this user")
	fails(private, "50007")
	b.fake.Refuse(dm, 0, 0, "")
	b.fake.Say(ana, dm, "I let you in", nil)
	b.next()
	b.mustSend(channels.Part{Chat: private, Text: "thanks"})
	if n := asked(private, "POST", "/messages"); n != 4 {
		t.Errorf("%d sends to a person, want 4", n)
	}
}

// TestSend_AHistoryThatIsRefused isn't asked for with every new session.
func TestSend_AHistoryThatIsRefused(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	secret := b.fake.AddChannel("")
	b.run()
	b.connected()
	b.fake.Refuse(secret, 403, 50001, "Missing Access")
	for n := range 20 {
		b.fake.Say(ana, secret, "unseen", nil)
		b.fake.Say(ana, discordtest.TextID, "seen", nil)
		b.next()
		b.next()
		b.clock.forward(10 * time.Second)
		b.fake.Invalidate(false)
		b.wait("no new session", func() bool { return b.fake.Identified() == n+2 && b.fake.Connected() == 1 })
		b.up()
	}
	if n := len(b.fake.Calls("GET", secret)); n > 5 {
		t.Errorf("the channel was asked for %d times", n)
	}
}

// TestSend_AllIsLimited: while Discord limits the whole bot, or its firewall
// the address, no call is made.
func TestSend_AllIsLimited(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]discordtest.Fault{
		"global":   {Status: 429, RetryAfter: 2.5, Global: true, Message: "You are being rate limited."},
		"firewall": {Status: 429, RetryAfter: 30, Raw: "<html>You are being rate limited</html>"},
	} {
		b := newBed(t)
		b.fake.Script(fault)
		after := time.Duration(fault.RetryAfter * float64(time.Second))
		for n := range 50 {
			chat := channels.Chat{ID: channels.ChatID(b.fake.AddChannel("")), Group: true}
			_, err := b.Send(t.Context(), channels.Part{Chat: chat, Text: "x"})
			se, ok := errors.AsType[*channels.SendError](err)
			if !ok || se.Class != channels.RateLimited || se.After > after || se.After < after-2*time.Second {
				t.Fatalf("%s: send %d: %v", name, n, err)
			}
		}
		if n := len(b.fake.Calls("POST", "/messages")); n != 1 {
			t.Errorf("%s: %d calls", name, n)
		}
		b.clock.forward(after)
		b.mustSend(channels.Part{Chat: inGuild, Text: "x"})
	}
	// A channel's own limit is no other's.
	b := newBed(t)
	b.fake.Script(discordtest.Fault{Status: 429, RetryAfter: 2.5, Message: "You are being rate limited."})
	if _, err := b.Send(t.Context(), channels.Part{Chat: inGuild, Text: "x"}); channels.ClassOf(err) != channels.RateLimited {
		t.Errorf("send: %v", err)
	}
	b.mustSend(channels.Part{Chat: channels.Chat{ID: channels.ChatID(b.fake.DM(ana))}, Text: "x"})
}

// TestSend_WithoutTheRightToReply: a bot that may not read the history can't
// reply to a message; it writes beside it.
func TestSend_WithoutTheRightToReply(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	q := b.fake.Say(ana, discordtest.TextID, "order", nil)
	part := channels.Part{Chat: inGuild, Text: "sure?", ReplyTo: channels.MessageID(q), Key: "k"}
	b.fake.Script(discordtest.Fault{Status: 403, Code: 160002, Message: "Cannot reply without permission to read message history"})
	if _, err := b.Send(t.Context(), part); channels.ClassOf(err) != channels.Temporary {
		t.Fatalf("a reply that is refused: %v", err)
	}
	b.mustSend(part)
	if shown := b.fake.Bots(discordtest.TextID); len(shown) != 1 || shown[0].ReplyTo != "" {
		t.Errorf("shown: %+v", shown)
	}
	b.clock.forward(time.Hour)
	b.mustSend(channels.Part{Chat: inGuild, Text: "sure?", ReplyTo: channels.MessageID(q), Key: "k2"})
	if shown := b.fake.Bots(discordtest.TextID); len(shown) != 2 || shown[1].ReplyTo != q {
		t.Errorf("shown: %+v", shown)
	}
}

// TestGateway_AResumeThatIsPutOff again and again ends in a new session.
func TestGateway_AResumeThatIsPutOff(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.run()
	b.connected()
	b.fake.PostponeResumes(3)
	b.fake.Reset()
	b.wait("not resumed", func() bool {
		there, elsewhere := b.fake.Resumed()
		return there+elsewhere == 4 && b.fake.Connected() == 1
	})
	if n := b.fake.Identified(); n != 1 {
		t.Errorf("identified %d times: the session could be resumed", n)
	}
	if there, _ := b.fake.Resumed(); there == 0 {
		t.Error("not resumed where the session said")
	}
	b.fake.Say(ana, discordtest.TextID, "one", nil)
	b.next()
	b.fake.PostponeResumes(1000)
	b.fake.Reset()
	b.wait("no new session", func() bool { return b.fake.Identified() == 2 && b.fake.Connected() == 1 })
}

// TestGateway_HeartbeatsAreAskedFor tells the newest sequence at once.
func TestGateway_HeartbeatsAreAskedFor(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.run()
	b.connected()
	for n := range 2 {
		b.fake.Say(ana, discordtest.TextID, "x", nil)
		b.next()
		b.fake.AskHeartbeat()
		b.wait("no heartbeat", func() bool { return len(b.fake.Heartbeats()) == n+1 })
	}
	if beats := b.fake.Heartbeats(); beats[1] != beats[0]+1 || beats[0] == 0 {
		t.Errorf("heartbeats told %v", beats)
	}
}

// TestCommands_Refused: who used one is shown that it counted for nothing.
func TestCommands_Refused(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{discord.ModeGateway, discord.ModeInteractions} {
		b := newBed(t, func(c *discord.Config, _ *discordtest.Options) { c.Mode = mode })
		if mode == discord.ModeInteractions {
			b.fake.UseEndpoint(b.serve())
		} else {
			b.run()
			b.connected()
		}
		b.sink.fail(&channels.RefusedError{Reason: channels.RefusedRate})
		id := b.fake.Command(ana, discordtest.TextID, "ask", "text", "too much")
		b.wait(mode+": no sign", func() bool {
			_, said := b.fake.Answered(id)
			n := b.fake.Notices(ana.ID)
			return said == "✗" || len(n) == 1 && n[0] == "✗"
		})
		b.nothing()
	}
}
