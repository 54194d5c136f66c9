package webchat

import (
	"maps"
	"sync"
	"time"

	"github.com/parley-bot/parley/channels"
)

// maxStreams bounds the streams of all visitors together.
const maxStreams = 20_000

// streams knows who has a live stream open, to bound them and to pass on what
// the log doesn't have: the sign of typing, and answers that are being written.
type streams struct {
	perSession int

	mu    sync.Mutex
	open  map[channels.ChatID]map[*live]bool
	total int
	// signs are those that still last: a visitor's first message and the
	// first stream are sent together, and the sign may be quicker.
	signs map[channels.ChatID]time.Time
}

// live is one open stream. Each of its channels holds the newest alone.
type live struct {
	typing chan time.Time
	draft  chan editData
}

func newStreams(perSession int) *streams {
	return &streams{
		perSession: perSession,
		open:       map[channels.ChatID]map[*live]bool{},
		signs:      map[channels.ChatID]time.Time{},
	}
}

// join takes a place.
func (s *streams) join(id channels.ChatID) (l *live, leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total >= maxStreams || len(s.open[id]) >= s.perSession {
		return nil, nil, false
	}
	l = &live{typing: make(chan time.Time, 1), draft: make(chan editData, 1)}
	if s.open[id] == nil {
		s.open[id] = map[*live]bool{}
	}
	s.open[id][l] = true
	s.total++
	if until, ok := s.signs[id]; ok && until.After(time.Now()) {
		l.typing <- until
	}
	return l, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open[id], l)
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
	for l := range s.open[id] {
		replace(l.typing, until)
	}
}

// draft passes on how a message reads that is still being written.
func (s *streams) draft(id channels.ChatID, d editData) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.open[id] {
		replace(l.draft, d)
	}
}

// written takes back what streams haven't passed on yet of messages that are
// being written: the log has something newer.
func (s *streams) written(id channels.ChatID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.open[id] {
		select {
		case <-l.draft:
		default:
		}
	}
}

// replace puts v in the place of what wasn't read. There is no other sender.
func replace[T any](c chan T, v T) {
	select {
	case <-c:
	default:
	}
	c <- v
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
