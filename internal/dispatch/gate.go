package dispatch

import (
	"context"
	"sync"
	"time"
)

// gate lets a lane run alone: one whose work was cut short by a crash more
// than once is suspected of causing them, and must not take others along.
//
// While a suspect waits or runs, no other lane is begun. It waits for those
// that run; so that they don't hold everybody for long, it gives up after a
// time and tries again later with more patience (SoloDrain doubled). Since a
// turn's length is bounded, it gets its way in the end.
type gate struct {
	waiting int
	alone   bool
	moved   *sync.Cond // a worker got done, or the gate changed
}

func (g *gate) closed() bool { return g.waiting > 0 || g.alone }

// maxDrain is longer than the longest turn.
const maxDrain = 15 * time.Minute

// enter waits until no other lane is worked on. Where it returns true, leave
// must be called.
func (d *Dispatcher) enter(ctx context.Context, l *lane) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := &d.gate
	late := false
	patience := maxDrain
	if l.crowded < 30 {
		patience = min(maxDrain, d.cfg.SoloDrain<<l.crowded)
	}
	timer := time.AfterFunc(patience, func() {
		d.mu.Lock()
		late = true
		d.mu.Unlock()
		g.moved.Broadcast()
	})
	defer timer.Stop()
	defer context.AfterFunc(ctx, func() {
		// With the lock, so that it isn't missed between check and Wait.
		d.mu.Lock()
		defer d.mu.Unlock()
		g.moved.Broadcast()
	})()

	g.waiting++
	d.active-- // this one is no reason to wait for another suspect
	g.moved.Broadcast()
	for (d.active > 0 || g.alone) && !late && !d.stopping && ctx.Err() == nil {
		g.moved.Wait()
	}
	g.waiting--
	ok := d.active == 0 && !g.alone && !d.stopping && ctx.Err() == nil
	d.active++
	if ok {
		g.alone = true
		l.crowded = 0
	} else {
		l.crowded++
		d.reopen()
	}
	return ok
}

func (d *Dispatcher) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gate.alone = false
	d.reopen()
}

// reopen lets others go on, where nobody else wants to be alone. The lock is
// held.
func (d *Dispatcher) reopen() {
	d.gate.moved.Broadcast()
	if d.gate.closed() {
		return
	}
	d.wakeAll()
	for range min(d.queue.n, d.cfg.Workers) {
		d.summon()
	}
}

// pause holds all claims while the store can't be reached.
type pause struct {
	on    bool
	fails int // claims that failed in a row
	times int // pauses in a row
	timer *time.Timer
}

func (p *pause) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// pauseClaims stops claiming for a while. The lock is held.
func (d *Dispatcher) pauseClaims() (wait time.Duration, began bool) {
	if d.pause.on || d.stopping {
		return 0, false
	}
	d.pause.on = true
	d.pause.times++
	wait = delay(100*time.Millisecond, 5*time.Second, d.pause.times)
	d.pause.timer = time.AfterFunc(wait, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.pause.on = false
		d.reopen()
	})
	return wait, true
}
