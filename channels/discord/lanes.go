package discord

import (
	"context"
	"sync"
)

const (
	// maxWaiting is how many events may wait for the core. When there are as
	// many the socket is not read any more.
	maxWaiting = 2048
	// lanesAtOnce is how many channels are worked on side by side: a press
	// must not wait for other channels.
	lanesAtOnce = 32
)

// lanes work on events, those of one channel in their order.
type lanes struct {
	// ctx is that of the whole work: an event that was received outlives the
	// connection that brought it.
	ctx   context.Context //nolint:containedctx // as said
	room  chan struct{}
	slots chan struct{}
	work  sync.WaitGroup

	mu     sync.Mutex
	queues map[string][]func(context.Context)
}

func newLanes(ctx context.Context) *lanes {
	return &lanes{ctx: ctx, room: make(chan struct{}, maxWaiting), slots: make(chan struct{}, lanesAtOnce), queues: map[string][]func(context.Context){}}
}

// reserve makes room for one event; false is that the work ended.
func (l *lanes) reserve() bool {
	select {
	case l.room <- struct{}{}:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// full tells whether reserve would wait.
func (l *lanes) full() bool { return len(l.room) == cap(l.room) }

// add puts work at the end of a channel's lane, in reserved room.
func (l *lanes) add(channel string, fn func(context.Context)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, busy := l.queues[channel]
	l.queues[channel] = append(queue, fn)
	if !busy {
		l.work.Go(func() { l.run(channel) })
	}
}

// run works a lane off. What is left when the work ends comes again with the next
// session.
func (l *lanes) run(channel string) {
	for {
		l.mu.Lock()
		queue := l.queues[channel]
		if len(queue) == 0 {
			delete(l.queues, channel)
			l.mu.Unlock()
			return
		}
		fn := queue[0]
		l.queues[channel] = queue[1:]
		l.mu.Unlock()
		select {
		case l.slots <- struct{}{}:
			if l.ctx.Err() == nil {
				fn(l.ctx)
			}
			<-l.slots
		case <-l.ctx.Done():
		}
		<-l.room
	}
}
