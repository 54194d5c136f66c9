package app

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/store"
)

// What only one of the processes on a database does.
const (
	roleAudit = "audit" // of a sink: to write it
)

// lookEvery and up to as much by chance is how often those who wait for a
// chat's log look, whether or not another process has told of it.
const lookEvery = 3 * time.Second

// replicate begins what a database that others have, too, needs; and what one
// process does for all of them.
func (a *App) replicate(ctx context.Context) {
	for _, f := range a.followers {
		a.running.Go(func() { a.follow(ctx, f) })
	}
	if a.st.Owner() == "" {
		return
	}
	for _, in := range a.adapters {
		if !in.holds() { // else whoever receives sends
			a.running.Go(func() { a.sends(ctx, in) })
		}
	}
	a.running.Go(func() { a.st.Hints(ctx, a.heard) })
	a.running.Go(func() {
		for channels.Rest(ctx, lookEvery+rand.N(lookEvery)) == nil {
			a.hub.all()
		}
	})
}

// sends keeps sending for a channel while this process has the lease, until ctx
// ends.
func (a *App) sends(ctx context.Context, in instance) {
	of := right{in.name, store.RoleSend, a.st.Owner()}
	if of.owner == "" {
		return // there is nobody else
	}
	a.inTurn(ctx, of, func(held context.Context) {
		a.outbox.Resume(of.name)
		<-held.Done()
		a.outbox.Suspend(of.name)
	})
}

// follow writes a sink of the audit, as one process at a time does.
func (a *App) follow(ctx context.Context, f *audit.Follower) {
	if a.st.Owner() == "" {
		a.report("audit", f.Run(ctx))
		return
	}
	a.inTurn(ctx, right{f.Name(), roleAudit, a.st.Owner()}, func(held context.Context) {
		a.report("audit", f.Run(held))
	})
}

// inTurn does something whenever this process has the lease, and as long.
func (a *App) inTurn(ctx context.Context, of right, do func(held context.Context)) {
	for {
		asked := time.Now()
		_, ok, err := a.st.LeaseAccount(ctx, of.name, of.role, of.owner)
		if err != nil && ctx.Err() == nil {
			a.log.Warn("lease could not be asked for", "channel", of.name, "role", of.role, "err", err)
		}
		if ok {
			held, release := a.keepHold(ctx, of, asked)
			do(held)
			release()
		}
		if channels.Rest(ctx, standEvery+rand.N(standEvery)) != nil {
			return
		}
	}
}

// speak says that a chat has something to be sent, here or by the process that
// sends for the channel.
func (a *App) speak(channel, chatKey string) {
	a.outbox.Wake(channel, chatKey)
	if !a.outbox.Sends(channel) {
		a.st.Hint(store.Hint{Kind: store.HintChat, Key: chatKey, Channel: channel})
	}
}

// grew tells those who watch the chat's log, wherever they are.
func (a *App) grew(chatKey string) {
	a.hub.grew(chatKey)
	a.st.Hint(store.Hint{Kind: store.HintLog, Key: chatKey})
}

// cut ends work on a lane whose turn was ended from outside, wherever it is.
func (a *App) cut(lane string) {
	a.dispatcher.Cut(lane)
	a.st.Hint(store.Hint{Kind: store.HintCut, Key: lane})
}

// heard is told by other processes.
func (a *App) heard(h store.Hint) {
	switch h.Kind {
	case store.HintLane:
		a.dispatcher.Wake(h.Key)
	case store.HintCut:
		a.dispatcher.Cut(h.Key)
	case store.HintChat:
		a.outbox.Wake(h.Channel, h.Key)
	case store.HintLog:
		a.hub.grew(h.Key)
	case store.HintAudit:
		a.wakeFollowers()
	case store.HintAll:
		a.wakeFollowers()
		a.hub.all()
		a.outbox.Look()
	}
}
