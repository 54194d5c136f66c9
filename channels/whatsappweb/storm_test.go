//go:build !race

package whatsappweb_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/whatsappweb/whatsappwebtest"
)

// storm is a bed on which people and the bot write all the while, with a
// connection that ends again and again.
type storm struct {
	*bed

	kind kind
	// linked is told when a device was linked.
	linked chan struct{}
	// left is told of each message of the bot that has left.
	left  chan struct{}
	group *whatsappwebtest.Group
	chats []*stream
	bots  []*stream
	wg    sync.WaitGroup
	done  int
	twice int // messages that the core was given again
	// unheard counts the rounds in which what the server said was lost.
	unheard int
}

// kind is one way in which connections end.
type kind struct {
	name string
	// end ends the connection.
	end func(*storm)
	// says is what the state says then.
	says string
	// silent is set where the server doesn't say why.
	silent bool
	// state is how it is named; the zero value is connecting.
	state channels.LinkState
	// bots is how many share the rounds; the zero value is one.
	bots int
	// heal makes a connection possible again.
	heal func(*storm)
}

// stream is what is written in one chat in one direction: numbers.
type stream struct {
	name string
	// pace has room for all that is ever written.
	pace chan struct{}
	// say writes a number; nil for what the bot writes.
	say func(n int) *whatsappwebtest.Stanza
	// shown are the texts that came, and sent what was delivered to the bot.
	shown func() []string
	sent  []*whatsappwebtest.Stanza
	given int
}

func newStorm(t *testing.T, k kind) *storm {
	t.Helper()
	s := &storm{bed: newBed(t), kind: k, linked: make(chan struct{}, 1), left: make(chan struct{}, most)}
	s.SetRest(func(ctx context.Context, d time.Duration) error {
		over := time.After(min(d, time.Millisecond))
		if s.Link().State.Lasting() { // until somebody does something
			over = nil
		}
		select {
		case <-over:
		case <-s.linked:
		case <-ctx.Done():
		}
		return ctx.Err()
	})
	if k.silent { // there is nothing to wait for
		s.SetReadTime(time.Millisecond)
	}
	carl := s.fake.Person("15551110003", "200000000000003", "Carl")
	s.group = s.fake.Group("120363000000000009", s.ana, carl)
	s.person(s.ana, whatsappwebtest.Said{FromPhone: true})
	s.person(carl, whatsappwebtest.Said{})
	s.person(s.fake.Person("15551110004", "200000000000004", "Dora"), whatsappwebtest.Said{FromPhone: true, Bare: true})
	s.person(s.fake.Person("15551110005", "200000000000005", "Emil"), whatsappwebtest.Said{Bare: true})
	both := []*whatsappwebtest.Person{s.ana, carl}
	s.stream(channels.ChatID(s.group.JID().String()), func(n int) *whatsappwebtest.Stanza {
		return both[n%2].Send(fmt.Sprint("G-", n), text(n), whatsappwebtest.Said{Group: s.group.ID})
	})
	s.writes(s.ana.Phone, channels.Chat{ID: channels.ChatID(s.ana.Phone)}, s.ana)
	s.writes(carl.LID, channels.Chat{ID: channels.ChatID(carl.Phone)}, carl)
	s.writes("group", channels.Chat{ID: channels.ChatID(s.group.JID().String()), Group: true}, s.ana, carl)
	s.run().up(1)
	return s
}

const most = 4096

func (s *storm) person(p *whatsappwebtest.Person, how whatsappwebtest.Said) {
	chat := p.Phone
	if how.Bare && !how.FromPhone {
		chat = p.LID + "@lid"
	}
	s.stream(channels.ChatID(chat), func(n int) *whatsappwebtest.Stanza {
		return p.Send(fmt.Sprint(p.Name, "-", n), text(n), how)
	})
}

// stream is what somebody writes to the bot.
func (s *storm) stream(chat channels.ChatID, say func(int) *whatsappwebtest.Stanza) {
	st := &stream{name: string(chat), pace: make(chan struct{}, most), say: say, shown: func() []string {
		s.sink.mu.Lock()
		defer s.sink.mu.Unlock()
		var out []string
		seen := map[channels.MessageID]bool{}
		for _, in := range s.sink.got {
			switch {
			case in.Chat.ID != chat:
			case seen[in.ID]: // the core knows it by its id
				s.twice++
			default:
				seen[in.ID] = true
				out = append(out, in.Text)
			}
		}
		return out
	}}
	s.chats = append(s.chats, st)
	s.wg.Go(func() {
		n := 0
		for range st.pace {
			st.sent = append(st.sent, say(n))
			n++
		}
	})
}

// writes is what the bot writes to somebody, or to several in a group, like
// the outbox: one after another, each again with its key until it has left.
func (s *storm) writes(name string, chat channels.Chat, to ...*whatsappwebtest.Person) {
	st := &stream{name: "the bot to " + name, pace: make(chan struct{}, most)}
	s.bots = append(s.bots, st)
	prefix := name + ":"
	st.shown = func() []string {
		var out []string
		for i, p := range to {
			var got []string
			for _, m := range p.Shown() {
				if n, mine := strings.CutPrefix(m.Text, prefix); mine {
					got = append(got, n)
				}
			}
			if i > 0 && !slices.Equal(got, out) {
				s.errorf("%s: %s sees %v, the others %v", st.name, p.Name, got, out)
			}
			out = got
		}
		return out
	}
	s.wg.Go(func() {
		n := 0
		for range st.pace {
			part := channels.Part{Chat: chat, Text: fmt.Sprint(prefix, n), Key: fmt.Sprint(name, n)}
			var err error
			if !until(func() bool { _, err = s.Send(context.Background(), part); return err == nil }) {
				s.errorf("%s: message %d never left: %v", st.name, n, err)
			}
			s.left <- struct{}{}
			n++
		}
	})
}

// rounds ends the connection n times.
func (s *storm) rounds(n int) {
	s.t.Helper()
	left := 0
	for range n {
		for ; left > 0; left-- { // or it would never come to write
			<-s.left
		}
		s.sink.mu.Lock()
		had := len(s.sink.links)
		s.sink.mu.Unlock()
		for i, st := range slices.Concat(s.chats, s.bots) {
			if (i+s.done)%2 == 0 {
				st.pace <- struct{}{}
				st.given++
				if st.say == nil {
					left++
				}
			}
		}
		s.kind.end(s)
		if s.kind.heal != nil {
			s.sink.wait(func() bool { return s.hasTold(had, s.kind.says) })
			s.kind.heal(s)
		}
		if !s.sink.wait(func() bool { return s.again(had) }) || !s.fake.WaitActive() {
			s.errorf("round %d: it never came up again: now %s", s.done, s.Link())
			return
		}
		s.named(had)
		s.done++
	}
}

func (s *storm) errorf(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf(s.kind.name+": "+format, args...)
}

// again tells whether the connection was away and is up since; the sink's lock
// is held.
func (s *storm) again(had int) bool {
	away := false
	for _, l := range s.sink.links[had:] {
		away = away || l.State != channels.LinkUp
		if away && l.State == channels.LinkUp {
			return true
		}
	}
	return false
}

// hasTold tells whether the state was named as it should be; the sink's lock is
// held.
func (s *storm) hasTold(had int, says string) bool {
	want := s.kind.state
	if want == "" {
		want = channels.LinkConnecting
	}
	return slices.ContainsFunc(s.sink.links[had:], func(l channels.Link) bool {
		return l.State == want && strings.Contains(l.Detail, says)
	})
}

// named checks how the state was named once it was up again.
func (s *storm) named(had int) {
	s.t.Helper()
	s.sink.mu.Lock()
	defer s.sink.mu.Unlock()
	switch {
	case s.hasTold(had, s.kind.says):
	case s.hasTold(had, lost):
		// A machine that is short of time may see the end before it has
		// decrypted what was said.
		s.unheard++
	default:
		s.errorf("round %d: told %v, want %q", s.done, s.sink.links[had:], s.kind.says)
	}
}

// settle lets everything be said, and checks that it was.
func (s *storm) settle() {
	s.t.Helper()
	for _, st := range slices.Concat(s.chats, s.bots) {
		close(st.pace)
	}
	s.wg.Wait()
	for _, st := range s.chats {
		for _, one := range st.sent {
			one.WaitAcked()
		}
		var lost []string
		got, next := st.shown(), 0
		for n, one := range st.sent {
			switch {
			case next < len(got) && got[next] == fmt.Sprint(n):
				next++
			case !one.Forsaken(): // what waited for a device that was unlinked nobody delivers again
				lost = append(lost, fmt.Sprint(n))
			}
		}
		if len(lost) > 0 || next < len(got) {
			s.errorf("chat %s: of %d messages %v are missing, and %v came twice or out of order", st.name, len(st.sent), lost, got[next:])
		}
	}
	// A message that was taken, and whose connection ended before the SDK knew,
	// it can't tell from a new one.
	if s.twice > s.done {
		s.errorf("%d messages came again over %d connections", s.twice, s.done)
	}
	if s.unheard > s.done/20 {
		s.errorf("in %d of %d rounds the state didn't say what the server said", s.unheard, s.done)
	}
	for _, st := range s.bots {
		for n, got := range st.shown() {
			if got != fmt.Sprint(n) {
				s.errorf("%s: number %d is %s", st.name, n, got)
				break
			}
		}
		if n := len(st.shown()); n != st.given {
			s.errorf("%s: %d of %d", st.name, n, st.given)
		}
	}
}

// usage is what a process has open.
type usage struct{ goroutines, files int }

func used() usage {
	u := usage{goroutines: runtime.NumGoroutine()}
	if dir, err := os.ReadDir("/proc/self/fd"); err == nil { // Linux
		u.files = len(dir)
	}
	return u
}
