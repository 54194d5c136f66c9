package app

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/discord"
	"github.com/parley-bot/parley/channels/discord/discordtest"
	"github.com/parley-bot/parley/channels/telegram"
	"github.com/parley-bot/parley/channels/telegram/telegramtest"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/lease"
	"github.com/parley-bot/parley/internal/secret"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/store/sqlite"
)

// shared is a database that several processes have: what each opened itself is
// left aside. One process can be cut off from it.
type shared struct {
	store.DB
	own  store.DB
	away atomic.Bool   // writes fail
	hold chan struct{} // writes wait for it, where not nil
	held atomic.Bool
}

func (s *shared) Shared() bool { return true }
func (s *shared) Close() error { return s.own.Close() }

func (s *shared) Write(ctx context.Context, lane string, fn func(store.Tx) error) error {
	if s.away.Load() {
		return inbox.ErrUnavailable
	}
	if s.held.Load() {
		<-s.hold
	}
	return s.DB.Write(ctx, lane, fn)
}

// replica is one of several processes on one database.
type replica struct {
	*receiver
	db *shared
}

// replicas start one after the other, a second apart.
func replicas(t *testing.T, mk ...func(channelEnv) (channels.Adapter, error)) []*replica {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(memoryDir(t), "parley.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	var out []*replica
	for _, m := range mk {
		r := &replica{db: &shared{DB: db, hold: make(chan struct{})}}
		r.receiver = newReceiver(t, m, "", func(own store.DB) store.DB {
			r.db.own = own
			return r.db
		})
		t.Cleanup(r.end)
		out = append(out, r)
	}
	return out
}

// pair is two replicas with the same account: the first receives, the second
// stands by.
func pair(t *testing.T, first, second func(context.Context, lineSink) error) (a, b *replica) {
	t.Helper()
	l1, l2 := newLine(t, first, works), newLine(t, second)
	l2.together = l1.together
	both := replicas(t, Extra(l1), Extra(l2))
	a, b = both[0], both[1]
	a.start()
	a.stands(time.Second, channels.LinkUp, "", 1)
	b.start()
	b.stands(0, channels.LinkStandby, "another process receives", 0)
	return a, b
}

// soonest is the longest until a replica that stands by has asked again.
const soonest = 2 * standEvery

// Exactly one process holds an account's connection, for as long as it
// renews its lease; a replica that stands by is ready.
func TestHold_OneReceivesTheOtherStandsBy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t, works, works)
		for range 24 {
			a.stands(time.Hour, channels.LinkUp, "", 1)
			b.stands(0, channels.LinkStandby, "another process receives", 0)
		}
		for _, r := range []*replica{a, b} {
			if got := r.ready(t.Context()); !got.Ready {
				t.Errorf("not ready: %+v", got)
			}
		}
		if got := b.health.report()["line"]; got.Up || !got.ConnectedSince.IsZero() {
			t.Errorf("it stands by, and %+v", got)
		}
		m := (&bed{t: t, app: b.App}).metric
		if m("parley_channel_up", "channel", "line") != 0 || m("parley_channel_state", "channel", "line", "state", "standby") != 1 {
			t.Error("the metrics don't tell that it stands by")
		}
		if n := strings.Count(b.logs.String(), "stands by"); n != 1 {
			t.Errorf("told %d times that it stands by", n)
		}
		a.stop()
		b.stands(soonest, channels.LinkUp, "", 1)
		a.start()
		a.stands(time.Hour, channels.LinkStandby, "another process receives", 1)
		b.stands(0, channels.LinkUp, "", 1)
	})
}

// A process that can't renew lets go before the lease can be another's, and
// receives no more until it holds it again.
func TestHold_WhoCannotRenewLetsGo(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(*shared){
		"the store refuses": func(s *shared) { s.away.Store(true) },
		"the store hangs":   func(s *shared) { s.held.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				over := make(chan error, 1)
				a, b := pair(t, func(ctx context.Context, s lineSink) error {
					_ = works(ctx, s)
					over <- context.Cause(ctx)
					return nil
				}, works)
				cut(a.db)
				time.Sleep(store.AccountTerm - holdMargin)
				synctest.Wait()
				select {
				case err := <-over:
					if !errors.Is(err, lease.ErrLost) {
						t.Errorf("Run was cancelled with %v", err)
					}
				default:
					t.Fatalf("it receives still\n%s", a.logs)
				}
				// The last renewal was up to 10 s before it was cut off.
				b.stands(holdMargin+soonest, channels.LinkUp, "", 1)
				if a.db.held.Swap(false) {
					close(a.db.hold)
				}
				a.db.away.Store(false)
				a.stands(soonest, channels.LinkStandby, "another process receives", 1)
				b.stands(time.Hour, channels.LinkUp, "", 1)
				b.stop()
				a.stands(soonest, channels.LinkUp, "", 2)
			})
		})
	}
}

// A process that was held up for longer than its lease learns that it has lost
// it, and lets go at once.
func TestHold_WhatIsLostIsLetGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, works)
		r := replicas(t, Extra(l))[0]
		r.start()
		r.stands(time.Second, channels.LinkUp, "", 1)
		other := store.New(r.db.DB)
		if err := r.st.ReleaseAccount(t.Context(), "line", roleReceive, r.owner); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := other.LeaseAccount(t.Context(), "line", roleReceive, "other"); !ok || err != nil {
			t.Fatal(ok, err)
		}
		r.stands(renewEvery, channels.LinkStandby, "another process receives", 1)
		if got := l.together.Load(); got != 0 {
			t.Errorf("%d connections", got)
		}
		// The other one has died.
		r.stands(store.AccountTerm+soonest, channels.LinkUp, "", 2)
	})
}

// A Run that hangs and doesn't heed its end holds up no other process.
func TestHold_OfARunThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		l1 := newLine(t, func(_ context.Context, s lineSink) error {
			s.link(channels.LinkUp, "")
			s.alive(time.Minute)
			<-release
			return nil
		}, works)
		both := replicas(t, Extra(l1), Extra(newLine(t, works)))
		a, b := both[0], both[1]
		a.start()
		a.stands(time.Second, channels.LinkUp, "", 1)
		b.start()
		a.stands(time.Minute+heed, channels.LinkFailed, "doesn't end: restart parley", 1)
		b.stands(soonest, channels.LinkUp, "", 1)
		close(release)
		a.stands(time.Minute, channels.LinkStandby, "another process receives", 1)
	})
}

// Where one process has the database there is no lease to wait for: a start
// after a kill is at once.
func TestHold_NothingWhereOneProcessHasTheDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(t, Extra(newLine(t, works)), "", nil)
		if _, ok, err := r.st.LeaseAccount(t.Context(), "line", roleReceive, "killed"); !ok || err != nil {
			t.Fatal(ok, err)
		}
		r.start()
		r.stands(0, channels.LinkUp, "", 1)
		r.end()
	})
}

// until waits until the channel is in a state, in real time.
func (r *receiver) until(state channels.LinkState) {
	r.t.Helper()
	limit := time.After(channeltest.Patience)
	for r.health.report()["line"].State != string(state) {
		select {
		case <-r.health.changed:
		case <-limit:
			r.t.Fatalf("it isn't %s: %+v\n%s", state, r.health.report()["line"], r.logs)
		}
	}
}

// The adapters of platforms that serve one connection are in one process only;
// none of the platforms sees two at once.
func TestHold_RealAdapters(t *testing.T) {
	t.Parallel()
	t.Run("telegram", func(t *testing.T) {
		t.Parallel()
		fake := telegramtest.New(telegramtest.Options{})
		t.Cleanup(fake.Close)
		both := replicas(t, telegramAt(fake.URL(), nil), telegramAt(fake.URL(), nil))
		takesOver(t, both, func() {
			fake.Say(telegramtest.User{ID: 42, Name: "Ana"}, "hi", nil)
			if err := fake.Wait(t.Context(), func() bool { return len(fake.Unconfirmed()) == 0 }); err != nil {
				t.Fatal(err)
			}
		})
		for _, c := range fake.Calls("getUpdates") {
			if c.Code != 0 {
				t.Errorf("a poll got %d %s", c.Code, c.Description)
			}
		}
	})
	t.Run("discord", func(t *testing.T) {
		t.Parallel()
		fake := discordtest.New(discordtest.Options{})
		t.Cleanup(fake.Close)
		both := replicas(t, discordAt(fake), discordAt(fake))
		takesOver(t, both, func() {
			if n := fake.Connected(); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
		for _, v := range fake.Violations() {
			t.Error(v)
		}
	})
}

// takesOver lets the second take over from the first, and back; check is called
// while one receives.
func takesOver(t *testing.T, both []*replica, check func()) {
	t.Helper()
	a, b := both[0], both[1]
	a.start()
	a.until(channels.LinkUp)
	b.start()
	b.until(channels.LinkStandby)
	check()
	a.stop()
	b.until(channels.LinkUp)
	check()
	a.start()
	a.until(channels.LinkStandby)
	b.stop()
	a.until(channels.LinkUp)
	check()
}

// A whole bot that is stopped leaves the account to the other at once, which
// answers from then on; nothing is answered twice or left over.
func TestHold_AWholeBotTakesOver(t *testing.T) {
	t.Parallel()
	fake := telegramtest.New(telegramtest.Options{})
	t.Cleanup(fake.Close)
	both := replicas(t, telegramAt(fake.URL(), nil), telegramAt(fake.URL(), nil))
	a, b := both[0], both[1]
	answered := func(n int) {
		t.Helper()
		fake.Say(telegramtest.User{ID: 42, Name: "Ana"}, "hi", nil)
		ctx, cancel := context.WithTimeout(t.Context(), channeltest.Patience)
		defer cancel()
		if err := fake.Wait(ctx, func() bool { return len(fake.Messages(42)) == n && len(fake.Unconfirmed()) == 0 }); err != nil {
			t.Fatalf("%d answers, want %d: %v\n%s\n%s", len(fake.Messages(42)), n, err, a.logs, b.logs)
		}
	}
	for i, r := range both {
		r.stop = func() {}
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.until([]channels.LinkState{channels.LinkUp, channels.LinkStandby}[i])
	}
	answered(1)
	if err := a.App.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	b.until(channels.LinkUp)
	answered(2)
	for _, c := range fake.Calls() {
		if c.Code != 0 {
			t.Errorf("%s got %d %s", c.Method, c.Code, c.Description)
		}
	}
}

func telegramAt(url string, rt http.RoundTripper) func(channelEnv) (channels.Adapter, error) {
	return func(env channelEnv) (channels.Adapter, error) {
		return telegram.New(telegram.Config{Token: secret.New(telegramtest.Token), APIURL: url},
			telegram.Deps{Host: env.host, Log: env.log, Name: "line", Lang: "en", Transport: rt})
	}
}

func discordAt(fake *discordtest.Server) func(channelEnv) (channels.Adapter, error) {
	return func(env channelEnv) (channels.Adapter, error) {
		return discord.New(discord.Config{Token: secret.New(discordtest.Token()), APIURL: fake.URL()},
			discord.Deps{Host: env.host, Log: env.log, Name: "line"})
	}
}
