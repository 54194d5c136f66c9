package channeltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
)

// What the test beds of adapters share: an adapter that runs on a fake
// platform, what it hands over, what it logs, and a line that can be cut.

// Start calls run, the adapter's Run, until stop is called or the test ends;
// stop returns what Run returned.
func Start(t *testing.T, run func(context.Context) error) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(Patience):
			return errors.New("Run doesn't end")
		}
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

// Ends waits for run to end by itself, and returns what it returned.
func Ends(t *testing.T, run func(context.Context) error, log fmt.Stringer) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	err := run(ctx)
	if ctx.Err() != nil {
		t.Fatalf("Run goes on; log:\n%s", log)
	}
	return err
}

// Next is what the core was given next.
func Next(t *testing.T, got <-chan channels.Inbound, log fmt.Stringer) channels.Inbound {
	t.Helper()
	select {
	case in := <-got:
		return in
	case <-time.After(Patience):
		t.Fatalf("nothing was received; log:\n%s", log)
		return channels.Inbound{}
	}
}

// Nothing fails the test where the core was given something.
func Nothing(t *testing.T, got <-chan channels.Inbound) {
	t.Helper()
	select {
	case in := <-got:
		t.Errorf("received %+v", in)
	default:
	}
}

// Log keeps what is written to it. Its zero value is ready.
type Log struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	watch map[string]chan struct{} // closed when the text was logged
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.buf.Write(p)
	for text, seen := range l.watch {
		if strings.Contains(l.buf.String(), text) {
			close(seen)
			delete(l.watch, text)
		}
	}
	return n, err
}

// String is the end of it, as much as a message of a test can take.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.buf.String()
	return s[max(0, len(s)-6000):]
}

// Has tells whether the text was logged.
func (l *Log) Has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.buf.String(), text)
}

// Until waits for a text to be logged.
func (l *Log) Until(t *testing.T, text string) {
	t.Helper()
	select {
	case <-l.watched(text):
	case <-time.After(Patience):
		t.Fatalf("%q was not logged, but:\n%s", text, l)
	}
}

func (l *Log) watched(text string) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seen := l.watch[text]; seen != nil {
		return seen
	}
	seen := make(chan struct{})
	if strings.Contains(l.buf.String(), text) {
		close(seen)
		return seen
	}
	if l.watch == nil {
		l.watch = map[string]chan struct{}{}
	}
	l.watch[text] = seen
	return seen
}

// Hides fails the test where a credential was logged.
func (l *Log) Hides(t *testing.T, secrets ...string) {
	t.Helper()
	for _, s := range secrets {
		if l.Has(s) {
			t.Errorf("the log holds %q:\n%s", s, l)
		}
	}
}

// Line is the way to the platform, which can be cut.
type Line struct {
	next *http.Transport

	mu  sync.Mutex
	cut int
}

// NewLine makes one that works.
func NewLine() *Line { return &Line{next: &http.Transport{}} }

// CutNext lets the next n calls find nothing that listens.
func (l *Line) CutNext(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = n
}

// RoundTrip implements http.RoundTripper.
func (l *Line) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	cut := l.cut > 0
	if cut {
		l.cut--
	}
	l.mu.Unlock()
	if !cut {
		return l.next.RoundTrip(r)
	}
	closed := httptest.NewServer(nil)
	addr := closed.Listener.Addr().String()
	closed.Close()
	r = r.Clone(r.Context())
	r.URL.Host = addr
	return (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
}

// CloseIdleConnections lets http.Client reach the transport below.
func (l *Line) CloseIdleConnections() { l.next.CloseIdleConnections() }
