package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/store"
)

// line is an adapter whose connection is a function of the test, one a Run:
// the last one again and again.
type line struct {
	channels.Adapter
	t *testing.T

	// together counts the connections that are open, of all processes.
	together *atomic.Int32

	mu    sync.Mutex
	runs  []func(ctx context.Context, s lineSink) error
	begun int
}

type lineSink struct{ channels.Sink }

func (s lineSink) link(state channels.LinkState, detail string) {
	s.Sink.(channels.LinkSink).Linked(context.Background(), channels.Link{State: state, Detail: detail}) //nolint:forcetypeassert // as the core promises
}

func (s lineSink) alive(d time.Duration) { channels.Progressed(s.Sink, d) }

func newLine(t *testing.T, runs ...func(context.Context, lineSink) error) *line {
	return &line{Adapter: channeltest.New(channeltest.TextOnly()).Adapter(), t: t, together: new(atomic.Int32), runs: runs}
}

// works is a connection that works until it is told to end.
func works(ctx context.Context, s lineSink) error {
	s.link(channels.LinkUp, "")
	for s.alive(time.Minute); channels.Rest(ctx, 20*time.Second) == nil; {
		s.alive(time.Minute)
	}
	return nil
}

func (l *line) Holds() bool { return true }

func (l *line) Link() channels.Link { return channels.Link{State: channels.LinkConnecting} }

func (l *line) Run(ctx context.Context, s channels.Sink) error {
	l.mu.Lock()
	run := l.runs[min(l.begun, len(l.runs)-1)]
	l.begun++
	l.mu.Unlock()
	if l.together.Add(1) > 1 {
		l.t.Error("a second Run beside the first")
	}
	defer l.together.Add(-1)
	return run(ctx, lineSink{s})
}

// calls tells how often Run was called.
func (l *line) calls() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begun
}

// receiver is a bot of which only the channel "line" runs.
type receiver struct {
	*App
	t    *testing.T
	logs *logs
	stop func()
}

// newReceiver makes a bot, on another one's database where wrap says so.
func newReceiver(t *testing.T, mk func(channelEnv) (channels.Adapter, error), yaml string, wrap func(store.DB) store.DB) *receiver {
	t.Helper()
	dir := memoryDir(t)
	path := filepath.Join(dir, "parley.yaml")
	doc := "store: {url: 'sqlite://" + filepath.Join(dir, "parley.db") + "'}\nmodel: {provider: script, script: model.yaml}\nchannels: {web: {kind: webchat}}\n" + yaml
	for name, text := range map[string]string{path: doc, filepath.Join(dir, "model.yaml"): "rules:\n  - say: unused\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(path, Kinds())
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{t: t, logs: &logs{}}
	bot, err := Build(t.Context(), cfg, Options{
		Log: slog.New(slog.NewTextHandler(r.logs, nil)), Only: []string{""}, WrapDB: wrap,
		Channels: map[string]func(channelEnv) (channels.Adapter, error){"line": mk},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.App, err = New(t.Context(), bot, false); err != nil {
		t.Fatal(err)
	}
	return r
}

// start lets the channel receive.
func (r *receiver) start() {
	ctx, cancel := context.WithCancel(r.t.Context())
	var running sync.WaitGroup
	running.Go(func() { r.runChannel(ctx, r.adapters[0]) })
	running.Go(func() { r.alert(ctx) })
	r.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
}

// end stops it and closes its database.
func (r *receiver) end() {
	r.stop()
	if err := r.App.Stop(context.Background()); err != nil {
		r.t.Error(err)
	}
}

// stands checks how the channel stands after some time of the bubble, and how
// often its Run was called.
func (r *receiver) stands(after time.Duration, state channels.LinkState, detail string, begun int) {
	r.t.Helper()
	time.Sleep(after) // the bubble's
	synctest.Wait()
	got := r.health.report()["line"]
	if got.State != string(state) || got.Detail != detail {
		r.t.Errorf("%s (%q), want %s (%q)\n%s", got.State, got.Detail, state, detail, r.logs)
	}
	if l, ok := r.adapters[0].adapter.(*line); ok && l.calls() != begun {
		r.t.Errorf("Run was called %d times, want %d\n%s", l.calls(), begun, r.logs)
	}
}

func (r *receiver) reconnects() float64 {
	return (&bed{t: r.t, app: r.App}).metric("parley_channel_reconnects_total")
}

// A channel that works is left alone.
func TestWatchdog_AChannelThatWorks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(t, Extra(newLine(t, works)), "", nil)
		r.start()
		r.stands(24*time.Hour, channels.LinkUp, "", 1)
		if got := r.health.report()["line"]; time.Since(got.ConnectedSince) != 24*time.Hour || got.LastError != nil || r.reconnects() != 0 {
			t.Errorf("%+v, %v reconnects", got, r.reconnects())
		}
		r.end()
	})
}

// One that hangs while it says that it is up is ended and started again.
func TestWatchdog_AHangWhileUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		causes := make(chan error, 1)
		hangs := func(ctx context.Context, s lineSink) error {
			s.link(channels.LinkUp, "")
			s.alive(time.Minute)
			s.alive(130 * time.Second) // the last promise counts
			<-ctx.Done()
			causes <- context.Cause(ctx)
			s.link(channels.LinkConnecting, "ending") // no news
			return nil
		}
		r := newReceiver(t, Extra(newLine(t, hangs, works)), "", nil)
		r.start()
		r.stands(129*time.Second, channels.LinkUp, "", 1)
		const why = "no sign of life for 2m10s: started again"
		r.stands(time.Second, channels.LinkFailed, why, 1)
		if got := (<-causes).Error(); got != why {
			t.Errorf("Run was cancelled with %q", got)
		}
		got := r.health.report()["line"]
		if got.Up || got.LastError == nil || got.LastError.Class != "failed" || got.LastError.Doing != "receive" {
			t.Errorf("%+v", got)
		}
		r.stands(time.Second, channels.LinkUp, "", 2)
		if got := r.health.report()["line"]; !got.Up || got.LastError == nil {
			t.Errorf("%+v", got)
		}
		if n := r.reconnects(); n != 1 {
			t.Errorf("%v reconnects, want 1", n)
		}
		for _, want := range []string{"gives no sign of life", `msg="channel stopped receiving: trying again" channel=line err="` + why + `" retry_in=1s`} {
			if !strings.Contains(r.logs.String(), want) {
				t.Errorf("no %q in the log:\n%s", want, r.logs)
			}
		}
		r.end()
	})
}

// One that never says a word is ended, too.
func TestWatchdog_AHangAtTheStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mute := func(ctx context.Context, _ lineSink) error { <-ctx.Done(); return ctx.Err() }
		r := newReceiver(t, Extra(newLine(t, mute, works)), "", nil)
		r.start()
		r.stands(channels.FirstSign-1, channels.LinkConnecting, "", 1)
		r.stands(2*time.Second, channels.LinkUp, "", 2)
		r.end()
	})
}

// One that says that it tries, or that a person is needed, isn't.
func TestWatchdog_WhatSaysWhyItWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := func(ctx context.Context, s lineSink) error {
			for s.link(channels.LinkConnecting, "no route"); ; {
				s.alive(time.Minute + time.Second)
				if channels.Rest(ctx, time.Minute) != nil {
					return nil
				}
			}
		}
		r := newReceiver(t, Extra(newLine(t, tries)), "", nil)
		r.start()
		r.stands(time.Hour, channels.LinkConnecting, "no route", 1)
		if r.ready(t.Context()).Ready {
			t.Error("ready after an hour without a connection")
		}
		r.end()

		waits := func(ctx context.Context, s lineSink) error {
			s.alive(time.Minute)
			s.link(channels.LinkPairing, "no device")
			<-ctx.Done()
			return nil
		}
		r = newReceiver(t, Extra(newLine(t, waits)), "", nil)
		r.start()
		r.stands(time.Hour, channels.LinkPairing, "no device", 1)
		r.end()
	})
}

// One that doesn't heed its end is not started beside itself; the operator is
// told. Should it end after all, it is started again.
func TestWatchdog_AHangThatIgnoresItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		deaf := func(ctx context.Context, s lineSink) error {
			s.link(channels.LinkUp, "")
			s.alive(time.Minute)
			<-ctx.Done()
			s.link(channels.LinkUp, "") // it is none the wiser
			<-release
			return nil
		}
		r := newReceiver(t, Extra(newLine(t, deaf, works)), "alerts: {chat: \"web:ops\", after: 5s}\n", nil)
		r.start()
		r.stands(time.Minute, channels.LinkFailed, "no sign of life for 1m0s: started again", 1)
		r.stands(heed, channels.LinkFailed, "doesn't end: restart parley", 1)
		r.stands(24*time.Hour, channels.LinkFailed, "doesn't end: restart parley", 1)
		if ready := r.ready(t.Context()); ready.Ready {
			t.Errorf("ready: %+v", ready)
		}
		const failed, endless = "The channel line isn't working. failed: no sign of life for 1m0s: started again", "The channel line isn't working. failed: doesn't end: restart parley"
		same(t, []string{failed, endless}, r.alerts())
		close(release)
		r.stands(3*time.Second, channels.LinkUp, "", 2)
		r.stands(10*time.Second, channels.LinkUp, "", 2)
		same(t, []string{failed, endless, "The channel line is working again."}, r.alerts())
		r.end()
	})
}

// A panic is a failure like others.
func TestWatchdog_APanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		falls := func(context.Context, lineSink) error { panic(errors.New("canary")) }
		r := newReceiver(t, Extra(newLine(t, falls, works)), "", nil)
		r.start()
		r.stands(0, channels.LinkFailed, "the channel panicked with a *errors.errorString", 1)
		r.stands(time.Second, channels.LinkUp, "", 2)
		if strings.Contains(r.logs.String(), "canary") {
			t.Error("the log has what it panicked with")
		}
		r.end()
	})
}

// alerts are the texts that the operator's chat was told.
func (r *receiver) alerts() (out []string) {
	r.t.Helper()
	err := r.db.Read(r.t.Context(), func(tx store.Tx) error {
		return tx.Rows(`SELECT payload FROM outbox WHERE chat='web:ops' ORDER BY seq`, nil, func(scan func(...any) error) error {
			var payload []byte
			if err := scan(&payload); err != nil {
				return err
			}
			text, _ := field(r.t, string(payload), "text").(string)
			out = append(out, text)
			return nil
		})
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}
