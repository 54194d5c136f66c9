package channeltest

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-bot/parley/channels"
)

// Linked implements channels.LinkSink.
func (r *recorder) Linked(_ context.Context, l channels.Link) { r.links <- l }

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
