package discord_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/discord"
	"github.com/parley-bot/parley/channels/discord/discordtest"
	"github.com/parley-bot/parley/internal/secret"
)

var ana = discordtest.User{ID: "4200000000000000042", Name: "Ana", Locale: "es-ES"}

// bed is an adapter on the fake platform.
type bed struct {
	*discord.Adapter
	t    *testing.T
	fake *discordtest.Server
	host *channeltest.Host
	logs *channeltest.Log
	sink *sink
	cfg  discord.Config

	rests chan time.Duration // each wait of the adapter
	dead  *channeltest.Line
	clock *clock
	skew  time.Duration // of the machine's clock, from the next process on
	over  chan struct{} // closed when Run has returned
}

type option func(*discord.Config, *discordtest.Options)

func newBed(t *testing.T, opts ...option) *bed {
	t.Helper()
	b := &bed{
		t: t, host: channeltest.NewHost(), logs: new(channeltest.Log), sink: newSink(), clock: new(clock),
		rests: make(chan time.Duration, 4096), dead: channeltest.NewLine(),
	}
	o := discordtest.Options{Now: b.clock.now}
	cfg := discord.Config{Token: secret.New(discordtest.Token())}
	for _, opt := range opts {
		opt(&cfg, &o)
	}
	b.fake = discordtest.New(o)
	t.Cleanup(b.fake.Close)
	t.Cleanup(func() {
		for _, v := range b.fake.Violations() {
			t.Errorf("the fake platform was misused: %s", v)
		}
		b.logs.Hides(t, discordtest.Token(), "itoken-")
	})
	cfg.APIURL = b.fake.URL()
	if cfg.Mode == discord.ModeInteractions {
		cfg.PublicKey = b.fake.PublicKey()
	}
	b.cfg = cfg
	b.restart()
	return b
}

func interactions(c *discord.Config, _ *discordtest.Options) { c.Mode = discord.ModeInteractions }

// restart makes the adapter anew, as a new process does, with the same state.
func (b *bed) restart() {
	b.t.Helper()
	a, err := discord.New(b.cfg, discord.Deps{
		Host: b.host, Log: slog.New(slog.NewTextHandler(b.logs, &slog.HandlerOptions{Level: slog.LevelDebug})), Name: "dc", Transport: b.dead,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	a.SetWait(func(ctx context.Context, d time.Duration) error {
		select {
		case b.rests <- d:
		default:
		}
		return ctx.Err()
	})
	skew := b.skew
	a.SetNow(func() time.Time { return b.clock.now().Add(skew) })
	b.Adapter = a
	b.sink.set(a)
}

// run starts the adapter; stop ends it and returns what Run returned.
func (b *bed) run() (stop func() error) {
	b.t.Helper()
	a, over := b.Adapter, make(chan struct{})
	b.over = over
	return channeltest.Start(b.t, func(ctx context.Context) error {
		defer close(over)
		return a.Run(ctx, b.sink)
	})
}

// ends waits for Run to end by itself.
func (b *bed) ends() error {
	b.t.Helper()
	return channeltest.Ends(b.t, func(ctx context.Context) error { return b.Run(ctx, b.sink) }, b.logs)
}

func (b *bed) wait(what string, cond func() bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), channeltest.Patience)
	defer cancel()
	if err := b.fake.Wait(ctx, cond); err != nil {
		b.t.Fatalf("%s: %v; log:\n%s", what, err, b.logs)
	}
}

// connected waits for a session, and for the calls that follow a start.
func (b *bed) connected() {
	b.t.Helper()
	b.wait("not connected", func() bool {
		return b.fake.Connected() == 1 && b.fake.Commands() != "" && len(b.fake.Calls("GET", "/applications/@me")) > 0
	})
	b.up()
}

// up waits until the adapter says that it is connected.
func (b *bed) up() {
	b.t.Helper()
	for from := b.sink.told(); b.Link().State != channels.LinkUp; {
		from = b.linked(from, "that it is up", func(channels.Link) bool { return true })
	}
}

// linked waits until the core, which had been told of that many states, is told
// of one that will do; it returns the number of states then.
func (b *bed) linked(from int, what string, will func(channels.Link) bool) int {
	b.t.Helper()
	patience := time.After(channeltest.Patience)
	for n := from; ; {
		b.sink.mu.Lock()
		states, more := b.sink.links[n:], b.sink.linked
		b.sink.mu.Unlock()
		for _, l := range states {
			if n++; will(l) {
				return n
			}
		}
		select {
		case <-more:
		case <-patience:
			b.t.Fatalf("the core isn't told %s; log:\n%s", what, b.logs)
		}
	}
}

// next is what the core was given next.
func (b *bed) next() channels.Inbound {
	b.t.Helper()
	return channeltest.Next(b.t, b.sink.got, b.logs)
}

func (b *bed) nothing() {
	b.t.Helper()
	channeltest.Nothing(b.t, b.sink.got)
}

// sink is the core; it fails as often as it is told to.
type sink struct {
	got chan channels.Inbound
	ack channels.PressAck

	mu      sync.Mutex
	adapter channels.Acker
	errs    []error
	links   []channels.Link
	linked  chan struct{} // closed and replaced with each of them
	hold    chan struct{}
}

func newSink() *sink {
	return &sink{got: make(chan channels.Inbound, 1<<14), linked: make(chan struct{})}
}

func (s *sink) set(a channels.Acker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.adapter = a
}

func (s *sink) fail(errs ...error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, errs...)
}

func (s *sink) Accept(ctx context.Context, in channels.Inbound) error {
	s.mu.Lock()
	adapter, hold := s.adapter, s.hold
	var err error
	if len(s.errs) > 0 {
		err, s.errs = s.errs[0], s.errs[1:]
	}
	s.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err != nil {
		return err
	}
	if in.Kind == channels.KindPress {
		if err := adapter.Ack(ctx, in, s.ack); err != nil {
			return err
		}
	}
	select {
	case s.got <- in:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *sink) Linked(_ context.Context, l channels.Link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links = append(s.links, l)
	close(s.linked)
	s.linked = make(chan struct{})
}

// told counts the states that the core was told of.
func (s *sink) told() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.links)
}

// clock is the platform's and the adapter's; it can be put forward.
type clock struct {
	mu sync.Mutex
	by time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.by)
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by += d
}
