package telegram_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/telegram"
	"github.com/parley-bot/parley/channels/telegram/telegramtest"
	"github.com/parley-bot/parley/internal/secret"
)

const hookSecret = "canary_hook-Secret"

var ana = telegramtest.User{ID: 42, Name: "Ana", Username: "ana", Lang: "es"}

// bed is an adapter on the fake platform.
type bed struct {
	*telegram.Adapter
	t    *testing.T
	fake *telegramtest.Server
	host *channeltest.Host
	logs *channeltest.Log
	sink *sink

	rests chan time.Duration // each wait of the adapter
	dead  *channeltest.Line
	hook  *httptest.Server
}

type option func(*telegram.Config, *telegramtest.Options)

func webhook(c *telegram.Config, _ *telegramtest.Options) {
	c.Mode, c.SecretToken = telegram.ModeWebhook, secret.New(hookSecret)
}

func newBed(t *testing.T, opts ...option) *bed {
	t.Helper()
	var o telegramtest.Options
	cfg := telegram.Config{Token: secret.New(telegramtest.Token)}
	for _, opt := range opts {
		opt(&cfg, &o)
	}
	b := &bed{
		t: t, fake: telegramtest.New(o), host: channeltest.NewHost(), logs: new(channeltest.Log), sink: newSink(),
		rests: make(chan time.Duration, 1024), dead: channeltest.NewLine(),
	}
	t.Cleanup(b.fake.Close)
	t.Cleanup(func() {
		for _, v := range b.fake.Violations() {
			t.Errorf("the fake platform was misused: %s", v)
		}
		b.logs.Hides(t, telegramtest.Token, hookSecret)
	})
	b.fake.AddChat(ana.ID)
	cfg.APIURL = b.fake.URL()
	b.restart(cfg)
	return b
}

// restart makes the adapter anew, as a new process does, with the same state.
func (b *bed) restart(cfg telegram.Config) {
	b.t.Helper()
	a, err := telegram.New(cfg, telegram.Deps{Host: b.host, Log: slog.New(slog.NewTextHandler(b.logs, &slog.HandlerOptions{Level: slog.LevelDebug})), Name: "tg", Lang: "es", Transport: b.dead})
	if err != nil {
		b.t.Fatal(err)
	}
	a.SetRest(func(ctx context.Context, d time.Duration) error {
		b.rests <- d
		return ctx.Err()
	})
	b.Adapter, b.sink.adapter = a, a
}

// run starts the adapter; stop ends it and returns what Run returned.
func (b *bed) run() (stop func() error) {
	b.t.Helper()
	return channeltest.Start(b.t, func(ctx context.Context) error { return b.Run(ctx, b.sink) })
}

// ends waits for Run to end by itself.
func (b *bed) ends() error {
	b.t.Helper()
	return channeltest.Ends(b.t, func(ctx context.Context) error { return b.Run(ctx, b.sink) }, b.logs)
}

// serve makes the webhook reachable and returns its address.
func (b *bed) serve() string {
	b.hook = httptest.NewServer(b.Webhook(b.sink))
	b.t.Cleanup(b.hook.Close)
	return b.hook.URL
}

func (b *bed) wait(what string, cond func() bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), channeltest.Patience)
	defer cancel()
	if err := b.fake.Wait(ctx, cond); err != nil {
		b.t.Fatalf("%s: %v; log:\n%s", what, err, b.logs)
	}
}

func (b *bed) confirmed() {
	b.t.Helper()
	b.wait("updates are not confirmed", func() bool { return len(b.fake.Unconfirmed()) == 0 })
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
	adapter channels.Acker
	got     chan channels.Inbound
	ack     channels.PressAck

	mu   sync.Mutex
	errs []error
	seen int
}

func newSink() *sink { return &sink{got: make(chan channels.Inbound, 256)} }

func (s *sink) fail(errs ...error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, errs...)
}

func (s *sink) Accept(ctx context.Context, in channels.Inbound) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen++
	if len(s.errs) > 0 {
		err := s.errs[0]
		s.errs = s.errs[1:]
		if err != nil {
			return err
		}
	}
	if in.Kind == channels.KindPress {
		if err := s.adapter.Ack(ctx, in, s.ack); err != nil {
			return err
		}
	}
	s.got <- in
	return nil
}

func post(t *testing.T, url, secretToken, body string) (int, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if secretToken != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secretToken)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header
}

// cfgFor is the usual configuration for a bed's platform.
func cfgFor(b *bed) telegram.Config {
	return telegram.Config{Token: secret.New(telegramtest.Token), APIURL: b.fake.URL()}
}

// echoing serves answers that hold the path it was asked for, and returns its
// address.
func echoing(t *testing.T, answer string) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	t.Cleanup(conns.Wait)
	t.Cleanup(func() { _ = l.Close() })
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer c.Close()
				r, err := http.ReadRequest(bufio.NewReader(c))
				if err == nil {
					_, _ = io.Copy(io.Discard, r.Body)
					_, _ = io.WriteString(c, strings.ReplaceAll(answer, "%s", r.URL.Path))
				}
			})
		}
	})
	return "http://" + l.Addr().String()
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
