package discord_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/discord"
	"github.com/parley-bot/parley/channels/discord/discordtest"
)

// rounds is how often a connection ends in each way.
const rounds = 200

// ending is a way in which a connection ends.
type ending struct {
	// cut ends it, the n-th time.
	cut func(b *bed, n int)
	// state and says are what the adapter tells the core of it; an empty state
	// is LinkConnecting.
	state channels.LinkState
	says  string
	// gone is true where the session ends with it: then Discord tells again
	// only what its history has.
	gone bool
	// beat is how often Discord wants a heartbeat; 0 is as usual.
	beat time.Duration
	// mend undoes it, once it was told of.
	mend func(b *bed)
	// process is true where the bot's own process ends instead, and another
	// begins; killed, where that has only what was saved before.
	process, killed bool
}

func endings() map[string]ending {
	closed := func(codes ...int) func(*bed, int) {
		return func(b *bed, n int) { b.fake.Disconnect(codes[n%len(codes)]) }
	}
	return map[string]ending{
		"closed cleanly":     {cut: closed(1000, 1001), says: "websocket: close 100"},
		"closed for a fault": {cut: closed(4000, 4001, 4002, 4005, 4008), says: "websocket: close 400"},
		"session timed out":  {cut: closed(4003, 4007, 4009), says: "websocket: close 400", gone: true},
		"reset":              {cut: func(b *bed, _ int) { b.fake.Reset() }, says: "gateway: "},
		"silence":            {cut: func(b *bed, _ int) { b.fake.Silence() }, says: "heartbeats are not acknowledged", beat: 10 * time.Millisecond},
		"asked to reconnect": {cut: func(b *bed, _ int) { b.fake.Reconnect() }, says: "asked to connect anew"},
		"session to resume":  {cut: func(b *bed, _ int) { b.fake.Invalidate(true) }, says: "has to be resumed"},
		"session invalid":    {cut: func(b *bed, _ int) { b.fake.Invalidate(false) }, says: "session is gone", gone: true},
		"resume refused": {
			cut:  func(b *bed, _ int) { b.fake.RefuseResumes(1); b.fake.Reset() },
			says: "session is gone", gone: true,
		},
		"server restarted": {cut: func(b *bed, _ int) { b.fake.Restart() }, says: "session is gone", gone: true},
		"away for a while": {
			cut:  func(b *bed, _ int) { b.fake.SetAway(true) },
			says: "the gateway answered 502",
			mend: func(b *bed) { b.fake.SetAway(false) },
		},
		"token revoked": {
			cut:   func(b *bed, _ int) { b.fake.RevokeToken() },
			state: channels.LinkRefused, says: "get a new one in the developer portal (Bot, Reset Token) for channels.dc.token", gone: true,
			mend: func(b *bed) { b.fake.RestoreToken() },
		},
		"process stopped": {process: true},
		"process killed":  {process: true, killed: true},
	}
}

// TestGateway_G1_G5_TwoHundredEndingsOfEachKind: people write and press all the
// time, in channels, a thread and in private, and the bot answers, while the
// connection ends in one way two hundred times. Each time the core is told why,
// and that it is up again. What people wrote reaches the core, each channel's
// in its order; twice only under the same id, and not even that where the
// session goes on. Each answer is shown once, though sends fail meanwhile.
func TestGateway_G1_G5_TwoHundredEndingsOfEachKind(t *testing.T) {
	t.Parallel()
	for name, end := range endings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, func(_ *discord.Config, o *discordtest.Options) { o.Identifies, o.Heartbeat = 100_000, end.beat })
			c := newCrowd(b)
			stop := b.run()
			b.connected()
			c.begin(!end.gone)
			for n := range rounds {
				c.hears()     // it brings something
				if end.gone { // the last seconds are fetched again
					b.clock.forward(7 * time.Second)
				}
				from := b.sink.told()
				if end.process {
					stop = c.process(stop, end.killed)
				} else {
					from, stop = c.lose(end, n, from, stop)
				}
				b.linked(from, "that it is up again", func(l channels.Link) bool { return l.State == channels.LinkUp })
			}
			c.end()
			if err := stop(); err != nil {
				t.Error(err)
			}
			c.check(end.gone || end.process)
			if n := b.fake.Identified(); !end.gone && n != 1 || end.gone && n <= rounds {
				t.Errorf("identified %d times", n)
			}
			t.Logf("%d written, %d pressed, %d came again; %d answers, %d of them sent again; %d sessions begun",
				c.count(c.said), len(c.pressed), c.again, c.count(c.answers), c.repeated, b.fake.Identified())
		})
	}
}

// lose loses the connection, and waits until the core knows why. A Run that
// ends by it is started again, as the core does.
func (c *crowd) lose(end ending, n, from int, stop func() error) (told int, again func() error) {
	c.t.Helper()
	end.cut(c.bed, n)
	told = c.linked(from, "what happened", func(l channels.Link) bool {
		if l.State == channels.LinkUp { // it had ended by itself, with heartbeats that fast
			end.cut(c.bed, n)
		}
		return l.State == cmp.Or(end.state, channels.LinkConnecting) && strings.Contains(l.Detail, end.says)
	})
	if end.state != "" {
		select {
		case <-c.over:
		case <-time.After(channeltest.Patience):
			c.t.Fatalf("Run goes on; log:\n%s", c.logs)
		}
		if err := stop(); err == nil || !strings.Contains(err.Error(), end.says) {
			c.t.Fatalf("Run ended with %v", err)
		}
	}
	if end.mend != nil {
		end.mend(c.bed)
	}
	if end.state != "" {
		stop = c.run()
	}
	return told, stop
}

// process ends the process and begins another.
func (c *crowd) process(stop func() error, killed bool) (again func() error) {
	c.t.Helper()
	saved := map[string][]byte{}
	for _, k := range c.host.Keys() {
		v, err := c.host.State().Get(c.t.Context(), k)
		if err != nil {
			c.t.Fatal(err)
		}
		saved[k] = v
	}
	if err := stop(); err != nil {
		c.t.Fatal(err)
	}
	if killed {
		for k, v := range saved {
			if err := channels.Put(c.t.Context(), c.host.State(), k, v); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	c.restart()
	c.sender.Store(c.Adapter)
	return c.run()
}

// crowd are people who write, and a bot that answers.
type crowd struct {
	*bed
	places []string
	// sender is the adapter of the process that runs now.
	sender atomic.Pointer[discord.Adapter]

	ctx    context.Context //nolint:containedctx // its end is that of all who write
	leave  context.CancelFunc
	people sync.WaitGroup
	heard  chan struct{} // receives for what comes the first time

	mu      sync.Mutex
	said    map[string][]string // ids of what was written, by place
	pressed []string
	// got is what the core was given, once each, and bytes what it was.
	got   map[string][]string
	bytes map[string]string
	again int
	// answers are the texts that were sent, by place.
	answers  map[string][]string
	repeated int
}

// ahead is how much of a place is under way: whoever wrote it waits.
const ahead = 2

func newCrowd(b *bed) *crowd {
	c := &crowd{
		bed: b, said: map[string][]string{}, got: map[string][]string{}, bytes: map[string]string{}, answers: map[string][]string{}, heard: make(chan struct{}, 1),
		places: []string{discordtest.TextID, b.fake.AddChannel(""), b.fake.AddChannel(discordtest.TextID), b.fake.DM(ana)},
	}
	c.sender.Store(b.Adapter)
	c.ctx, c.leave = context.WithCancel(b.t.Context())
	b.t.Cleanup(c.leave)
	return c
}

// begin lets them write. Direct conversations are known once somebody wrote.
func (c *crowd) begin(press bool) {
	came := map[string]chan struct{}{}
	for _, p := range c.places {
		came[p] = make(chan struct{}, 1<<14)
		c.say(p)
	}
	for range c.places {
		c.take(c.next(), came)
	}
	for n, p := range c.places {
		c.people.Go(func() { c.talk(p, press && n == 0, came[p]) })
	}
	c.people.Go(func() {
		for {
			select {
			case in := <-c.sink.got:
				c.take(in, came)
			case <-c.ctx.Done():
				return
			}
		}
	})
}

func (c *crowd) say(place string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.said[place])
	c.said[place] = append(c.said[place], c.fake.Say(ana, place, fmt.Sprintf("<@%s> %d", discordtest.BotID, n), nil))
}

// talk writes on and on, presses a button now and then, and answers as an
// outbox does.
func (c *crowd) talk(place string, press bool, came <-chan struct{}) {
	for n := 0; ; n++ {
		if n >= ahead {
			select {
			case <-came:
			case <-c.ctx.Done():
				return
			}
		}
		if press && n%5 == 0 {
			id := c.fake.Press(ana, place, "1", "a-button")
			c.mu.Lock()
			c.pressed = append(c.pressed, id)
			c.mu.Unlock()
		}
		c.say(place)
		if n%4 == 0 {
			c.answer(place, n)
		}
	}
}

// answer sends until it succeeds, with the same key. Now and then the first
// try fails.
func (c *crowd) answer(place string, n int) {
	text := fmt.Sprintf("%s: answer %d", place, n)
	faults := []discordtest.Fault{
		{Done: true, Drop: true}, {Drop: true}, {Status: 502, Raw: "<html>"}, {Status: 429, RetryAfter: 0.001}, {Done: true, Status: 504, Raw: "<html>"},
	}
	if n%16 == 0 {
		f := faults[n/16%len(faults)]
		f.Holding = []string{"POST", place + "/messages"}
		c.fake.Script(f)
	}
	chat := channels.Chat{ID: channels.ChatID(place), Group: place != c.places[len(c.places)-1]}
	for c.t.Context().Err() == nil {
		_, err := c.sender.Load().Send(c.t.Context(), channels.Part{Chat: chat, Text: text, Key: text})
		c.mu.Lock()
		if err == nil {
			c.answers[place] = append(c.answers[place], text)
		} else {
			c.repeated++
		}
		c.mu.Unlock()
		switch class := channels.ClassOf(err); {
		case err == nil:
			return
		case class == channels.PermanentChat || class == channels.PermanentMessage:
			c.t.Errorf("answer: %v", err)
			return
		case class == channels.RateLimited, class == channels.PermanentToken:
			_ = channels.Rest(c.t.Context(), time.Millisecond) // or it would be asked without pause
		}
	}
}

func (c *crowd) take(in channels.Inbound, came map[string]chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, place := string(in.Kind)+" "+string(in.ID), string(in.Chat.ID)
	what := fmt.Sprint(place, in.From.ID, in.Text, in.Button)
	if had, ok := c.bytes[id]; ok {
		if c.again++; had != what {
			c.t.Errorf("%s came as %q and as %q", id, had, what)
		}
		return
	}
	c.bytes[id] = what
	c.got[place+" "+string(in.Kind)] = append(c.got[place+" "+string(in.Kind)], string(in.ID))
	if in.Kind == channels.KindMessage {
		came[place] <- struct{}{}
	}
	select {
	case c.heard <- struct{}{}:
	default:
	}
}

// hears waits for something that is new to the core.
func (c *crowd) hears() {
	c.t.Helper()
	select {
	case <-c.heard:
	case <-time.After(channeltest.Patience):
		c.t.Fatalf("nothing came; log:\n%s", c.logs)
	}
}

// end lets them leave, and all come that was said.
func (c *crowd) end() {
	c.t.Helper()
	c.leave()
	c.people.Wait()
	came := map[string]chan struct{}{}
	for _, p := range c.places {
		came[p] = make(chan struct{}, 1<<14)
		c.say(p)
	}
	for {
		c.mu.Lock()
		total := len(c.bytes)
		all := c.count(c.said) + len(c.pressed)
		c.mu.Unlock()
		if total >= all {
			return
		}
		c.take(c.next(), came)
	}
}

func (c *crowd) count(m map[string][]string) (n int) {
	for ids := range maps.Values(m) {
		n += len(ids)
	}
	return n
}

func (c *crowd) check(gone bool) {
	c.t.Helper()
	if !gone && c.again > 0 {
		c.t.Errorf("%d came again, though the session went on", c.again)
	}
	for _, p := range c.places {
		c.same(p+": what was written", c.said[p], c.got[p+" "+string(channels.KindMessage)])
		var shown []string
		for _, m := range c.fake.Bots(p) {
			shown = append(shown, m.Content)
		}
		c.same(p+": what was answered", c.answers[p], shown)
	}
	c.same("what was pressed", c.pressed, c.got[c.places[0]+" "+string(channels.KindPress)])
	answered := map[string]bool{} // in time or not, which depends on the machine
	for _, call := range c.fake.Calls("POST /interactions/", "/callback") {
		answered[strings.Split(call.Path, "/")[2]] = true
	}
	for _, id := range c.pressed {
		if !answered[id] {
			c.t.Errorf("press %s was not answered", id)
		}
	}
}

// same reports the first difference: lists are long.
func (c *crowd) same(what string, want, got []string) {
	c.t.Helper()
	if slices.Equal(want, got) {
		return
	}
	for i := range want {
		if i >= len(got) || want[i] != got[i] {
			c.t.Errorf("%s: %d, want %d; they differ from number %d on", what, len(got), len(want), i)
			return
		}
	}
	c.t.Errorf("%s: %d, want %d", what, len(got), len(want))
}
