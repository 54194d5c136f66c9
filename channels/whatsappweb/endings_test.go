//go:build !race

package whatsappweb_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/whatsappweb/whatsappwebtest"
)

// Not under the race detector: when a server ends a connection, the SDK closes
// its socket while it sends on it (socket/framesocket.go reads conn without
// the lock that Close writes it under). make test runs this package both ways.

// rounds is how often each kind of ending is made.
const rounds = 200

const lost = "the connection was lost"

// TestSession_Endings: whichever way a connection ends while people write, and
// however often, nothing is lost that WhatsApp delivers again, nothing is given
// to the core twice that the SDK could tell, each chat keeps its order, the
// bot's own messages are shown once, and the state says what happened. Nothing
// is left open by a connection that is over.
//
//nolint:paralleltest // it counts goroutines and open files
func TestSession_Endings_G1(t *testing.T) {
	var all []*storm
	for _, k := range []kind{
		{name: "clean close", end: func(s *storm) { s.fake.Leave() }, says: lost, silent: true},
		{name: "TCP reset", end: func(s *storm) { s.fake.Reset() }, says: lost, silent: true},
		{name: "stream error", end: func(s *storm) { s.fake.StreamError(503) }, says: "ended the stream with code 503"},
		{name: "session invalid", end: func(s *storm) { s.fake.StreamError(516) }, says: "ended the stream with code 516"},
		{name: "told to restart", end: func(s *storm) { s.fake.StreamError(515) }, says: "asked to connect again"},
		{name: "login refused", end: func(s *storm) { s.fake.Refuse(503, 0, 0); s.fake.StreamError(503) }, says: "refused the login (503)"},
		{name: "server restart", end: func(s *storm) {
			s.fake.Down()
			if err := s.fake.Up(); err != nil {
				s.t.Error(err)
			}
		}, says: lost, silent: true},
		{
			name: "device removed", end: func(s *storm) { s.fake.Unlink() },
			bots: 4, state: channels.LinkLoggedOut, says: "the device was unlinked", heal: func(s *storm) { s.pairs(s.scan); s.linked <- struct{}{} },
		},
	} {
		for range max(k.bots, 1) {
			all = append(all, newStorm(t, k))
		}
	}
	through(all, rounds/10)
	before := used()
	through(all, rounds-rounds/10)
	after := used()
	if after.goroutines > before.goroutines+2*len(all) || after.files > before.files+2*len(all) {
		t.Errorf("after %d connections of each kind: %+v, after %d: %+v", rounds/10, before, rounds, after)
	}
	again, unheard := 0, 0
	for _, s := range all {
		s.settle()
		again += s.twice
		unheard += s.unheard
	}
	t.Logf("%d of each kind; after %d of each %+v, at the end %+v; %d messages were given to the core again, %d times nobody heard why", rounds, rounds/10, before, after, again, unheard)
}

// through makes n rounds of each kind, at once.
func through(all []*storm, n int) {
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(func() {
			began := time.Now()
			s.rounds(n / max(s.kind.bots, 1))
			s.t.Logf("%s: %d rounds in %s", s.kind.name, n/max(s.kind.bots, 1), time.Since(began).Round(time.Millisecond))
		})
	}
	wg.Wait()
}

// TestSession_Silence: the same where the server just says nothing any more.
// Several bots share the rounds, for each has to wait for its watchdog.
//
//nolint:paralleltest // the watchdog's times are variables of the SDK
func TestSession_Silence_G1(t *testing.T) {
	minimum, maximum, deadline := whatsmeow.KeepAliveIntervalMin, whatsmeow.KeepAliveIntervalMax, whatsmeow.KeepAliveResponseDeadline
	whatsmeow.KeepAliveIntervalMin, whatsmeow.KeepAliveIntervalMax = 40*time.Millisecond, 60*time.Millisecond
	whatsmeow.KeepAliveResponseDeadline = 200 * time.Millisecond
	t.Cleanup(func() {
		whatsmeow.KeepAliveIntervalMin, whatsmeow.KeepAliveIntervalMax, whatsmeow.KeepAliveResponseDeadline = minimum, maximum, deadline
	})
	k := kind{name: "silence", end: func(s *storm) { s.fake.Silence() }, says: "doesn't answer any more", bots: 20}
	var all []*storm
	for range k.bots {
		all = append(all, newStorm(t, k))
	}
	through(all, rounds)
	for _, s := range all {
		s.settle()
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestSession_MemoryStays: what a connection took is free when it is over.
//
//nolint:paralleltest // it measures the process's memory
func TestSession_MemoryStays(t *testing.T) {
	b := newBed(t)
	b.SetReadTime(0)
	b.SetRest(func(ctx context.Context, _ time.Duration) error { return ctx.Err() })
	b.run().up(1)
	heap := func(to int) uint64 {
		for n := b.fake.Logins(); n < to; n++ {
			b.fake.Reset()
			b.up(n + 1)
		}
		runtime.GC()
		runtime.GC() // what has a finalizer goes with the second
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap(50)
	after := heap(50 + rounds)
	t.Logf("%d KiB after 50 connections, %d KiB after %d", before>>10, after>>10, 50+rounds)
	if after > before+rounds<<13 { // a client alone is several times that
		t.Errorf("%d bytes after 50 connections, %d after %d", before, after, 50+rounds)
	}
}

// What the server says last counts, also where messages wait before it and the
// connection is gone by the time that they were handled; none of those is lost.
func TestSession_LastWordsBehindMessages(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.sink.gate, b.sink.entered = make(chan struct{}), make(chan struct{}, 64)
	b.run().up(1)
	const waiting = 8
	var all []*whatsappwebtest.Stanza
	for n := range waiting {
		all = append(all, b.ana.Say(fmt.Sprint("M", n), fmt.Sprint(n)))
	}
	<-b.sink.entered
	b.fake.Replace()
	if !until(func() bool { return !b.fake.Connected() }) {
		t.Fatal("the server never closed")
	}
	close(b.sink.gate)
	b.told(channels.LinkReplaced)
	b.SetRest(func(context.Context, time.Duration) error { return nil })
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	b.run()
	b.heard(waiting)
	for n, st := range all {
		if got := b.sink.got[n].Text; !st.WaitAcked() || got != fmt.Sprint(n) {
			t.Errorf("message %d is %q", n, got)
		}
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

// A login that is refused for another reason than those is tried again, and
// the reason is told.
func TestSession_RefusedOtherwise(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.skipRests()
	for _, code := range []int{400, 413, 500, 503} {
		b.fake.Refuse(code, 0, 0)
	}
	b.run().up(1)
	b.sink.mu.Lock()
	defer b.sink.mu.Unlock()
	for _, code := range []string{"400", "413", "500", "503"} {
		if !slices.ContainsFunc(b.sink.links, func(l channels.Link) bool {
			return l.State == channels.LinkConnecting && strings.Contains(l.Detail, "refused the login") && strings.Contains(l.Detail, code)
		}) {
			t.Errorf("%s was never told: %v", code, b.sink.links)
		}
	}
}

// What only time can end is left alone for that time, and then connected again.
func TestSession_Waits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end         func(*whatsappwebtest.Server)
		from, until time.Duration
	}{
		"outdated":                 {func(s *whatsappwebtest.Server) { s.Refuse(405, 0, 0); s.StreamError(515) }, time.Hour, time.Hour},
		"banned for a while":       {func(s *whatsappwebtest.Server) { s.Refuse(402, 101, 7200); s.StreamError(515) }, 2 * time.Hour, 2*time.Hour + time.Minute},
		"banned, not for how long": {func(s *whatsappwebtest.Server) { s.Refuse(402, 101, 0); s.StreamError(515) }, time.Hour, time.Hour},
		"refused":                  {func(s *whatsappwebtest.Server) { s.Refuse(503, 0, 0); s.StreamError(515) }, time.Millisecond, 2 * time.Second},
		"replaced":                 {(*whatsappwebtest.Server).Replace, 30 * time.Second, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			waits := b.skipRests()
			b.run().up(1)
			tc.end(b.fake)
			b.up(2)
			var d time.Duration
			for d == 0 { // the server's wish to connect again takes none
				d = <-waits
			}
			if d < tc.from || d > tc.until {
				t.Errorf("it waited %s", d)
			}
		})
	}
}
