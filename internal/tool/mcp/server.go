package mcptool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

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

const (
	firstWait = time.Second
	mostWait  = time.Minute
	// steady is how long a session lasts that wasn't a failure.
	steady = time.Minute
	// worthWaiting is how long calls wait for the next attempt.
	worthWaiting = 3 * time.Second
	// relistPause keeps a server that goes on changing its list from keeping
	// everybody busy.
	relistPause = time.Second
	pingTimeout = 10 * time.Second
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
	// dial makes the transport of a session that ends with ctx; said tells
	// what the server wrote on its standard error, and how it ended.
	dial func(ctx context.Context) (t mcp.Transport, said func() string, err error)

	mu   sync.Mutex
	sess *session // nil while there is none
	// fresh is false while the list of the session isn't known, or known to
	// be old: calls wait. down is true from a failure to the next session.
	fresh, down bool
	moved       chan struct{} // closed when one of these changes
	held        map[string]Reason
}

func newServer(cfg Server, lock Lock, log *slog.Logger, m *metrics) *server {
	s := &server{
		cfg: cfg, log: log.With("server", cfg.Name), metrics: m, pins: map[string]string{}, broken: map[string]bool{}, wait: firstWait,
		moved: make(chan struct{}), held: map[string]Reason{},
	}
	s.dial = s.dialReal
	for _, a := range cfg.Allow {
		card, ok := lock.Card(cfg.Name, a.Name)
		switch {
		case !ok:
			s.held[a.Name] = Unpinned
		case card.compiles() != nil:
			s.held[a.Name], s.broken[a.Name] = Invalid, true
		default:
			s.pins[a.Name] = card.Digest()
		}
	}
	for _, r := range s.held {
		m.caught.WithLabelValues(cfg.Name, string(r)).Inc()
	}
	m.quarantined.WithLabelValues(cfg.Name).Set(float64(len(s.held)))
	return s
}

func (s *server) dialReal(ctx context.Context) (mcp.Transport, func() string, error) {
	if !s.cfg.URL.Empty() {
		t, err := dialHTTP(ctx, s.cfg)
		return t, func() string { return "" }, err
	}
	p, err := spawn(s.cfg)
	if err != nil {
		return nil, nil, err
	}
	context.AfterFunc(ctx, func() { _ = p.Close() })
	said := func() string {
		text := oneLine(mask(p.said.String(), s.cfg.credentials()))
		return strings.TrimSpace(p.how() + " " + text)
	}
	return &mcp.IOTransport{Reader: paced{p, ctx, newPace()}, Writer: p, MaxLineLength: maxMessage}, said, nil
}

// run keeps the session open until ctx ends. onChange is told when what is
// quarantined changes.
func (s *server) run(ctx context.Context, onChange func()) {
	for wait := s.wait; ; wait = min(2*wait, mostWait) {
		start := time.Now()
		lived, err := s.live(ctx, onChange)
		if time.Since(start) >= steady {
			wait = s.wait
		}
		pause := wait + rand.N(wait/4+1) // #nosec G404 -- only spreads
		// After a session that was open, calls wait for the next one.
		s.set(func() { s.sess, s.fresh, s.down = nil, false, !lived || pause > worthWaiting || ctx.Err() != nil })
		s.metrics.up.WithLabelValues(s.cfg.Name).Set(0)
		if ctx.Err() != nil {
			return
		}
		s.log.WarnContext(ctx, "mcp server is away: trying again", "err", s.clean(err), "in", pause)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		s.metrics.restarts.WithLabelValues(s.cfg.Name).Inc()
	}
}

// open begins a session and lists the tools; the caller has to close it.
func (s *server) open(ctx context.Context) (*session, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	sess := &session{
		changed: make(chan struct{}, 1), suspect: make(chan struct{}, 1), done: make(chan struct{}), life: life.Done(), cancel: cancel,
	}
	t, said, err := s.dial(life)
	if err != nil {
		cancel()
		return nil, err
	}
	start, stop := context.WithTimeout(ctx, s.cfg.startTimeout())
	defer stop()
	stale := func() {
		s.set(func() { s.fresh = s.fresh && s.sess != sess })
	}
	err = sess.connect(start, sess.client(s.log, stale), t)
	if err == nil {
		if err = sess.relist(start); err == nil {
			return sess, nil
		}
		s.close(sess)
	}
	cancel()
	// No call was made yet: what it said quotes nobody.
	if text := said(); text != "" {
		err = fmt.Errorf("%w; the server: %s", err, text)
	}
	return nil, err
}

// close ends a session in order, and waits for its end as long as that may take.
// The SDK waits for calls under way; those that don't end are broken off.
func (s *server) close(sess *session) {
	breakOff := time.AfterFunc(patience, sess.cancel)
	defer breakOff.Stop()
	go func() {
		_ = sess.cs.Close() // how it ended makes no difference any more
		sess.cancel()
	}()
	timer := time.NewTimer(4 * patience)
	defer timer.Stop()
	select {
	case <-sess.done:
	case <-timer.C:
		s.log.Warn("mcp session doesn't end: left behind")
	}
	sess.cancel()
}

// live is one session from its beginning to its end. lived tells that there was
// one, err why there is none any more.
func (s *server) live(ctx context.Context, onChange func()) (lived bool, err error) {
	sess, err := s.open(ctx)
	if err != nil {
		return false, err
	}
	defer s.close(sess)
	s.listed(ctx, sess, onChange)
	s.metrics.up.WithLabelValues(s.cfg.Name).Set(1)
	s.log.InfoContext(ctx, "mcp server is connected", "tools", len(sess.list.cards))
	var again <-chan time.Time // no sooner
	changed := sess.changed
	for {
		select {
		case <-ctx.Done():
			return true, context.Cause(ctx)
		case <-sess.done:
			return true, sess.ended()
		case <-sess.life:
			return true, sess.ended()
		case <-again:
			changed, again = sess.changed, nil
		case <-sess.suspect:
			if err := s.ping(ctx, sess); err != nil {
				return true, err
			}
		case <-changed:
			changed, again = nil, time.After(relistPause)
			if err := s.relist(ctx, sess); err != nil {
				return true, err
			}
			s.listed(ctx, sess, onChange)
		}
	}
}

// ping finds out whether a server that left a call unanswered is still there.
// One that works on other calls is left alone.
func (s *server) ping(ctx context.Context, sess *session) error {
	if sess.calls.Load() > 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	ch := make(chan error, 1)
	go func() { ch <- sess.cs.Ping(ctx, nil) }()
	select {
	case err := <-ch:
		if err == nil {
			return nil
		}
	case <-ctx.Done():
	case <-sess.done:
		return sess.ended()
	}
	return errors.New("the server hangs")
}

func (s *server) relist(ctx context.Context, sess *session) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.startTimeout())
	defer cancel()
	ch := make(chan error, 1)
	go func() { ch <- sess.relist(ctx) }()
	select {
	case err := <-ch:
		return err
	case <-ctx.Done():
		return fmt.Errorf("listing tools: the server didn't answer in time: %w", context.Cause(ctx))
	}
}

// listed compares the session's list with the pins.
func (s *server) listed(ctx context.Context, sess *session, onChange func()) {
	held := map[string]Reason{}
	for _, a := range s.cfg.Allow {
		if r := s.judge(sess.list, a.Name); r != "" {
			held[a.Name] = r
		}
	}
	var before map[string]Reason
	s.set(func() {
		before, s.held = s.held, held
		// What has changed while it was compared is compared again.
		s.sess, s.fresh, s.down = sess, len(sess.changed) == 0, false
	})
	s.metrics.quarantined.WithLabelValues(s.cfg.Name).Set(float64(len(held)))
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

func (s *server) judge(l listed, name string) Reason {
	card, ok := l.cards[name]
	pin, pinned := s.pins[name]
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
func (s *server) acquire(ctx context.Context, name string) (sess *session, reason Reason, err error) {
	for {
		s.mu.Lock()
		sess, reason, moved := s.sess, s.held[name], s.moved
		ready, down := s.fresh, s.down
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
	return oneLine(mask(text, s.cfg.credentials()))
}
