package app

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/lease"
)

// heed is how long the Run of a channel has to end once it is to.
const heed = 30 * time.Second

// runChannel keeps one channel receiving: an adapter that ends with an error,
// or gives no more signs of life, is started again, ever more patiently.
func (a *App) runChannel(ctx context.Context, in instance) {
	const first, most = time.Second, time.Minute
	for wait := first; ; wait = min(2*wait, most) {
		held, release, err := a.hold(ctx, in)
		if err != nil {
			return // ctx has ended
		}
		start := time.Now()
		err = a.attend(held, in, release)
		release()
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, lease.ErrLost):
			wait = first
			continue // to stand by
		}
		a.health.down(in.name, err)
		if err == nil {
			return // it has nothing more to receive (end of the terminal's input)
		}
		a.log.Error("channel stopped receiving: trying again", "channel", in.name, "err", err, "retry_in", wait)
		if time.Since(start) > most {
			wait = first
		}
		if channels.Rest(ctx, wait) != nil {
			return
		}
	}
}

// silentError is that a channel that seemed to run gave no more signs of it.
type silentError struct{ promised time.Duration }

func (e *silentError) Error() string {
	return fmt.Sprintf("no sign of life for %s: started again", e.promised)
}

// attend calls the adapter's Run once. One that breaks its promise of a sign
// of life is told to end. attend returns when Run has: why it ended, or why it
// was told to. Whatever a Run that doesn't heed holds is given up before, for
// others to take; beside it none is started.
func (a *App) attend(ctx context.Context, in instance, giveUp func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if l, ok := in.adapter.(channels.Linker); ok {
		a.health.linked(in.name, l.Link())
	} else {
		a.health.up(in.name)
	}
	w := newWatchdog(in.adapter)
	ended := make(chan error, 1)
	go func() {
		ended <- protect(func() error { return in.adapter.Run(ctx, runSink{a.sink(in), w}) })
	}()
	over, err := w.watch(ctx, ended)
	switch {
	case over && ctx.Err() != nil:
		return context.Cause(ctx) // it was as fast as the news
	case over:
		return err
	}
	w.dismiss() // what it says from now on is no news
	if silent, ok := errors.AsType[*silentError](err); ok {
		a.log.Warn("channel gives no sign of life: it has to end", "channel", in.name, "for", silent.promised)
		a.health.linked(in.name, channels.Link{State: channels.LinkFailed, Detail: err.Error()})
		cancel(err)
	} else if errors.Is(err, lease.ErrLost) {
		a.health.linked(in.name, channels.Link{State: channels.LinkConnecting, Detail: "another process may receive: letting go"})
	}
	timer := time.NewTimer(heed)
	defer timer.Stop()
	select {
	case <-ended: //nolint:errcheck // it was told to end: whatever it says is about that
		return err
	case <-timer.C:
	}
	a.log.Error("channel doesn't end: restart parley", "channel", in.name, "err", err)
	a.health.stuck(in.name)
	giveUp()
	<-ended //nolint:errcheck // likewise
	return err
}

func protect(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the channel panicked with a %T", r) // the value may hold a credential
			if re, ok := r.(runtime.Error); ok {
				err = fmt.Errorf("the channel panicked: %w", re)
			}
		}
	}()
	return fn()
}
