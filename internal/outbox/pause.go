package outbox

import "time"

// pause holds a whole account: while its credentials are refused, or while the
// platform limits several of its chats at once.
type pause struct {
	on    bool
	until time.Time
	timer *time.Timer
	// refusals of the credentials in a row.
	refusals int
	// recent are chats that were limited lately.
	recent []limit
}

type limit struct {
	chat string
	at   time.Time
	wait time.Duration
}

const (
	// limitChats in limitWindow mean that the account is limited, not a chat.
	limitChats  = 3
	limitWindow = time.Second

	firstRefused = 30 * time.Second
	mostRefused  = 5 * time.Minute
)

func (p *pause) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// hold pauses the account. The lock is held.
func (a *account) hold(wait time.Duration) {
	until := time.Now().Add(wait)
	if a.state != stageRunning || a.pause.on && !until.After(a.pause.until) {
		return
	}
	a.pause.stop()
	a.pause.on, a.pause.until = true, until
	a.pause.timer = time.AfterFunc(wait, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.pause.on || time.Now().Before(a.pause.until) {
			return
		}
		a.pause.on = false
		a.wakeAll()
		for range min(a.queued, a.o.cfg.Senders) {
			a.summon()
		}
	})
}

// refused pauses the account after its credentials were refused, longer each
// time, and tells for how long. Calls that were under way count once.
func (a *account) refused(err error) time.Duration {
	a.mu.Lock()
	if a.pause.on {
		defer a.mu.Unlock()
		return max(0, time.Until(a.pause.until))
	}
	a.pause.refusals++
	wait := delay(firstRefused, mostRefused, a.pause.refusals)
	a.hold(wait)
	a.mu.Unlock()
	a.o.log.Error("channel's credentials are refused, sending is paused", "channel", a.name, "retry_in", wait, "err", err)
	return wait
}

// limited notes that the platform limited a chat, and pauses the account where
// that happens to several at once.
func (a *account) limited(chat string, wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	kept := a.pause.recent[:0]
	for _, l := range a.pause.recent {
		if now.Sub(l.at) <= limitWindow && l.chat != chat {
			kept = append(kept, l)
		}
	}
	a.pause.recent = append(kept, limit{chat, now, wait})
	if len(a.pause.recent) < limitChats {
		return
	}
	most := time.Duration(0)
	for _, l := range a.pause.recent {
		most = max(most, l.wait)
	}
	a.pause.recent = a.pause.recent[:0]
	a.o.log.Warn("channel is rate limited, sending is paused", "channel", a.name, "retry_in", most)
	a.hold(most)
}

// succeeded ends the count of refusals.
func (a *account) succeeded() {
	a.mu.Lock()
	a.pause.refusals = 0
	a.mu.Unlock()
}
