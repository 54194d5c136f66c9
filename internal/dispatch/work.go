package dispatch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/parley-bot/parley/internal/lease"
)

// Back-off of one lane.
const (
	firstBackOff = time.Second
	mostBackOff  = 30 * time.Second
	// maxPanics in a row, and the lane rests for longBackOff.
	maxPanics   = 3
	longBackOff = 5 * time.Minute
	// releaseTime bounds a release, also of work that was cancelled.
	releaseTime = 4 * time.Second
)

// end is how an attempt at a lane ended.
type end int

const (
	endDone      end = iota // did its work
	endGone                 // had none, or has another owner
	endLost                 // the lease was lost or the turn cut
	endFailed               // the work failed
	endPanicked             // the work panicked
	endCrowded              // couldn't run alone yet
	endUnclaimed            // the store couldn't say
	endHeld                 // the store didn't take the lease back
	endStopped              // shutting down
)

func (d *Dispatcher) worker() {
	for {
		l, ctx, ok := d.take()
		if !ok {
			return
		}
		how, more := d.attempt(ctx, l)
		d.settle(l, how, more)
	}
}

// attempt claims the lane and does one turn of it.
func (d *Dispatcher) attempt(ctx context.Context, l *lane) (end, bool) {
	// Claims and releases must reach the store also when the lane is cut.
	whole := context.WithoutCancel(ctx)
	if l.held != nil && !d.release(whole, l, *l.held) {
		return endHeld, false
	}
	got, ok, err := d.deps.Store.Claim(whole, l.key)
	d.claimed(err)
	switch {
	case err != nil:
		return endUnclaimed, false
	case !ok:
		return endGone, false
	}
	var how end
	var more bool
	switch {
	case d.isStopping():
		how = endStopped
	case context.Cause(ctx) != nil:
		// Cut between the claim's commit and now: which turn was meant is
		// unknown, so look again.
		how = endLost
	case got.Attempt > 1:
		if !d.enter(ctx, l) {
			how = endCrowded
			break
		}
		d.log.Warn("lane runs alone after crashes", "lane", l.key, "attempt", got.Attempt)
		how, more = d.run(ctx, l, got)
		d.leave()
	default:
		how, more = d.run(ctx, l, got)
	}
	if how != endDone && !d.release(whole, l, got) {
		return endHeld, false
	}
	return how, more
}

func (d *Dispatcher) isStopping() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stopping
}

// run does the work and reads what came of it.
func (d *Dispatcher) run(ctx context.Context, l *lane, got lease.Lane) (how end, more bool) {
	d.metrics.wait.Observe(max(0, time.Since(l.since)).Seconds())
	d.metrics.active.Inc()
	defer d.metrics.active.Dec()
	more, err := d.guarded(ctx, got)
	cause := context.Cause(ctx)
	switch {
	case err == nil:
		return endDone, more
	case isPanic(err):
		d.metrics.panics.Inc()
		return endPanicked, false
	case errors.Is(err, lease.ErrLost), errors.Is(cause, ErrCut), errors.Is(cause, lease.ErrLost):
		return endLost, false
	case errors.Is(cause, ErrStopping):
		return endStopped, false
	}
	d.metrics.failures.Inc()
	d.log.Error("turn failed and will be tried again", "lane", l.key, "failures", l.failures+1, "err", err)
	return endFailed, false
}

// panicked is the error that a panic in Work becomes.
type panicked struct{ kind string }

func (p *panicked) Error() string { return "work panicked: " + p.kind }

func isPanic(err error) bool {
	_, ok := errors.AsType[*panicked](err)
	return ok
}

// guarded calls Work and survives a panic. What was panicked with isn't
// logged unless the runtime made it: it may quote a message.
func (d *Dispatcher) guarded(ctx context.Context, got lease.Lane) (more bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			kind := fmt.Sprintf("%T", v)
			if re, ok := v.(runtime.Error); ok {
				kind = re.Error()
			}
			d.log.Error("turn panicked", "lane", got.Key, "panic", kind, "stack", string(debug.Stack()))
			more, err = false, &panicked{kind}
		}
	}()
	return d.deps.Work(ctx, got)
}

// release gives the lease back; where that fails it is kept for later.
func (d *Dispatcher) release(ctx context.Context, l *lane, got lease.Lane) bool {
	ctx, cancel := context.WithTimeout(ctx, releaseTime)
	defer cancel()
	if err := d.deps.Store.Release(ctx, got); err != nil && !errors.Is(err, lease.ErrLost) {
		l.held = &got
		d.log.Error("lane could not be released", "lane", l.key, "err", err)
		return false
	}
	l.held = nil
	return true
}

// claimed keeps count of claims that fail, which says that the store is away.
func (d *Dispatcher) claimed(err error) {
	d.mu.Lock()
	if err == nil {
		d.pause.fails, d.pause.times = 0, 0
		d.mu.Unlock()
		return
	}
	d.pause.fails++
	wait, began := d.pauseClaims()
	d.mu.Unlock()
	if began {
		d.log.Error("lane could not be claimed", "err", err, "retry_in", wait)
	}
}

// settle decides what becomes of a lane after an attempt.
func (d *Dispatcher) settle(l *lane, how end, more bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.active--
	l.cancel(nil)
	l.cancel = nil
	if d.gate.waiting > 0 {
		d.gate.moved.Broadcast()
	}
	switch how {
	case endDone, endGone:
		l.failures, l.losses, l.panics = 0, 0, 0
		if more || l.again {
			d.requeue(l)
		} else {
			delete(d.lanes, l.key)
		}
	case endLost:
		// What ended the turn may have left work; but a lane that is lost
		// time and again must not keep a worker busy.
		if l.losses++; l.losses == 1 {
			d.requeue(l)
		} else {
			d.backOff(l, delay(firstBackOff, mostBackOff, l.losses-1))
		}
	case endFailed, endHeld:
		l.failures++
		d.backOff(l, delay(firstBackOff, mostBackOff, l.failures))
	case endPanicked:
		l.failures++
		if l.panics++; l.panics >= maxPanics {
			d.backOff(l, longBackOff)
		} else {
			d.backOff(l, delay(firstBackOff, mostBackOff, l.failures))
		}
	case endCrowded:
		d.backOff(l, delay(firstBackOff, mostBackOff, l.crowded))
	case endUnclaimed:
		// The first failure in a row may be this lane's own fault; when
		// several fail it is the store, and nobody else is to blame.
		if d.pause.fails <= 1 {
			l.failures++
			d.backOff(l, delay(firstBackOff, mostBackOff, l.failures))
		} else {
			d.requeue(l)
		}
	case endStopped:
		delete(d.lanes, l.key)
	}
}

// requeue puts the lane behind all others that wait. The lock is held.
func (d *Dispatcher) requeue(l *lane) {
	if d.stopping {
		delete(d.lanes, l.key)
		return
	}
	d.enqueue(l)
}
