package dispatch

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/parley-bot/parley/internal/lease"
)

// lane is what is remembered of a lane while it is queued, worked on or
// resting after a failure. Exactly one of queued, cancel and rest is set.
type lane struct {
	key    string
	next   *lane // in the queue
	queued bool
	cancel context.CancelCauseFunc // while it is worked on
	rest   *time.Timer             // while it backs off

	// again: woken while it was worked on.
	again bool
	// since is when it began to wait for a worker.
	since time.Time
	// held is a lease that couldn't be given back yet.
	held *lease.Lane

	failures int // in a row
	losses   int // times in a row that its lease was lost or its work cut
	panics   int // in a row
	crowded  int // times in a row that it couldn't run alone
}

// fifo is the queue of lanes.
type fifo struct {
	head, tail *lane
	n          int
}

func (q *fifo) push(l *lane) {
	l.next = nil
	if q.tail == nil {
		q.head = l
	} else {
		q.tail.next = l
	}
	q.tail = l
	q.n++
}

func (q *fifo) pop() *lane {
	l := q.head
	q.head = l.next
	if q.head == nil {
		q.tail = nil
	}
	l.next = nil
	q.n--
	return l
}

// enqueue puts the lane at the end of the queue and finds it a worker. The
// lock is held.
func (d *Dispatcher) enqueue(l *lane) {
	l.queued, l.again, l.since = true, false, time.Now()
	d.lanes[l.key] = l
	d.queue.push(l)
	d.summon()
}

// summon wakes a worker or starts one. A worker that was signalled no longer
// counts as idle, though it may not run yet: two lanes never rely on one
// worker. The lock is held.
func (d *Dispatcher) summon() {
	switch {
	case !d.started || d.stopping:
	case d.idle > 0:
		d.idle--
		d.wake.Signal()
	case d.workers < d.cfg.Workers:
		d.workers++
		d.working.Go(d.worker)
	}
}

// wakeAll lets all idle workers look again. The lock is held.
func (d *Dispatcher) wakeAll() {
	d.idle = 0
	d.wake.Broadcast()
}

// Resize changes how many lanes are worked on at once; 0 is the default. Work
// under way goes on: fewer workers are there once some have ended theirs.
func (d *Dispatcher) Resize(workers int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cfg.Workers = Config{Workers: workers}.withDefaults().Workers
	d.wakeAll() // those that are too many go
	for range d.queue.n {
		d.summon()
	}
}

// take waits for a lane to work on; ok is false when there will be none.
func (d *Dispatcher) take() (l *lane, ctx context.Context, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		if d.stopping {
			return nil, nil, false
		}
		if d.workers > d.cfg.Workers {
			d.workers--
			if d.queue.n > 0 {
				d.summon() // whoever was signalled for that lane may be this one
			}
			return nil, nil, false
		}
		if d.queue.n > 0 && !d.gate.closed() && !d.pause.on {
			break
		}
		d.idle++
		d.wake.Wait()
	}
	l = d.queue.pop()
	l.queued, l.again = false, false
	ctx, l.cancel = context.WithCancelCause(d.workCtx)
	d.active++
	if d.behind && d.queue.n < 2*d.cfg.Workers {
		d.behind = false
		poke(d.scan)
	}
	return l, ctx, true
}

// maxResting bounds the lanes that back off in memory; one more is forgotten
// and comes back with the next scan.
const maxResting = 10_000

// backOff lets the lane wait before it is queued again. The lock is held.
func (d *Dispatcher) backOff(l *lane, wait time.Duration) {
	if d.stopping || d.resting >= maxResting && l.held == nil {
		delete(d.lanes, l.key)
		return
	}
	d.resting++
	l.rest = time.AfterFunc(wait, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if l.rest != nil && !d.stopping {
			d.rested(l)
		}
	})
}

// rested ends the back-off. The lock is held.
func (d *Dispatcher) rested(l *lane) {
	l.rest = nil
	d.resting--
	d.enqueue(l)
}

// delay is the n-th back-off: first doubled n-1 times, most at the most,
// spread by a fifth so that lanes that failed together don't return together.
func delay(first, most time.Duration, n int) time.Duration {
	wait := most
	if n < 30 {
		wait = min(most, first<<max(n-1, 0))
	}
	return wait - time.Duration(rand.Int64N(int64(wait)/5+1))
}
