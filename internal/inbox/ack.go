package inbox

import (
	"context"
	"sync"
	"time"

	"github.com/parley-bot/parley/channels"
)

// bareAfter is how long an acknowledgement waits for the commit.
const bareAfter = time.Second

// acknowledgement is given once, by whoever comes first: the commit, or the
// second that a platform waits.
type acknowledgement struct {
	once  sync.Once
	fn    func(channels.PressAck)
	timer *time.Timer
	bare  sync.WaitGroup
}

// acker prepares the acknowledgement of a press. A platform that wants none
// gets none.
func (s *sink) acker(ctx context.Context, in channels.Inbound) *acknowledgement {
	a := &acknowledgement{fn: func(channels.PressAck) {}}
	adapter, ok := s.adapter.(channels.Acker)
	if !ok {
		return a
	}
	a.fn = func(ack channels.PressAck) {
		defer func() {
			if r := recover(); r != nil {
				s.deps.Log.Error("adapter panicked", "channel", s.channel, "err", r)
			}
		}()
		if err := adapter.Ack(ctx, in, ack); err != nil {
			s.deps.Log.Warn("press could not be acknowledged", "channel", s.channel, "err", err)
		}
	}
	a.bare.Add(1)
	a.timer = time.AfterFunc(bareAfter, func() {
		defer a.bare.Done()
		a.once.Do(func() { a.fn(channels.PressAck{Outcome: channels.PressPending}) })
	})
	return a
}

// give acknowledges, unless that was done. It returns once the one
// acknowledgement is over: the adapter hears it within its call of Accept.
func (a *acknowledgement) give(ack channels.PressAck) {
	if a.timer != nil && a.timer.Stop() {
		a.bare.Done()
	}
	a.once.Do(func() { a.fn(ack) })
	a.bare.Wait()
}
