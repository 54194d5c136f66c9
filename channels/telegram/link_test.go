package telegram_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/telegram/telegramtest"
)

// told is a sink that keeps what it is told of the connection.
type told struct {
	*sink
	links chan channels.Link

	mu    sync.Mutex
	signs []time.Duration
}

func (s *told) Linked(_ context.Context, l channels.Link) { s.links <- l }

func (s *told) Progress(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signs = append(s.signs, d)
}

// runTold runs the adapter on such a sink.
func runTold(b *bed) (s *told, stop func() error) {
	s = &told{sink: b.sink, links: make(chan channels.Link, 64)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx, s) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	b.t.Cleanup(func() { _ = stop() })
	return s, stop
}

func (s *told) next(t *testing.T) channels.Link {
	t.Helper()
	select {
	case l := <-s.links:
		return l
	case <-time.After(channeltest.Patience):
		t.Fatal("nothing was told of the connection")
		return channels.Link{}
	}
}

// The connection is up when a poll was answered, and says what is wrong until
// another is.
func TestLink_OfPolls(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	if !b.Holds() {
		t.Error("a bot that polls holds nothing")
	}
	b.fake.Script(
		telegramtest.Fault{Method: "getUpdates", Status: 502, Raw: "Bad Gateway"},
		telegramtest.Fault{Method: "getUpdates", Code: 409, Description: "Conflict: terminated by other getUpdates request"},
	)
	s, stop := runTold(b)
	var got []channels.Link
	for range 3 {
		got = append(got, s.next(t))
	}
	want := []channels.Link{
		{State: channels.LinkConnecting, Detail: "polling failed: telegram answered 502: Bad Gateway"},
		{State: channels.LinkConnecting, Detail: "another process polls with this token"},
		{State: channels.LinkUp},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	// What failed is tried without waiting for an update.
	for i, c := range b.fake.Calls("getUpdates")[:3] {
		if n := c.Int("timeout"); n != 0 {
			t.Errorf("poll %d before it was up waits %d s", i+1, n)
		}
	}
	b.wait("no long poll", b.fake.Polling)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if l := b.Link(); l.State == channels.LinkUp {
		t.Errorf("after Run it is %s", l)
	}
}

// While the core doesn't take an update nothing is polled, and the channel
// says that it is at it.
func TestLink_ACoreThatIsAwayIsNoHang(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	refused := &channels.RefusedError{Reason: channels.RefusedUnavailable, After: time.Hour}
	b.sink.fail(refused, refused, refused)
	b.fake.Say(ana, "hi", nil)
	s, stop := runTold(b)
	b.next()
	if err := stop(); err != nil {
		t.Error(err)
	}
	longer := 0
	for _, d := range s.signs {
		if d > time.Hour {
			longer++
		}
	}
	if longer != 3 {
		t.Errorf("promised %v: want three signs that tell of an hour's wait", s.signs)
	}
}

// By webhook it is up while it runs, and any number of processes may.
func TestLink_OfAWebhook(t *testing.T) {
	t.Parallel()
	b := newBed(t, webhook)
	if b.Holds() {
		t.Error("a bot with a webhook holds something")
	}
	s, stop := runTold(b)
	if l := s.next(t); l != (channels.Link{State: channels.LinkUp}) {
		t.Errorf("it is %s", l)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if len(s.signs) > 0 {
		t.Errorf("signs of life %v, for which nobody waits", s.signs)
	}
}

// A token that is refused is no connection.
func TestLink_OfARefusedToken(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.fake.RevokeToken()
	s := &told{sink: b.sink, links: make(chan channels.Link, 64)}
	if err := b.Run(t.Context(), s); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v", err)
	}
	if l := s.next(t); l.State != channels.LinkRefused || !strings.Contains(l.Detail, "check channels.tg.token") || b.Link() != l {
		t.Errorf("it is %s, and told as %s", b.Link(), l)
	}
	// One that is refused while it runs, too.
	b = newBed(t)
	s, _ = runTold(b)
	if l := s.next(t); l.State != channels.LinkUp {
		t.Errorf("it is %s", l)
	}
	b.fake.RevokeToken()
	b.fake.Say(ana, "hi", nil)
	if l := s.next(t); l.State != channels.LinkRefused {
		t.Errorf("it is %s", l)
	}
}

// What a proxy answers is no word of Telegram's: the channel is tried again.
func TestLink_OfAProxy(t *testing.T) {
	t.Parallel()
	for _, f := range channeltest.Foreigners() {
		if f.Status == http.StatusTooManyRequests {
			continue
		}
		b := newBed(t)
		b.fake.Script(
			telegramtest.Fault{Method: "getMe", Status: f.Status, Raw: f.Body + " "},
			telegramtest.Fault{Method: "getUpdates", Status: f.Status, Raw: f.Body + " "},
			telegramtest.Fault{Method: "getUpdates", Status: f.Status, Raw: f.Body + " "},
		)
		s, stop := runTold(b)
		if l := s.next(t); l.State != channels.LinkConnecting || !strings.Contains(l.Detail, "polling failed: telegram answered") {
			t.Errorf("%d %s: it is %s", f.Status, f.Body, l)
		}
		if l := s.next(t); l.State != channels.LinkUp {
			t.Errorf("%d %s: then it is %s", f.Status, f.Body, l)
		}
		if err := stop(); err != nil {
			t.Errorf("%d %s: %v", f.Status, f.Body, err)
		}
	}
}
