//go:build unix

package crash

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-bot/parley/internal/app"
	"github.com/parley-bot/parley/internal/config"
)

// TestRace lets a press race a typed yes and the timeout, a thousand times: at
// most one of them counts, and what people are told agrees with what was done.
func TestRace_B26_PressTextTimeout(t *testing.T) {
	t.Parallel()
	const (
		lanes   = 12
		races   = 84
		timeout = 60 * time.Millisecond
	)
	back := newBackend(t)
	addr := inProcess(t, back.addr, timeout, nil)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 3*patience, errPatience) // a thousand things
	defer cancel()
	var total tally
	var people sync.WaitGroup
	for lane := range lanes {
		r := random(t, uint64(lane))
		people.Go(func() {
			p, err := newPerson(ctx, t, newClient(t), func(context.Context) (string, error) { return addr, nil })
			if err != nil {
				t.Error(err)
				return
			}
			k := newTalk(p)
			// The answers come around the moment that makes each of the three
			// the first as often; where that is depends on the machine, so it
			// is looked for on the way.
			mid := timeout * 3 / 4
			for n := 0; n < races && k.err == nil; n++ {
				at := func() time.Duration { return max(0, mid+time.Duration(r.Int64N(int64(timeout)/3))-timeout/6) }
				press, text := at(), at()
				if n%2 == 0 {
					text = press // both at once
				}
				if race(k, back, &total, fmt.Sprintf("%d-%d", lane, n), press, text) {
					mid -= timeout / 12
				} else {
					mid += timeout / 24
				}
			}
			if k.err != nil {
				t.Errorf("chat %d: %v", lane, k.err)
				cancel()
			}
		})
	}
	people.Wait()
	back.checkKeys(t)
	t.Logf("won by a press: %d, by a text: %d, by the timeout: %d", total.press.Load(), total.text.Load(), total.expired.Load())
	if n := total.press.Load() + total.text.Load() + total.expired.Load(); n != lanes*races && !t.Failed() {
		t.Errorf("%d races had an end, want %d", n, lanes*races)
	}
	if !t.Failed() && (total.expired.Load() == 0 || total.press.Load()+total.text.Load() == 0) {
		t.Error("one side won every race: they were none")
	}
}

type tally struct{ press, text, expired atomic.Int64 }

// race asks a question and lets two answers come when they come.
func race(k *talk, back *backend, total *tally, ref string, press, text time.Duration) (expired bool) {
	k.says("order " + ref)
	q := k.asked(ref, 2)
	if k.err != nil {
		return false
	}
	var outcome string
	presser, writer := &talk{person: k.person}, &talk{person: k.person}
	var both sync.WaitGroup
	both.Go(func() {
		pause(k.ctx, press)
		outcome = presser.presses(q, "yes")
	})
	both.Go(func() {
		pause(k.ctx, text)
		writer.says("yes")
	})
	both.Wait()
	k.do(func() error { return presser.err })
	k.do(func() error { return writer.err })
	k.says("done " + ref)

	// What is said until everything before it is over.
	var done, echoed bool
	for k.err == nil {
		got := k.hears(fmt.Sprintf("Ordered: 2 × %s.", ref), "You said: yes", "You said: done "+ref)
		if got == "You said: done "+ref {
			break
		}
		done, echoed = done || got != "You said: yes", echoed || got == "You said: yes"
	}
	if k.err != nil {
		return false
	}
	closing, err := k.closed(q)
	k.do(func() error { return err })
	accepted, runs, shown := outcome == "accepted", len(back.of(ref)), closing != q.Data.Text
	switch {
	case runs > 1:
		k.failf("order %s was made %d times", ref, runs)
	case accepted && !echoed:
		k.failf("order %s: both the press and the text counted", ref)
	case accepted || !echoed:
		if runs != 1 || !done || !shown {
			k.failf("order %s was approved: made %d times, told %v, shown %v", ref, runs, done, shown)
		}
		if accepted {
			total.press.Add(1)
		} else {
			total.text.Add(1)
		}
	default:
		if runs != 0 || done || shown {
			k.failf("order %s expired: made %d times, told %v, shown %v", ref, runs, done, shown)
		}
		total.expired.Add(1)
		return true
	}
	return false
}

// TestRace_B26_LateExpiry answers after a question's time is over but before
// anybody has ended it: that never counts.
func TestRace_B26_LateExpiry(t *testing.T) {
	t.Parallel()
	const timeout = time.Minute
	back := newBackend(t)
	var ahead atomic.Int64 // of the store's clock
	addr := inProcess(t, back.addr, timeout, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errPatience)
	defer cancel()
	var talks [10]*talk
	var asked [10]event
	for i := range talks {
		p, err := newPerson(ctx, t, newClient(t), func(context.Context) (string, error) { return addr, nil })
		if err != nil {
			t.Fatal(err)
		}
		talks[i] = newTalk(p)
		talks[i].says(fmt.Sprint("order ", i))
		asked[i] = talks[i].asked(fmt.Sprint(i), 2)
	}
	ahead.Store(int64(timeout))
	for i, k := range talks {
		if i%2 == 0 {
			if got := k.presses(asked[i], "yes"); k.err == nil && got != "stale" {
				k.failf("a press after the time was over: %s, want stale", got)
			}
		} else {
			k.says("yes")
		}
	}
	for i, k := range talks {
		k.sees(asked[i], "")
		if i%2 != 0 {
			k.hears("You said: yes")
		}
		k.says("bye")
		k.hears("You said: bye")
		if k.err != nil {
			t.Errorf("chat %d: %v", i, k.err)
		}
		if n := len(back.of(fmt.Sprint(i))); n != 0 {
			t.Errorf("order %d was made %d times", i, n)
		}
	}
}

// inProcess is the daemon without a process of its own. A nil clock is the
// machine's.
func inProcess(t *testing.T, tools string, timeout time.Duration, clock func() time.Time) (addr string) {
	t.Helper()
	opts := app.Kinds()
	vars := map[string]string{envData: t.TempDir(), envBackend: tools, envTimeout: timeout.String()}
	opts.Env = func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
	cfg, err := config.Load(configFile, opts)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	bot, err := app.Build(t.Context(), cfg, app.Options{Version: "test", Log: log, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), bot, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := a.Stop(ctx); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return "http://" + a.Addr()
}
