package app

import (
	"runtime"
	"sync"
)

// maxSpare bounds how many processors' worth of threads scripts are given on
// top of the machine's.
const maxSpare = 4

// spareProcs gives Go code another thread for each script that computes for
// long: those stand back (their threads have a low priority), but each holds
// one of the threads that everybody's code runs on. Having spare ones always
// would cost every turn.
type spareProcs struct {
	base int // as the process was started

	mu      sync.Mutex
	running int
}

func (s *spareProcs) long(delta int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running += delta
	runtime.GOMAXPROCS(s.base + min(s.running, maxSpare))
}
