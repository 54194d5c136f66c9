package dispatch

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/parley-bot/parley/internal/lease"
)

const (
	// scanPage is how many lanes a scan asks for beyond those known.
	scanPage = 1000
	// expirePage is how many questions one call ends.
	expirePage = 100
	// minExpireWait keeps a store whose clock is behind from being asked
	// without a pause.
	minExpireWait = 50 * time.Millisecond
)

// scanLoop finds lanes that nobody told of: those left by another process, and
// those whose hint was dropped.
func (d *Dispatcher) scanLoop(ctx context.Context) {
	for {
		d.scanOnce(ctx)
		timer := time.NewTimer(d.cfg.PollEvery - time.Duration(rand.Int64N(int64(d.cfg.PollEvery)/5+1)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-d.scan:
			timer.Stop()
		}
	}
}

func (d *Dispatcher) scanOnce(ctx context.Context) {
	d.mu.Lock()
	known, room := len(d.lanes), d.cfg.MaxHints-d.queue.n
	d.mu.Unlock()
	if room <= 0 {
		return
	}
	// The store lists the longest waiting first, and those known may all be
	// at the head of its list: looking past them keeps lanes that back off
	// from hiding the rest.
	limit := known + min(scanPage, room)
	keys, err := d.deps.Store.Ready(ctx, limit)
	if err != nil {
		if ctx.Err() == nil {
			d.log.Error("waiting lanes could not be listed", "err", err)
		}
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	added := 0
	for _, key := range keys {
		if d.stopping || d.queue.n >= d.cfg.MaxHints {
			break
		}
		if d.lanes[key] == nil {
			d.enqueue(&lane{key: key})
			added++
		}
	}
	if added > 0 && len(keys) >= limit {
		d.behind = true
	}
}

// expireLoop ends questions: on time by a timer on the earliest, and by a
// sweep in any case.
func (d *Dispatcher) expireLoop(ctx context.Context) {
	for {
		ended, next, err := d.deps.Store.Expire(ctx, expirePage)
		if err != nil && ctx.Err() == nil {
			d.log.Error("questions could not be expired", "err", err)
		}
		for _, e := range ended {
			d.ended(e)
		}
		if ctx.Err() == nil && len(ended) >= expirePage {
			continue
		}
		sweep := time.Now().Add(d.cfg.SweepEvery)
		if !d.waitDue(ctx, sweep, next) {
			return
		}
	}
}

// waitDue waits until sweep, or until the earliest of next and the hints.
func (d *Dispatcher) waitDue(ctx context.Context, sweep, next time.Time) bool {
	for {
		d.mu.Lock()
		if !d.due.IsZero() && (next.IsZero() || d.due.Before(next)) {
			next = d.due
		}
		d.due = time.Time{}
		d.mu.Unlock()
		until := sweep
		if !next.IsZero() && next.Before(sweep) {
			until = next
		}
		timer := time.NewTimer(max(minExpireWait, time.Until(until)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
			return true
		case <-d.dueHint:
			timer.Stop()
		}
	}
}

func (d *Dispatcher) ended(e Ended) {
	d.log.Info("question expired", "channel", e.Channel, "tool", e.Tool)
	if e.More {
		d.Wake(e.Lane)
	}
	if d.deps.OnEnded != nil {
		d.deps.OnEnded(e)
	}
}

// renewLoop is the heartbeat. It goes on while work runs, also when nothing new
// is begun any more.
func (d *Dispatcher) renewLoop(ctx context.Context) {
	tick := time.NewTicker(d.cfg.RenewEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		lost, err := d.deps.Store.Renew(ctx)
		if err != nil && ctx.Err() == nil {
			d.log.Error("leases could not be renewed", "err", err)
		}
		for _, key := range lost {
			d.log.Warn("lane was taken over", "lane", key)
			d.cut(key, lease.ErrLost)
		}
	}
}
