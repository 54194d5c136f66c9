package outbox

import (
	"context"
	"sync"
	"time"

	"github.com/parley-bot/parley/channels"
)

const (
	// typingDelay spares the platform a call for answers that come at once.
	typingDelay = 150 * time.Millisecond
	// typingMost ends a sign that nobody stopped: longer than a turn works.
	typingMost = 10 * time.Minute
)

// Typing shows in the chat that an answer is being written, until stop is
// called or the outbox stops. It shows nothing for the first 150 ms and costs
// nothing where the channel has no such sign. stop doesn't block and may be
// called more than once.
func (o *Outbox) Typing(channel string, chat channels.Chat) (stop func()) {
	a := o.accounts[channel]
	if a == nil {
		return func() {}
	}
	typer, ok := a.adapter.(channels.Typer)
	if !ok {
		return func() {}
	}
	ctx, cancel := context.WithCancel(o.sendCtx)
	timer := time.AfterFunc(typingDelay, func() {
		o.mu.Lock()
		if o.stopping || ctx.Err() != nil {
			o.mu.Unlock()
			return
		}
		o.loops.Add(1) // not after Stop has begun to wait
		o.mu.Unlock()
		defer o.loops.Done()
		a.typing(ctx, typer, chat)
	})
	return sync.OnceFunc(func() {
		timer.Stop()
		cancel()
	})
}

// typing renews the sign before it runs out, and takes it away in the end.
func (a *account) typing(ctx context.Context, typer channels.Typer, chat channels.Chat) {
	defer func() {
		if recover() != nil {
			a.o.log.Error("adapter panicked while showing the sign of typing", "channel", a.name)
		}
	}()
	life := a.adapter.Capabilities(chat).Typing
	if life <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, typingMost)
	defer cancel()
	tick := time.NewTicker(max(life*3/4, 100*time.Millisecond))
	defer tick.Stop()
	for ctx.Err() == nil {
		typer.Typing(ctx, chat, time.Now().Add(life))
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	end, done := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer done()
	typer.Typing(end, chat, time.Time{})
}
