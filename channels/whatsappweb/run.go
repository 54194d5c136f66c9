package whatsappweb

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-bot/parley/channels"
)

// Run receives until ctx ends. It returns an error where the session file
// can't be opened; how the connection stands is told as channels.Link.
func (a *Adapter) Run(ctx context.Context, sink channels.Sink) error {
	defer a.tell(context.WithoutCancel(ctx), sink, channels.Link{State: channels.LinkConnecting, Detail: "stopped"})
	if err := a.begin(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		wait, err := a.session(ctx, sink)
		if err != nil {
			return err
		}
		channels.Progressed(sink, wait+aliveTime)
		if a.rest(ctx, wait) != nil {
			return nil
		}
	}
	return nil
}

// begin reads what was kept.
func (a *Adapter) begin(ctx context.Context) error {
	err := a.sent.load(ctx)
	return unlessOver(ctx, err)
}

// unlessOver is err, unless ctx has ended: that is no failure.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// closed closes a store that may not be there.
func closed(st Store) error {
	if st == nil {
		return nil
	}
	return st.Close()
}

// session opens the store and, where a device is linked, connects again and
// again until that is over. It returns how long to wait before the next. The
// store is closed meanwhile.
func (a *Adapter) session(ctx context.Context, sink channels.Sink) (time.Duration, error) {
	st, err := a.deps.Open(ctx)
	switch {
	case ctx.Err() != nil:
		return 0, closed(st)
	case err != nil && a.deps.InUse(err):
		if !a.unlinked() {
			a.tell(ctx, sink, channels.Link{State: channels.LinkPairing, Detail: "another process has the session: parley pair, or a second parley with the same data"})
		}
		return lookAgain, nil
	case err != nil:
		return 0, err
	}
	defer func() {
		if err := st.Close(); err != nil {
			a.log.Warn("session file could not be closed", "err", err)
		}
	}()
	dev, err := st.Device(ctx)
	if err != nil {
		return 0, unlessOver(ctx, err)
	}
	if d := (device{dev}); d.linked() {
		return a.stay(ctx, sink, st, d)
	}
	if !a.unlinked() {
		a.tell(ctx, sink, channels.Link{State: channels.LinkPairing, Detail: "no device is linked: run parley pair " + a.deps.Name})
	}
	return lookAgain, nil
}

// unlinked tells whether the state says why no device is linked any more, which
// is more than that none is.
func (a *Adapter) unlinked() bool { return a.removed }

// stay keeps the account connected until ctx or the link ends.
func (a *Adapter) stay(ctx context.Context, sink channels.Sink, st Store, d device) (time.Duration, error) {
	for fails, replaced := 1, 1; ; fails++ {
		if l := a.Link().State; l == channels.LinkPairing || a.unlinked() {
			a.removed = false
			a.tell(ctx, sink, channels.Link{State: channels.LinkConnecting, Detail: "a device was linked"})
		}
		c := newConnection(a, sink, d)
		end := c.live(ctx)
		if ctx.Err() != nil {
			return 0, nil //nolint:nilerr // stopping is no failure
		}
		if c.wasUp() {
			fails = 1
		}
		switch {
		case end.gone:
			a.removed = true
			// The SDK forgets the device by itself, unless it was interrupted.
			if err := st.Forget(ctx); err != nil {
				return 0, err
			}
			a.tell(ctx, sink, end.link)
			return lookAgain, nil
		case end.link.State == channels.LinkReplaced:
			// Two that take the connection from each other should not do so
			// in a hurry.
			end.wait = min(30*time.Second<<(replaced-1), 15*time.Minute)
			if replaced++; c.wasUp() && replaced > 6 {
				replaced = 6
			}
		default:
			if end.wait == 0 && !end.now {
				end.wait = channels.BackOff(fails, longestWait)
			}
		}
		a.tell(ctx, sink, end.link)
		a.log.Warn("connection ended", "state", end.link.State, "why", end.link.Detail, "retry_in", end.wait)
		channels.Progressed(sink, end.wait+aliveTime)
		if err := a.rest(ctx, end.wait); err != nil {
			return 0, unlessOver(ctx, err)
		}
		// Something may have been unlinked or linked anew meanwhile by hand:
		// a fresh device knows.
		dev, err := st.Device(ctx)
		if err != nil {
			return 0, unlessOver(ctx, fmt.Errorf("after a lost connection: %w", err))
		}
		if d = (device{dev}); !d.linked() {
			return 0, nil
		}
	}
}
