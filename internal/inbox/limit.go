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

// maxWindows bounds how many people's windows are kept; the oldest go first.
const maxWindows = 100_000

// limiter counts messages by person in fixed windows.
type limiter struct {
	rate Rate

	mu      sync.Mutex
	windows map[who]*window
	sweep   time.Time
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

func newLimiter(r Rate) *limiter { return &limiter{rate: r, windows: map[who]*window{}} }

// take counts one message: over is true past the limit, first for the first
// of a window.
func (l *limiter) take(channel string, user channels.UserID, now time.Time) (over, first bool) {
	if l.rate.N <= 0 || l.rate.Per <= 0 {
		return false, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clean(now)
	k := who{channel, user}
	w := l.windows[k]
	if w == nil || !now.Before(w.ends) {
		w = &window{ends: now.Add(l.rate.Per)}
		l.windows[k] = w
	}
	w.n++
	if w.n <= l.rate.N {
		return false, false
	}
	first = !w.noticed
	w.noticed = true
	return true, first
}

// clean forgets windows that are over, once a window's time, or at once where
// there are too many.
func (l *limiter) clean(now time.Time) {
	if now.Before(l.sweep) && len(l.windows) < maxWindows {
		return
	}
	l.sweep = now.Add(l.rate.Per)
	for k, w := range l.windows {
		if !now.Before(w.ends) {
			delete(l.windows, k)
		}
	}
	// A flood of new people within one window: forget some, whose count
	// then starts again.
	for k := range l.windows {
		if len(l.windows) < maxWindows {
			break
		}
		delete(l.windows, k)
	}
}
