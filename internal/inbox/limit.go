package inbox

import (
	"sync"
	"time"

	"github.com/parley-bot/parley/channels"
)

// Rate is at most N in each Per.
type Rate struct {
	N   int
	Per time.Duration
}

// maxWindows bounds how many people's windows are kept. Past it the half that
// wasn't seen lately is forgotten, and their count starts again.
const maxWindows = 100_000

// limiter counts messages by person in fixed windows.
type limiter struct {
	now func() time.Time

	mu   sync.Mutex
	rate Rate
	// young has those seen since it was last full, old those before.
	young, old map[who]*window
}

type who struct {
	channel string
	user    channels.UserID
}

type window struct {
	ends    time.Time
	n       int
	noticed bool
}

func newLimiter(r Rate, now func() time.Time) *limiter {
	return &limiter{rate: r, now: now, young: make(map[who]*window)}
}

func (l *limiter) use(r Rate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rate = r
}

// taken is a message that was counted, or is past the limit.
type taken struct {
	w    *window
	over bool
	// first past the limit in its window.
	first bool
	// left is how long the window lasts yet.
	left time.Duration
}

// take counts one message.
func (l *limiter) take(channel string, user channels.UserID) taken {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rate.N <= 0 || l.rate.Per <= 0 {
		return taken{}
	}
	now := l.now()
	w := l.window(who{channel, user})
	// A clock that went back must not make a window last longer than it is.
	if left := w.ends.Sub(now); left <= 0 || left > l.rate.Per {
		*w = window{ends: now.Add(l.rate.Per)}
	}
	t := taken{w: w, left: w.ends.Sub(now)}
	if w.n < l.rate.N {
		w.n++
		return t
	}
	t.over, t.first = true, !w.noticed
	w.noticed = true
	return t
}

func (l *limiter) window(k who) *window {
	w := l.young[k]
	if w != nil {
		return w
	}
	if w = l.old[k]; w == nil {
		w = new(window)
	}
	if len(l.young) >= maxWindows/2 {
		l.old, l.young = l.young, make(map[who]*window)
	}
	l.young[k] = w
	return w
}

// undo is for a message that turned out not to count: known before, an answer,
// or not taken.
func (l *limiter) undo(t taken) {
	if t.w == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !t.over:
		t.w.n = max(0, t.w.n-1)
	case t.first:
		t.w.noticed = false
	}
}
