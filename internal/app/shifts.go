package app

import "sync"

// shifts knows who may still work with a brain that was replaced, so that its
// tools are closed once nobody does.
type shifts struct {
	mu  sync.Mutex
	now *shift
	// old are those that were replaced, oldest first.
	old []*shift
}

// shift is the work that began while a brain was the newest.
type shift struct {
	brain   *brain
	working int
}

func newShifts(b *brain) *shifts { return &shifts{now: &shift{brain: b}} }

// begin says that work begins, with the newest brain or one that comes
// meanwhile; done says that it ended, and returns the brains that nobody works
// with any more.
func (s *shifts) begin() (done func() []*brain) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := s.now
	mine.working++
	return func() []*brain {
		s.mu.Lock()
		defer s.mu.Unlock()
		mine.working--
		return s.over()
	}
}

// replace makes b the newest brain.
func (s *shifts) replace(b *brain) []*brain {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.old = append(s.old, s.now)
	s.now = &shift{brain: b}
	return s.over()
}

// over takes out the oldest shifts as long as nobody works in them. Work of an
// older shift may have a younger brain, so that none is over before those
// before it. The lock is held.
func (s *shifts) over() (out []*brain) {
	for len(s.old) > 0 && s.old[0].working == 0 {
		out = append(out, s.old[0].brain)
		s.old = s.old[1:]
	}
	return out
}

// rest returns all brains: for the end, when nobody works.
func (s *shifts) rest() (out []*brain) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.old {
		out = append(out, o.brain)
	}
	s.old = nil
	return append(out, s.now.brain)
}

// newest is the brain that new work has.
func (s *shifts) newest() *brain {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.brain
}

// replaced counts the brains that were replaced and may still be worked with.
func (s *shifts) replaced() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.old)
}
