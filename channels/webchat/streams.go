package webchat

import (
	"maps"
	"sync"
	"time"

	"github.com/parley-bot/parley/channels"
)

// maxStreams bounds the streams of all visitors together.
const maxStreams = 20_000

// streams knows who has a live stream open, to bound them and to pass the
// sign of typing on.
type streams struct {
	perSession int

	mu    sync.Mutex
	open  map[channels.ChatID]map[chan time.Time]bool
	total int
	// signs are those that still last: a visitor's first message and the
	// first stream are sent together, and the sign may be quicker.
	signs map[channels.ChatID]time.Time
}

func newStreams(perSession int) *streams {
	return &streams{
		perSession: perSession,
		open:       map[channels.ChatID]map[chan time.Time]bool{},
		signs:      map[channels.ChatID]time.Time{},
	}
}

// join takes a place. The channel holds the newest sign of typing alone.
func (s *streams) join(id channels.ChatID) (typing <-chan time.Time, leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total >= maxStreams || len(s.open[id]) >= s.perSession {
		return nil, nil, false
	}
	c := make(chan time.Time, 1)
	if s.open[id] == nil {
		s.open[id] = map[chan time.Time]bool{}
	}
	s.open[id][c] = true
	s.total++
	if until, ok := s.signs[id]; ok && until.After(time.Now()) {
		c <- until
	}
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open[id], c)
		if len(s.open[id]) == 0 {
			delete(s.open, id)
		}
		s.total--
	}, true
}

// typing never blocks: a stream that hasn't read the last sign gets this one
// in its place. The lock makes it the only sender.
func (s *streams) typing(id channels.ChatID, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remember(id, until)
	for c := range s.open[id] {
		select {
		case <-c:
		default:
		}
		c <- until
	}
}

// remember keeps a sign for streams that open while it lasts; s.mu is held.
func (s *streams) remember(id channels.ChatID, until time.Time) {
	now := time.Now()
	if !until.After(now) {
		delete(s.signs, id)
		return
	}
	if len(s.signs) >= maxStreams {
		maps.DeleteFunc(s.signs, func(_ channels.ChatID, until time.Time) bool { return !until.After(now) })
	}
	if len(s.signs) < maxStreams {
		s.signs[id] = until
	}
}

// said takes away the sign that streams to come would be shown: what was being
// written has been said.
func (s *streams) said(id channels.ChatID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.signs, id)
}
