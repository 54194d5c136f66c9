package js

import (
	"runtime"
	"sync"
	"time"
)

// longCall is how long a call may compute before it has to stand back.
const longCall = 50 * time.Millisecond

// polite runs fn, which ends its goroutine, on a thread that is given less of
// the processors once fn has computed for longer than longCall: a script that
// computes for seconds must not make everybody's answers late meanwhile. busy
// tells computing from waiting. The priority of a thread can't be raised again,
// so such a thread ends with its goroutine.
//
// long hears of each such call when it stands back (1) and when it ends (-1):
// it holds one of the threads that Go code runs on.
func polite(fn func(), busy func() bool, long func(delta int)) {
	runtime.LockOSThread()
	p := &politeness{thread: currentThread(), busy: busy, long: long}
	p.mu.Lock() // the timer is set before it can be read
	p.timer = time.AfterFunc(longCall, p.lower)
	p.mu.Unlock()
	defer func() {
		if !p.end() {
			runtime.UnlockOSThread()
		}
	}()
	fn()
}

// politeness is one thread's; lower is never about a thread that has ended.
type politeness struct {
	thread int
	busy   func() bool
	long   func(delta int)

	mu             sync.Mutex
	timer          *time.Timer
	ended, lowered bool
}

func (p *politeness) lower() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended:
	case !p.busy():
		p.timer.Reset(longCall)
	default:
		if p.lowered = lowerPriority(p.thread); p.lowered {
			p.long(1)
		}
	}
}

func (p *politeness) end() (lowered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.timer.Stop()
	if p.lowered {
		p.long(-1)
	}
	return p.lowered
}
