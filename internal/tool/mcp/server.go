package mcptool

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-bot/parley/internal/egress"
)

// Reason is why an allowed tool isn't offered.
type Reason string

// The reasons.
const (
	Unpinned Reason = "unpinned" // there is no pin of it
	Changed  Reason = "changed"  // the server's card isn't the pinned one
	Missing  Reason = "missing"  // the server doesn't list it
	Invalid  Reason = "invalid"  // the card can't be a tool
)

// errDown is what calls get while there is no session.
var errDown = errors.New("the server can't be reached")

// server keeps one session with a server open, and knows which of its tools are
// quarantined.
type server struct {
	cfg     Server
	log     *slog.Logger
	metrics *metrics
	pins    map[string]string // digest by remote name, of pins that can be tools
	broken  map[string]bool   // pins that can't
	wait    time.Duration     // the first one after a failure
	dial    func(ctx context.Context) (link, error)

	mu   sync.Mutex
	sess *session // nil while there is none
	// fresh is false while the list of the session isn't known, or known to
	// be old: calls wait. down is true from a failure to the next session.
	fresh, down bool
	moved       chan struct{} // closed when one of these changes
	held        map[string]Reason
	// seen is the newest list that was compared; nil before the first.
	seen *listed
}

func newServer(cfg Server, lock Lock, log *slog.Logger, m *metrics) *server {
	s := &server{
		cfg: cfg, log: log.With("server", cfg.Name), metrics: m, pins: map[string]string{}, broken: map[string]bool{}, wait: firstWait,
		moved: make(chan struct{}), held: map[string]Reason{},
	}
	s.dial = s.dialReal
	s.pins, s.broken = cfg.pinned(lock)
	s.held = s.compare()
	for _, r := range s.held {
		m.caught.WithLabelValues(cfg.Name, string(r)).Inc()
	}
	m.quarantined.WithLabelValues(cfg.Name).Set(float64(len(s.held)))
	return s
}

// pinned are the pins of the allowed tools: digests by remote name, and those
// that can't be tools.
func (s Server) pinned(lock Lock) (pins map[string]string, broken map[string]bool) {
	pins, broken = map[string]string{}, map[string]bool{}
	for _, a := range s.Allow {
		switch card, ok := lock.Card(s.Name, a.Name); {
		case !ok:
		case card.compiles() != nil:
			broken[a.Name] = true
		default:
			pins[a.Name] = card.Digest()
		}
	}
	return pins, broken
}

// compare is what is quarantined by the newest list; before the first, by the
// pins alone. s.mu is held, or nobody else has s yet.
func (s *server) compare() map[string]Reason {
	held := map[string]Reason{}
	for _, a := range s.cfg.Allow {
		if r := s.judge(s.seen, a.Name); r != "" {
			held[a.Name] = r
		}
	}
	return held
}

// repin replaces the pins.
func (s *server) repin(pins map[string]string, broken map[string]bool) {
	s.set(func() {
		before := s.held
		s.pins, s.broken = pins, broken
		s.held = s.compare()
		s.metrics.quarantined.WithLabelValues(s.cfg.Name).Set(float64(len(s.held)))
		for name, r := range s.held {
			if r != before[name] {
				s.metrics.caught.WithLabelValues(s.cfg.Name, string(r)).Inc()
			}
		}
	})
}

// listed compares the session's list with the pins.
func (s *server) listed(ctx context.Context, sess *session, onChange func()) {
	list := sess.list
	var before, held map[string]Reason
	s.set(func() {
		s.seen = &list
		held = s.compare()
		before, s.held = s.held, held
		s.metrics.quarantined.WithLabelValues(s.cfg.Name).Set(float64(len(held)))
		// What has changed while it was compared is compared again.
		s.sess, s.fresh, s.down = sess, len(sess.changed) == 0, false
	})
	if maps.Equal(before, held) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(held)) {
		if r := held[name]; r != before[name] {
			s.metrics.caught.WithLabelValues(s.cfg.Name, string(r)).Inc()
			s.log.WarnContext(ctx, "mcp tool is quarantined: look at it with parley mcp diff", "tool", name, "reason", string(r))
		}
	}
	onChange()
}

func (s *server) judge(l *listed, name string) Reason {
	pin, pinned := s.pins[name]
	if l == nil {
		switch {
		case s.broken[name]:
			return Invalid
		case !pinned:
			return Unpinned
		}
		return ""
	}
	card, ok := l.cards[name]
	switch {
	case l.wrong[name] != nil, s.broken[name]:
		return Invalid
	case !ok:
		return Missing
	case !pinned:
		return Unpinned
	case card.Digest() != pin:
		return Changed
	}
	return ""
}

// set changes the state and wakes who waits for it.
func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.moved)
	s.moved = make(chan struct{})
}

// quarantine is what isn't offered now.
func (s *server) quarantine() map[string]Reason {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.held)
}

// acquire gives the session for one call of a tool with that pin, when its list
// is known. It waits for one that is being opened, until ctx ends; errDown is a
// server that is away. reason is why the tool can't be called.
func (s *server) acquire(ctx context.Context, name, pin string) (sess *session, reason Reason, err error) {
	for {
		s.mu.Lock()
		sess, reason, moved := s.sess, s.held[name], s.moved
		ready, down := s.fresh, s.down
		if reason == "" && s.pins[name] != pin {
			reason = Changed // pinned anew since the caller's turn began
		}
		s.mu.Unlock()
		switch {
		case ready:
			return sess, reason, nil
		case down:
			return nil, "", errDown
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, "", errDown
		}
	}
}

// clean is err without what nobody may read in a log.
func (s *server) clean(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	// net/http's errors hold the whole URL.
	if e, ok := errors.AsType[*egress.Error](err); ok {
		text = e.Error()
	}
	if u := s.cfg.URL.Reveal(); u != "" {
		text = strings.ReplaceAll(text, u, "the url")
	}
	return oneLine(s.cfg.credentials().Text(text))
}
