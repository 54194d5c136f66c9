package js

import (
	"runtime"
	"sync"
	"time"
)

// longCall is how long a call may compute before it has to stand back.
const longCall = 50 * time.Millisecond

// polite runs fn, which ends its goroutine, on a thread that is given less of
// the processors once fn takes longer than longCall: a script that computes for
// seconds must not make everybody's answers late meanwhile. The priority of a
// thread can't be raised again, so such a thread ends with its goroutine.
func polite(fn func()) {
	runtime.LockOSThread()
	p := politeness{thread: currentThread()}
	timer := time.AfterFunc(longCall, p.lower)
	defer func() {
		timer.Stop()
		if !p.end() {
			runtime.UnlockOSThread()
		}
	}()
	fn()
}

// politeness is one thread's; lower is never about a thread that has ended.
type politeness struct {
	thread int

	mu             sync.Mutex
	ended, lowered bool
}

func (p *politeness) lower() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.lowered = lowerPriority(p.thread)
	}
}

func (p *politeness) end() (lowered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	return p.lowered
}
