package app

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/telegram/telegramtest"
)

// silence is the way to Telegram within a bubble, on which answers can stay
// out. A long poll waits here, in the bubble's time; the server gets short ones.
type silence struct {
	mu     sync.Mutex
	silent bool
	// deaf is closed to end calls that stay out; nil: they end with their
	// context, as calls do.
	deaf chan struct{}
}

func (s *silence) set(silent bool, deaf chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent, s.deaf = silent, deaf
}

func (s *silence) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(r.URL.Path, "/getUpdates") && bytes.Contains(body, []byte(`"timeout":30`)) {
		body = bytes.Replace(body, []byte(`"timeout":30`), []byte(`"timeout":0`), 1)
		if err := channels.Rest(r.Context(), 15*time.Second); err != nil {
			return nil, err
		}
		if err := s.out(r.Context()); err != nil { // in the middle of a poll
			return nil, err
		}
		if err := channels.Rest(r.Context(), 15*time.Second); err != nil {
			return nil, err
		}
	} else if err := s.out(r.Context()); err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	// A kept connection would wait for the network, and hold the bubble's time.
	return (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
}

// out waits until the call is over, where the answer stays out.
func (s *silence) out(ctx context.Context) error {
	s.mu.Lock()
	silent, deaf := s.silent, s.deaf
	s.mu.Unlock()
	switch {
	case !silent:
		return nil
	case deaf != nil:
		<-deaf
	}
	<-ctx.Done()
	return ctx.Err()
}

// A server that stops answering in the middle of a long poll: the channel says
// so, tries on, and is back when the server is.
func TestWatchdog_TelegramThatStopsAnswering(t *testing.T) {
	t.Parallel()
	fake := telegramtest.New(telegramtest.Options{})
	t.Cleanup(fake.Close)
	synctest.Test(t, func(t *testing.T) {
		way := &silence{}
		r := newReceiver(t, telegramAt(fake.URL(), way), "", nil)
		r.start()
		r.stands(time.Hour+time.Second, channels.LinkUp, "", 0)
		way.set(true, nil)
		// The poll under way is given up after 45 s.
		r.stands(time.Minute, channels.LinkConnecting, "polling failed: telegram was not reached: context deadline exceeded", 0)
		if !r.ready(t.Context()).Ready {
			t.Error("not ready a moment after the connection was lost")
		}
		time.Sleep(time.Hour)
		if got := r.health.report()["line"]; got.Up || got.LastError == nil {
			t.Errorf("after an hour: %+v", got)
		}
		if !strings.Contains(r.logs.String(), "channel stopped receiving: trying again") {
			t.Errorf("not told:\n%s", r.logs)
		}
		way.set(false, nil)
		r.stands(2*time.Minute, channels.LinkUp, "", 0)
		if n := r.reconnects(); n != 1 {
			t.Errorf("%v reconnects, want 1", n)
		}
		r.end()
	})
}

// A client that doesn't even heed its own time limit: the core notices.
func TestWatchdog_TelegramThatHangs(t *testing.T) {
	t.Parallel()
	fake := telegramtest.New(telegramtest.Options{})
	t.Cleanup(fake.Close)
	synctest.Test(t, func(t *testing.T) {
		way := &silence{}
		r := newReceiver(t, telegramAt(fake.URL(), way), "", nil)
		r.start()
		r.stands(time.Second, channels.LinkUp, "", 0)
		deaf := make(chan struct{})
		way.set(true, deaf)
		r.stands(164*time.Second, channels.LinkFailed, "no sign of life for 2m45s: started again", 0)
		r.stands(heed, channels.LinkFailed, "doesn't end: restart parley", 0)
		way.set(false, nil)
		close(deaf)
		r.stands(2*time.Second, channels.LinkUp, "", 0)
		r.end()
	})
}
