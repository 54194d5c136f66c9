package app

import (
	"context"
	"sync"
	"time"

	"github.com/parley-bot/parley/channels"
)

// watchdog knows when the Run of a channel has to give its next sign of life.
type watchdog struct {
	// sooner has a signal after the next sign became due earlier than it was.
	sooner chan struct{}

	mu        sync.Mutex
	dismissed bool
	promised  time.Duration
	due       time.Time // zero: none is waited for
}

func newWatchdog(a channels.Adapter) *watchdog {
	w := &watchdog{sooner: make(chan struct{}, 1)}
	if h, ok := a.(channels.Holder); ok && h.Holds() {
		w.promise(channels.FirstSign)
	}
	return w
}

// promise is a sign of life; the next comes within d.
func (w *watchdog) promise(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	due := time.Now().Add(d)
	sooner := w.due.IsZero() || due.Before(w.due)
	w.promised, w.due = d, due
	if sooner {
		select {
		case w.sooner <- struct{}{}:
		default:
		}
	}
}

// dismiss says that this Run is over, whether it has ended or not.
func (w *watchdog) dismiss() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dismissed = true
}

// watch returns what Run returned (over is true), or why it has to end.
func (w *watchdog) watch(ctx context.Context, ended <-chan error) (over bool, err error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		w.mu.Lock()
		due, promised := w.due, w.promised
		w.mu.Unlock()
		var overdue <-chan time.Time
		if !due.IsZero() {
			left := time.Until(due)
			if left <= 0 {
				return false, &silentError{promised}
			}
			timer.Reset(left)
			overdue = timer.C
		}
		select {
		case err := <-ended:
			return true, err
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-overdue: // or meanwhile promised anew
		case <-w.sooner:
		}
	}
}

// runSink is what a Run is given: it also tells how the connection stands, and
// that it works.
type runSink struct {
	channelSink
	watchdog *watchdog
}

// Progress implements channels.ProgressSink.
func (s runSink) Progress(d time.Duration) { s.watchdog.promise(d) }

// Linked implements channels.LinkSink.
func (s runSink) Linked(_ context.Context, l channels.Link) {
	w := s.watchdog
	// Under the lock, so that nothing comes behind a state that the core set.
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dismissed {
		return
	}
	if l.State.Lasting() {
		w.due = time.Time{}
	}
	s.app.health.linked(s.name, l)
	switch {
	case l.State.Lasting():
		s.app.log.Error("channel is down until somebody mends it", "channel", s.name, "state", l.State, "why", l.Detail)
	case l.State != channels.LinkUp:
		s.app.log.Info("channel is not connected", "channel", s.name, "state", l.State, "why", l.Detail)
	}
}
