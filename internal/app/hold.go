package app

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/lease"
	"github.com/parley-bot/parley/internal/store"
)

// The times of an account's lease. It lasts store.AccountTerm on the database's
// clock; one that could not be renewed is given up before that by holdMargin,
// which is for what a Run needs to let go.
const (
	renewEvery = 10 * time.Second
	renewAgain = time.Second // after a renewal that failed
	holdMargin = 5 * time.Second
	// standEvery and up to as much by chance is how often a process that
	// stands by asks whether it may receive.
	standEvery = 2 * time.Second
	// releaseTime bounds the call that gives a lease back.
	releaseTime = 5 * time.Second
)

// roleReceive is what accounts are leased for.
const roleReceive = "ingest"

// hold waits until this process may receive for the channel. held ends with
// lease.ErrLost as soon as that isn't sure any more; release gives the right
// back, once its Run has ended. An error is that ctx has ended.
//
// Where the database admits one process, or the channel holds nothing that
// several processes can't, there is nothing to wait for.
func (a *App) hold(ctx context.Context, in instance) (held context.Context, release func(), err error) {
	if !in.holds() || !a.st.Shared() {
		return ctx, func() {}, ctx.Err()
	}
	for stands := false; ; {
		asked := time.Now()
		_, ok, err := a.st.LeaseAccount(ctx, in.name, roleReceive, a.owner)
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case err != nil:
			a.log.Warn("whether another process receives could not be asked", "channel", in.name, "err", err)
			a.health.linked(in.name, channels.Link{State: channels.LinkConnecting, Detail: "the store doesn't say whether another process receives"})
			stands = false
		case ok:
			held, release := a.keepHold(ctx, right{in.name, roleReceive, a.owner}, asked)
			sent := a.send(held, in)
			return held, func() {
				sent()
				release()
			}, nil
		case !stands:
			a.log.Info("channel stands by: another process receives", "channel", in.name)
			a.health.linked(in.name, channels.Link{State: channels.LinkStandby, Detail: "another process receives"})
			stands = true
		}
		if err := channels.Rest(ctx, standEvery+rand.N(standEvery)); err != nil {
			return nil, nil, err
		}
	}
}

// holds tells whether only one process may receive for the channel.
func (in instance) holds() bool {
	h, ok := in.adapter.(channels.Holder)
	return ok && h.Holds()
}

// send lets the process that receives send as well, as some platforms take
// messages by the connection only. done ends it.
func (a *App) send(held context.Context, in instance) (done func()) {
	ctx, cancel := context.WithCancel(held)
	var sending sync.WaitGroup
	sending.Go(func() { a.sends(ctx, in) })
	return func() {
		cancel()
		sending.Wait()
	}
}

// right is what a lease is of: a channel, and what only one process may do
// there.
type right struct{ name, role, owner string }

// keepHold renews a lease that was asked for at a time, until it is released
// or lost.
func (a *App) keepHold(ctx context.Context, of right, asked time.Time) (held context.Context, release func()) {
	held, lose := context.WithCancelCause(ctx)
	lost := func(why string) {
		if held.Err() == nil {
			if of.role == roleReceive {
				a.log.Warn("channel must not receive any more", "channel", of.name, "why", why)
			} else {
				a.log.Warn("lease was lost", "channel", of.name, "role", of.role, "why", why)
			}
		}
		lose(fmt.Errorf("%s for %s: %w", of.role, of.name, lease.ErrLost))
	}
	// The database counts from when it has the call, which is later. A call
	// that hangs must not keep the end from coming, so a timer brings it.
	left := func(asked time.Time) time.Duration { return time.Until(asked.Add(store.AccountTerm - holdMargin)) }
	end := time.AfterFunc(left(asked), func() { lost("its lease could not be renewed") })
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for wait := renewEvery; channels.Rest(held, wait) == nil; {
			asked, wait = time.Now(), renewEvery
			_, ok, err := a.st.LeaseAccount(held, of.name, of.role, of.owner)
			switch {
			case held.Err() != nil:
			case err != nil:
				a.log.Warn("lease of the channel could not be renewed: trying again", "channel", of.name, "err", err)
				wait = renewAgain
			case !ok:
				lost("another process has it")
			default:
				end.Reset(left(asked))
			}
		}
	})
	return held, sync.OnceFunc(func() {
		lose(nil)
		renewing.Wait()
		end.Stop()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
		if err := a.st.ReleaseAccount(ctx, of.name, of.role, of.owner); err != nil {
			a.log.Warn("lease of the channel could not be given back: it ends by itself", "channel", of.name, "err", err)
		}
	})
}
