package mcptool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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
	// relistEvery is for servers that don't tell of changes.
	relistEvery = 10 * time.Minute
	pingTimeout = 10 * time.Second
)

// link is the way to a server, for one session.
type link struct {
	transport mcp.Transport
	// said tells how the server's process ended and what it wrote on its
	// standard error.
	said func() string
	// end waits until nothing of it is left.
	end func()
}

// dialReal starts the server's process, or makes ready to reach its URL. The
// link ends with ctx.
func (s *server) dialReal(ctx context.Context) (link, error) {
	if !s.cfg.URL.Empty() {
		t, err := dialHTTP(ctx, s.cfg)
		return link{transport: t, said: func() string { return "" }, end: func() {}}, err
	}
	p, err := spawn(s.cfg)
	if err != nil {
		return link{}, err
	}
	end := func() { _ = p.Close() }
	context.AfterFunc(ctx, end)
	said := func() string {
		text := oneLine(s.cfg.credentials().Text(p.said.String()))
		return strings.TrimSpace(p.how() + " " + text)
	}
	t := &mcp.IOTransport{Reader: paced{p, ctx, newPace()}, Writer: p, MaxLineLength: maxMessage}
	return link{transport: t, said: said, end: end}, nil
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
	way, err := s.dial(life)
	if err != nil {
		cancel()
		return nil, err
	}
	sess.end = way.end
	start, stop := context.WithTimeout(ctx, s.cfg.startTimeout())
	defer stop()
	stale := func() {
		s.set(func() { s.fresh = s.fresh && s.sess != sess })
	}
	err = sess.connect(start, sess.client(s.log, stale), way.transport)
	if err == nil {
		if err = sess.relist(start); err == nil {
			return sess, nil
		}
		s.close(sess)
	}
	cancel()
	way.end()
	// No call was made yet: what it said quotes nobody.
	if text := way.said(); text != "" {
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
	sess.end()
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
	now := time.NewTicker(relistEvery)
	defer now.Stop()
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
		case <-now.C:
			if sess.calls.Load() > 0 {
				continue // it may do one thing at a time
			}
			if err := s.relist(ctx, sess); err != nil {
				return true, err
			}
			s.listed(ctx, sess, onChange)
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
