package discord_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/discord"
	"github.com/parley-bot/parley/channels/discord/discordtest"
)

// TestGateway_SilenceIsNoticed: a connection that looks well and brings
// nothing is given up, and what was said meanwhile comes.
func TestGateway_SilenceIsNoticed(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(_ *discord.Config, o *discordtest.Options) { o.Heartbeat = 250 * time.Millisecond })
	stop := b.run()
	for range 4 {
		b.connected()
		b.fake.Silence()
		id := b.fake.Say(ana, discordtest.TextID, "are you there", nil)
		for in := b.next(); string(in.ID) != id; in = b.next() {
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if !b.logs.Has("heartbeats are not acknowledged") {
		t.Errorf("the reason wasn't told:\n%s", b.logs)
	}
}

// TestGateway_ASilentBeginning: one that takes the connection and says nothing,
// from the start or after the login, is left again.
func TestGateway_ASilentBeginning(t *testing.T) {
	t.Parallel()
	for _, hello := range []bool{false, true} {
		b := newBed(t)
		b.SetHandshake(200 * time.Millisecond)
		if hello {
			b.fake.HoldLogins(true)
		} else {
			b.fake.SetSilent(true)
		}
		stop := b.run()
		b.linked(0, "that nothing came", func(l channels.Link) bool {
			return l.State == channels.LinkConnecting && strings.Contains(l.Detail, "i/o timeout")
		})
		b.fake.HoldLogins(false)
		b.fake.SetSilent(false)
		b.connected()
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestGateway_ResumesOverARestart: a new process goes on with the session, and
// asks for no new one.
func TestGateway_ResumesOverARestart(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	stop := b.run()
	b.connected()
	b.fake.Say(ana, discordtest.TextID, "one", nil)
	b.next()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	id := b.fake.Say(ana, discordtest.TextID, "two", nil)
	b.restart()
	b.run()
	if in := b.next(); string(in.ID) != id {
		t.Errorf("came %+v, want only %s", in, id)
	}
	if n := b.fake.Identified(); n != 1 {
		t.Errorf("identified %d times, want 1", n)
	}
	if there, elsewhere := b.fake.Resumed(); there != 1 || elsewhere != 0 {
		t.Errorf("resumed %d times where the session said, and %d times elsewhere", there, elsewhere)
	}
}

// TestGateway_FetchesWhatWasMissed: the session has gone, so that only the
// channels' history tells.
func TestGateway_FetchesWhatWasMissed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	dm, thread := b.fake.DM(ana), b.fake.AddChannel(discordtest.TextID)
	stop := b.run()
	b.connected()
	b.fake.Say(ana, dm, "hello", nil)
	b.next()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	b.clock.forward(time.Hour) // Discord has forgotten the session, and the saved one is old
	var want []string
	for n := range 250 { // three pages
		want = append(want, b.fake.Say(ana, dm, fmt.Sprint("missed ", n), nil))
	}
	inThread := b.fake.Say(ana, thread, "in a thread", nil)
	b.restart()
	b.run()
	var got []string
	for len(got) < len(want) {
		in := b.next()
		switch {
		case string(in.ID) == inThread:
			inThread = ""
			if !in.Chat.Group {
				t.Error("a thread's message counts as private")
			}
		case in.Text != "hello":
			got = append(got, string(in.ID))
		}
	}
	if inThread != "" {
		b.next()
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d messages, or in another order", len(got))
	}
	if n := b.fake.Identified(); n != 2 {
		t.Errorf("identified %d times, want 2", n)
	}
}

// TestGateway_ManyConversationsAreLookedInto bit by bit: answers need calls,
// too.
func TestGateway_ManyConversationsAreLookedInto(t *testing.T) {
	t.Parallel()
	const people = 90
	b := newBed(t)
	stop := b.run()
	b.connected()
	for n := range people {
		b.fake.Say(ana, b.fake.DM(discordtest.User{ID: fmt.Sprintf("44%017d", n)}), "hi", nil)
		b.next()
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	b.clock.forward(time.Hour)
	for len(b.rests) > 0 {
		<-b.rests
	}
	b.restart()
	now := b.clock.now()
	b.SetNow(func() time.Time { return now })
	b.run()
	b.wait("not looked into", func() bool { return len(b.fake.Calls("GET", "/messages")) >= people })
	longest := time.Duration(0)
	for len(b.rests) > 0 {
		longest = max(longest, <-b.rests)
	}
	if want := (people - 1) * (time.Second / 30); longest != want { // the bed doesn't wait
		t.Errorf("the last one would wait for %s, want %s", longest, want)
	}
}

// TestGateway_AChannelThatCantBeRead doesn't keep the gap open: the next start
// resumes.
func TestGateway_AChannelThatCantBeRead(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	secret, dm := b.fake.AddChannel(""), b.fake.DM(ana)
	stop := b.run()
	b.connected()
	b.fake.Say(ana, dm, "hello", nil)
	b.next()
	for n := range 2 {
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			b.clock.forward(time.Hour)
			b.fake.Say(ana, secret, "unseen", nil)
			b.fake.Refuse(secret, 403, 50001, "Missing Access")
		}
		id := b.fake.Say(ana, dm, "missed", nil)
		b.restart()
		stop = b.run()
		for in := b.next(); string(in.ID) != id; in = b.next() {
		}
		b.connected()
		// It comes after the look into its channel.
		id = b.fake.Say(ana, secret, "seen", nil)
		for in := b.next(); string(in.ID) != id; in = b.next() {
		}
	}
	if n := b.fake.Identified(); n != 2 || len(b.fake.Calls("GET", secret)) != 1 {
		t.Errorf("identified %d times and looked %d times, want 2 and once", n, len(b.fake.Calls("GET", secret)))
	}
}

// TestGateway_G1_AGapThatCantBeFilled stays open: the next start fetches what
// this one couldn't, and meanwhile people are answered.
func TestGateway_G1_AGapThatCantBeFilled(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	dm := b.fake.DM(ana)
	stop := b.run()
	b.connected()
	b.fake.Say(ana, dm, "hello", nil)
	b.next()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	b.clock.forward(time.Hour)
	b.fake.Say(ana, dm, "missed", nil)
	b.fake.Script(discordtest.Fault{Holding: []string{"GET", dm}, Times: 25, Status: 500})
	b.clock.forward(time.Minute)
	b.restart()
	stop = b.run()
	b.connected()
	b.fake.Say(ana, dm, "live", nil)
	if in := b.next(); in.Text != "live" || !b.logs.Has("could not be fetched") {
		t.Errorf("received %q; log:\n%s", in.Text, b.logs)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	b.restart()
	b.run()
	for in := b.next(); in.Text != "missed"; in = b.next() {
	}
}

// TestGateway_G1_AServerThatIsAwayItself, as Discord calls an outage of a part:
// its channels are looked into when it comes.
func TestGateway_G1_AServerThatIsAwayItself(t *testing.T) {
	t.Parallel()
	for _, left := range []bool{false, true} {
		b := newBed(t)
		stop := b.run()
		b.connected()
		b.fake.Say(ana, discordtest.TextID, "hello", nil)
		b.next()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		b.clock.forward(time.Hour)
		b.fake.Say(ana, discordtest.TextID, "missed", nil)
		b.fake.HoldGuild()
		for range 2 { // with a gap open no session is resumed
			b.restart()
			stop = b.run()
			b.connected()
			b.nothing()
			if err := stop(); err != nil {
				t.Fatal(err)
			}
		}
		b.restart()
		stop = b.run()
		b.connected()
		b.fake.ReleaseGuild(left)
		if !left {
			if in := b.next(); in.Text == "hello" { // said within the overlap
				b.next()
			}
		}
		b.fake.Say(ana, b.fake.DM(ana), "last", nil)
		for in := b.next(); in.Text != "last"; in = b.next() {
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		b.restart()
		b.run()
		b.connected()
		if n := b.fake.Identified(); n != 4 {
			t.Errorf("left %v: identified %d times, want 4: the gap is closed", left, n)
		}
	}
}

// TestGateway_NothingOfBeforeTheFirstStart: what was said before the bot was
// there is no business of its.
func TestGateway_NothingOfBeforeTheFirstStart(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.fake.Say(ana, discordtest.TextID, "before", nil)
	b.clock.forward(time.Minute)
	b.run()
	b.connected()
	b.fake.Say(ana, discordtest.TextID, "after", nil)
	if in := b.next(); in.Text != "after" {
		t.Errorf("received %q", in.Text)
	}
}

// TestGateway_G1_ALateEvent: a session ended before Discord told of a message,
// though it told of a newer one of another channel.
func TestGateway_G1_ALateEvent(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.run()
	b.connected()
	b.fake.Late(ana, discordtest.TextID, "late")
	b.fake.Say(ana, b.fake.DM(ana), "newer", nil)
	b.next()
	b.fake.Invalidate(false)
	for in := b.next(); in.Text != "late"; in = b.next() {
	}
}

// TestGateway_G1_AClockThatIsWrong: messages tell the time by Discord's clock.
// Nothing is lost on a machine whose own is ahead, and nothing of before the
// first start is answered on one that is behind.
func TestGateway_G1_AClockThatIsWrong(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{-48 * time.Hour, -time.Hour, time.Hour, 48 * time.Hour} {
		b := newBed(t)
		b.skew = skew
		b.restart()
		b.fake.Say(ana, discordtest.TextID, "before", nil)
		b.clock.forward(time.Minute)
		stop := b.run()
		b.connected()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		b.clock.forward(20 * time.Minute)
		b.fake.Say(ana, discordtest.TextID, "missed", nil)
		b.clock.forward(20 * time.Minute)
		b.restart()
		b.run()
		if in := b.next(); in.Text != "missed" {
			t.Errorf("%s: received %q", skew, in.Text)
		}
		b.nothing()
	}
}

// TestGateway_G1_AStopBeforeTheCommit: what the core didn't take comes again.
func TestGateway_G1_AStopBeforeTheCommit(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	stop := b.run()
	b.connected()
	b.sink.mu.Lock()
	b.sink.hold = make(chan struct{})
	b.sink.mu.Unlock()
	b.fake.Say(ana, discordtest.TextID, "first", nil)
	b.fake.Say(ana, b.fake.AddChannel(""), "second", nil)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	b.sink.mu.Lock()
	b.sink.hold = nil
	b.sink.mu.Unlock()
	b.restart()
	b.run()
	texts := []string{b.next().Text, b.next().Text}
	slices.Sort(texts)
	if !slices.Equal(texts, []string{"first", "second"}) {
		t.Errorf("%v came again", texts)
	}
}

// TestGateway_WhatOnlyAPersonCanMend is named in the error and in the state.
func TestGateway_WhatOnlyAPersonCanMend(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set  option
		then func(b *bed)
		want string
	}{
		"token revoked": {then: func(b *bed) { b.fake.RevokeToken() }, want: "channels.dc.token"},
		"intent off": {
			set:  func(_ *discord.Config, o *discordtest.Options) { o.NoContent = true },
			want: "Privileged Gateway Intents",
		},
		"intents of another API": {then: func(b *bed) { b.fake.Disconnect(4013) }, want: "Privileged Gateway Intents"},
		"a wrong shard":          {then: func(b *bed) { b.fake.Disconnect(4010) }, want: "too many servers"},
		"sharding":               {then: func(b *bed) { b.fake.Disconnect(4011) }, want: "too many servers"},
		"an old version":         {then: func(b *bed) { b.fake.Disconnect(4012) }, want: "this version of parley is too old"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var opts []option
			if tt.set != nil {
				opts = append(opts, tt.set)
			}
			b := newBed(t, opts...)
			ended := make(chan error, 1)
			go func() { ended <- b.ends() }()
			if tt.then != nil {
				b.connected()
				tt.then(b)
			}
			err := <-ended
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Run ended with %v", err)
			}
			if l := b.Link(); l.State != channels.LinkRefused || !strings.Contains(l.Detail, tt.want) {
				t.Errorf("the state is %s", l)
			}
		})
	}
}

// TestGateway_RefusedIntentUsesUpNoSessions: the channel is started again each
// minute, and Discord allows a thousand sessions a day.
func TestGateway_RefusedIntentUsesUpNoSessions(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(_ *discord.Config, o *discordtest.Options) { o.NoContent = true })
	for range 5 {
		if err := b.ends(); err == nil || !strings.Contains(err.Error(), "message content intent") {
			t.Fatalf("Run ended with %v", err)
		}
	}
	if n := b.fake.Identified(); n != 1 {
		t.Errorf("identified %d times, want 1", n)
	}
}

// TestGateway_AnInvalidSessionIsWaitedFor: Discord asks for one to five seconds
// before a new session, which is begun on a new connection.
func TestGateway_AnInvalidSessionIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.run()
	b.connected()
	for len(b.rests) > 0 {
		<-b.rests
	}
	b.fake.Invalidate(false)
	b.wait("no new session", func() bool { return b.fake.Identified() == 2 && b.fake.Connected() == 1 })
	if d := <-b.rests; d < time.Second || d > 5*time.Second { // the one before the connection
		t.Errorf("waited %s, want one to five seconds", d)
	}
	if d := <-b.rests; d <= 0 || d > 5*time.Second { // one session in five seconds
		t.Errorf("waited %s before the second session, want what is left of five seconds", d)
	}
}

// TestGateway_SessionsAreSpared: where each ends soon after it began, a day's
// would be used up in an hour and a half.
func TestGateway_SessionsAreSpared(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.run()
	b.connected()
	longest := func() (d time.Duration) {
		for len(b.rests) > 0 {
			d = max(d, <-b.rests)
		}
		return d
	}
	end := func(n int) {
		from := b.sink.told()
		b.fake.Invalidate(false)
		b.linked(from, "that it is up again", func(l channels.Link) bool { return l.State == channels.LinkUp })
		if got := b.fake.Identified(); got != n {
			t.Fatalf("identified %d times, want %d", got, n)
		}
	}
	for n := range 19 {
		end(n + 2)
	}
	if d := longest(); d > 5*time.Second {
		t.Errorf("waited %s between sessions that may begin", d)
	}
	end(21)
	if d := longest(); d < 2*time.Minute || d > 3*time.Minute {
		t.Errorf("waited %s before one more, want almost three minutes", d)
	}
	b.clock.forward(time.Hour)
	end(22)
	if d := longest(); d > 5*time.Second {
		t.Errorf("waited %s an hour later", d)
	}
}

func TestGateway_NoSessionsLeftToday(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(_ *discord.Config, o *discordtest.Options) { o.Identifies = 1 })
	stop := b.run()
	b.connected()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	b.fake.Restart()
	b.restart()
	if err := b.ends(); err == nil || !strings.Contains(err.Error(), "no more sessions of the gateway for 1h") {
		t.Errorf("Run ended with %v", err)
	}
}

// TestGateway_WithoutTheIntent hears what Discord shows everybody.
func TestGateway_WithoutTheIntent(t *testing.T) {
	t.Parallel()
	no := false
	b := newBed(t, func(c *discord.Config, o *discordtest.Options) { c.MessageContent, o.NoContent = &no, true })
	b.run()
	b.connected()
	b.fake.Say(ana, discordtest.TextID, "unheard", nil)
	b.fake.Say(ana, discordtest.TextID, "<@"+discordtest.BotID+"> heard", nil)
	if in := b.next(); in.Text != "heard" || !in.Mentioned {
		t.Errorf("received %+v", in)
	}
	b.fake.Say(ana, b.fake.DM(ana), "in private", nil)
	if in := b.next(); in.Text != "in private" {
		t.Errorf("received %+v", in)
	}
	b.nothing()
}

// TestGateway_TextsThatAreMissingAreNamed: the intent was asked for, granted,
// and yet nothing is in the messages.
func TestGateway_TextsThatAreMissingAreNamed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.run()
	b.connected()
	b.fake.Say(ana, discordtest.TextID, "secretly", map[string]any{"content": ""})
	b.fake.Say(ana, discordtest.TextID, "end", nil)
	b.next()
	if !b.logs.Has("messages come without their text") {
		t.Errorf("log:\n%s", b.logs)
	}
}

// TestGateway_G9_AStoreThatIsAway: nothing is skipped, and nothing else of the
// channel is taken before.
func TestGateway_G9_AStoreThatIsAway(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.sink.fail(&channels.RefusedError{Reason: channels.RefusedUnavailable, After: 3 * time.Second}, errors.New("disk full"))
	b.run()
	b.connected()
	b.fake.Say(ana, discordtest.TextID, "one", nil)
	b.fake.Say(ana, discordtest.TextID, "two", nil)
	if a, c := b.next().Text, b.next().Text; a != "one" || c != "two" {
		t.Errorf("received %q, %q", a, c)
	}
	if d := <-b.rests; d != 3*time.Second {
		t.Errorf("waited %s first, want what the core asked for", d)
	}
}

// TestGateway_G2_ChannelsDontWaitForEachOther: one that waits for the core doesn't hold up
// the presses of another.
func TestGateway_G2_ChannelsDontWaitForEachOther(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.run()
	b.connected()
	dm := b.fake.DM(ana)
	b.sink.mu.Lock()
	b.sink.hold = make(chan struct{})
	hold := b.sink.hold
	b.sink.mu.Unlock()
	b.fake.Say(ana, discordtest.TextID, "held", nil)
	id := b.fake.Press(ana, discordtest.TextID, "1", "button-of-a-question")
	other := b.fake.Press(ana, dm, "1", "button-of-a-question")
	b.wait("presses are not acknowledged while the core is busy", func() bool {
		one, _ := b.fake.Answered(id)
		two, _ := b.fake.Answered(other)
		return one == 6 && two == 6
	})
	close(hold)
	for range 3 {
		b.next()
	}
}

// TestGateway_SavesLittle: what is kept stays small.
func TestGateway_SavesLittle(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	stop := b.run()
	b.connected()
	for n := range 3000 {
		b.fake.Say(ana, b.fake.DM(discordtest.User{ID: fmt.Sprintf("44%017d", n)}), "hi", nil)
	}
	for range 3000 {
		b.next()
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	var dms []string
	direct, err := b.host.State().Get(t.Context(), "direct")
	if err != nil || json.Unmarshal(direct, &dms) != nil || len(dms) != 2000 || len(direct) > 60_000 {
		t.Errorf("%d bytes with %d conversations, %v", len(direct), len(dms), err)
	}
	if raw, err := b.host.State().Get(t.Context(), "session"); err != nil || len(raw) > 1000 {
		t.Errorf("a session of %d bytes, %v", len(raw), err)
	}
}
