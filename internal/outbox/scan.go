package outbox

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	scanPage = 500
	// scanPages bounds what one scan reads of a channel; the next one goes
	// on from there.
	scanPages = 4
	// scanGap is left between two scans in any case.
	scanGap = 100 * time.Millisecond
	// crowdedWait puts a channel's scan off, see account.scanFrom.
	crowdedWait = 5 * time.Second
)

// scanLoop finds chats that nobody told of: those left by another process, and
// those whose hint was dropped.
func (o *Outbox) scanLoop(ctx context.Context) {
	for {
		for _, a := range o.accounts {
			if err := a.scan(ctx); err != nil && ctx.Err() == nil {
				o.log.Error("unsent entries could not be listed", "channel", a.name, "err", err)
			}
		}
		if !pass(ctx, scanGap) {
			return
		}
		timer := time.NewTimer(o.cfg.PollEvery - time.Duration(rand.Int64N(int64(o.cfg.PollEvery)/5+1)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-o.scan:
			timer.Stop()
		}
	}
}

// pass lets d go by; false where ctx ended.
func pass(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// scan reads on from where the last one stopped, and begins anew after the
// last chat. Each channel has its own cursor, so that one with a long list
// hides no other's.
func (a *account) scan(ctx context.Context) error {
	for range scanPages {
		a.mu.Lock()
		after, skip := a.cursor, a.state != stageRunning || a.pause.on || len(a.chats) >= a.o.cfg.MaxChats
		skip = skip || a.standby || time.Now().Before(a.scanFrom)
		a.mu.Unlock()
		if skip {
			return nil
		}
		keys, err := a.o.deps.Store.Chats(ctx, []string{a.name}, after, scanPage)
		if err != nil {
			return err
		}
		if end := a.found(keys); end {
			return nil
		}
	}
	a.mu.Lock()
	a.behind = true
	a.mu.Unlock()
	return nil
}

// found queues the chats; end is true after the last one.
func (a *account) found(keys []string) (end bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(keys) == 0 {
		a.cursor = ""
		return true
	}
	for _, key := range keys {
		if a.state != stageRunning {
			return true
		}
		if len(a.chats) >= a.o.cfg.MaxChats {
			a.behind = true
			return true
		}
		a.cursor = key
		if a.chats[key] == nil {
			a.push(&chat{key: key})
		}
	}
	return false
}
