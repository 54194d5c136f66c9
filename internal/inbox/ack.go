package inbox

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-bot/parley/channels"
)

const (
	// bareAfter is how long an acknowledgement waits for the commit.
	bareAfter = time.Second
	// ackTime bounds an acknowledgement.
	ackTime = 5 * time.Second
)

// acknowledgement is given once, by whoever comes first: the commit, or the
// second that a platform waits. The zero value is for a platform that wants
// none.
type acknowledgement struct {
	fn    func(channels.PressAck)
	given atomic.Bool
	timer *time.Timer
	bare  sync.WaitGroup // the timer
}

// acker prepares the acknowledgement of a press.
func (s *sink) acker(ctx context.Context, in channels.Inbound) *acknowledgement {
	a := new(acknowledgement)
	adapter, ok := s.adapter.(channels.Acker)
	if !ok {
		return a
	}
	a.fn = func(ack channels.PressAck) {
		defer func() {
			if r := recover(); r != nil {
				s.deps.Log.Error("adapter panicked while acknowledging a press", "channel", s.channel, "panic", fmt.Sprintf("%T", r))
			}
		}()
		// The press is decided even if whoever delivered it has gone.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackTime)
		defer cancel()
		if err := adapter.Ack(ctx, in, ack); err != nil {
			s.deps.Log.Warn("press could not be acknowledged", "channel", s.channel, "outcome", ack.Outcome, "err", err)
		}
	}
	a.bare.Add(1)
	a.timer = time.AfterFunc(bareAfter, func() {
		defer a.bare.Done()
		a.give(channels.PressAck{Outcome: channels.PressPending})
	})
	return a
}

// give acknowledges, unless that was done.
func (a *acknowledgement) give(ack channels.PressAck) {
	if a.fn != nil && a.given.CompareAndSwap(false, true) {
		a.fn(ack)
	}
}

// over ends the timer. An acknowledgement that it is giving is waited for: the
// adapter hears it within its call of Accept.
func (a *acknowledgement) over() {
	if a.timer == nil {
		return
	}
	if a.timer.Stop() {
		a.bare.Done()
	}
	a.bare.Wait()
}
