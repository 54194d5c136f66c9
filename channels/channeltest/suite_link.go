package channeltest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-bot/parley/channels"
)

// Linked implements channels.LinkSink.
func (r *recorder) Linked(_ context.Context, l channels.Link) { r.links <- l }

// promises is what was told of progress: how often, and within which times the
// next sign was to come.
type promises struct {
	signs             int
	shortest, longest time.Duration
}

// Progress implements channels.ProgressSink.
func (r *recorder) Progress(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.promised.signs == 0 || d < r.promised.shortest {
		r.promised.shortest = d
	}
	r.promised.signs++
	r.promised.longest = max(r.promised.longest, d)
	select {
	case r.progress <- struct{}{}:
	default:
	}
}

func (r *recorder) told() promises {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.promised
}

// linked waits until the adapter is connected, where it says so. What is
// delivered or sent before is the adapter's to wait with, or to refuse.
func (se *session) linked() {
	se.t.Helper()
	linker, ok := se.Adapter.(channels.Linker)
	if !ok {
		return
	}
	limit := time.After(Patience)
	for linker.Link().State != channels.LinkUp {
		select {
		case <-se.sink.links:
		case <-limit:
			se.t.Fatalf("not connected: %s", linker.Link())
		}
	}
}

// longestPromise bounds how long an adapter may be without a sign of life.
const longestPromise = 10 * time.Minute

// testProgress proves that an adapter that holds a connection gives signs of
// life once it is up, with limits that make sense, and that others, which
// nobody watches, give none.
func testProgress(t *testing.T, s Setup) {
	se := start(t, s)
	if h, ok := se.Adapter.(channels.Holder); ok && h.Holds() {
		select {
		case <-se.sink.progress: // it may be from a try before it was up
		default:
		}
		if se.Deliver != nil {
			se.Deliver(t, "m1", "hello")
			next(t, se.sink.got)
		}
		select {
		case <-se.sink.progress:
		case <-time.After(Patience):
			t.Error("it is up, and gives no sign of life")
		}
	}
	if err := se.stop(); err != nil {
		t.Errorf("Run returned %v when its context had ended, want nil", err)
	}
	for _, problem := range progressProblems(se.Adapter, se.sink.told()) {
		t.Error(problem)
	}
}

// progressProblems lists what is wrong with the signs of life that a Run gave.
func progressProblems(a channels.Adapter, p promises) (out []string) {
	holder, ok := a.(channels.Holder)
	_, links := a.(channels.Linker)
	holds := ok && holder.Holds()
	switch {
	case links && !ok:
		out = append(out, "a Linker that is no Holder: it has to say whether several processes may connect at once")
	case ok && !links:
		out = append(out, "a Holder that is no Linker: nobody knows how its connection stands")
	case ok && holder.Holds() != holds:
		out = append(out, "Holds differs between two calls")
	case !holds && p.signs > 0:
		out = append(out, "signs of life from an adapter that holds nothing: nobody watches it")
	case holds && p.signs == 0:
		out = append(out, "no sign of life")
	case holds && (p.shortest <= 0 || p.longest > longestPromise):
		out = append(out, fmt.Sprintf("the next signs were promised within %s to %s, want more than 0 and at most %s", p.shortest, p.longest, longestPromise))
	}
	return out
}

// testLink proves that the state is told, and that nothing is up without Run.
func testLink(t *testing.T, s Setup) {
	before := goleak.IgnoreCurrent()
	c := s.New(t)
	linker, ok := c.Adapter.(channels.Linker)
	if !ok {
		if c.Close != nil {
			t.Cleanup(c.Close)
		}
		return
	}
	if l := linker.Link(); l.State == channels.LinkUp || l.State == "" {
		t.Errorf("before Run the state is %q", l.State)
	}
	se := startCase(t, s, c, before)
	if l := linker.Link(); l.State != channels.LinkUp {
		t.Errorf("the sink was told that it is up, Link says %q", l.State)
	}
	if err := se.stop(); err != nil {
		t.Errorf("Run returned %v when its context had ended, want nil", err)
	}
	if l := linker.Link(); l.State == channels.LinkUp {
		t.Error("Run has returned, and the state is up")
	}
}
