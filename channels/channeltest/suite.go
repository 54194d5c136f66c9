package channeltest

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-bot/parley/channels"
)

// Patience bounds each step of the suite; a step that takes as long has hung.
const Patience = 10 * time.Second

// Setup tells the suite how to drive one adapter.
type Setup struct {
	// New builds an adapter that talks to a platform of its own. It is called
	// once a subtest.
	New func(t *testing.T) Case
	// NoAck is set where the platform has no notion of a message taken.
	NoAck bool
	// NoRedelivery is set where the platform never delivers a message again.
	NoRedelivery bool
	// Leaks are goroutines of a library that end by themselves later.
	Leaks []goleak.Option
}

// Case is one adapter and the test's hold on its platform. Optional hooks are
// nil where the platform has no such thing; their subtests then don't exist.
type Case struct {
	Adapter channels.Adapter
	// Chat is one that takes messages.
	Chat channels.Chat
	// Serve gets the adapter's webhook or pages, before Run. Required of a
	// WebhookReceiver or PageServer.
	Serve func(h http.Handler)
	// Deliver makes the platform deliver a text from a person, once. The same
	// id again is the same message again. It returns whether the adapter told
	// the platform that it took it; where NoAck is set that is ignored.
	Deliver func(t *testing.T, id, text string) (acked bool)
	// Press makes the platform deliver the press of a button.
	Press func(t *testing.T, button channels.ButtonID) (acked bool)
	// Calls counts the sends and edits that reached the platform. Optional
	// where Send makes no call.
	Calls func() int
	// Shown returns the texts the platform shows, oldest first.
	Shown func() []string
	// Fail makes the next send or edit fail, and tells whether the platform
	// can fail that way.
	Fail func(f Fault) bool
	// Secrets are canaries: the credentials the adapter was given.
	Secrets []string
	// Close ends the platform, after Run has returned.
	Close func()
}

// Fault is a way in which a platform fails a call.
type Fault string

// The faults, and the class each has to be told as.
const (
	FaultTooLong   Fault = "too_long"  // PermanentMessage
	FaultBlocked   Fault = "blocked"   // PermanentChat
	FaultToken     Fault = "token"     // PermanentToken
	FaultRate      Fault = "rate"      // RateLimited, After = FaultAfter
	FaultServer    Fault = "server"    // 5xx: Temporary, or Unknown where it may have been taken
	FaultRefused   Fault = "refused"   // nothing listens: Temporary
	FaultLost      Fault = "lost"      // connection lost after the request had left: Unknown
	FaultMalformed Fault = "malformed" // a 2xx that makes no sense: Unknown
	FaultNoChange  Fault = "no_change" // an edit that changes nothing: a success
)

// FaultAfter is the wait that FaultRate has to ask for.
const FaultAfter = 7 * time.Second

// Run runs the suite. It watches for goroutines left over, so the test that
// calls it must not be parallel.
func Run(t *testing.T, s Setup) {
	t.Run("Capabilities", func(t *testing.T) { testCapabilities(t, s) })
	t.Run("Link", func(t *testing.T) { testLink(t, s) })
	t.Run("Progress", func(t *testing.T) { testProgress(t, s) })
	t.Run("RunEndsClean", func(t *testing.T) { testRunEnds(t, s) })
	t.Run("Receive_G1", func(t *testing.T) { testReceive(t, s) })
	t.Run("NotAckedUntilAccepted_G1", func(t *testing.T) { testNotAcked(t, s) })
	t.Run("RedeliveredUnderSameID_G1", func(t *testing.T) { testRedelivery(t, s) })
	t.Run("Press_B20", func(t *testing.T) { testPress(t, s) })
	t.Run("Send", func(t *testing.T) { testSend(t, s) })
	t.Run("SendFaults_G5", func(t *testing.T) { testFaults(t, s) })
}

// session is an adapter that runs.
type session struct {
	Case
	t    *testing.T
	sink *recorder
	stop func() error
}

// start builds a case and runs its adapter; the test's cleanup ends both and
// looks for goroutines left behind.
func start(t *testing.T, s Setup) *session {
	t.Helper()
	before := goleak.IgnoreCurrent()
	return startCase(t, s, s.New(t), before)
}

// startCase is start for a case that was built before.
func startCase(t *testing.T, s Setup, c Case, before goleak.Option) *session {
	t.Helper()
	se := &session{Case: c, t: t, sink: newRecorder(c.Adapter)}
	serve(t, c, se.sink)

	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- c.Adapter.Run(ctx, se.sink) }()
	stopped := false
	se.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(Patience):
			t.Fatalf("Run did not return within %s of its context's end", Patience)
			return nil
		}
	}
	t.Cleanup(func() {
		if err := se.stop(); err != nil {
			t.Errorf("Run returned %v when its context had ended, want nil", err)
		}
		if c.Close != nil {
			c.Close()
		}
		http.DefaultClient.CloseIdleConnections()
		if err := goleak.Find(append([]goleak.Option{before}, s.Leaks...)...); err != nil {
			t.Errorf("goroutines left behind: %v", err)
		}
	})
	se.linked()
	return se
}

func serve(t *testing.T, c Case, sink channels.Sink) {
	t.Helper()
	if w, ok := c.Adapter.(channels.WebhookReceiver); ok {
		c.Serve(w.Webhook(sink))
	}
	if p, ok := c.Adapter.(channels.PageServer); ok {
		prefix, h := p.Pages(sink)
		if len(prefix) < 2 || !strings.HasPrefix(prefix, "/") || !strings.HasSuffix(prefix, "/") {
			t.Errorf("Pages has prefix %q, want one that starts and ends in a slash", prefix)
		}
		c.Serve(h)
	}
}

func testCapabilities(t *testing.T, s Setup) {
	c := s.New(t)
	if c.Close != nil {
		t.Cleanup(c.Close)
	}
	for _, problem := range disagreements(c.Adapter, c.Chat) {
		t.Error(problem)
	}
}

// disagreements lists where interfaces and capabilities contradict each other.
func disagreements(a channels.Adapter, chat channels.Chat) []string {
	var out []string
	check := func(ok bool, problem string) {
		if !ok {
			out = append(out, problem)
		}
	}
	caps := a.Capabilities(chat)
	_, edits := a.(channels.Editor)
	_, types := a.(channels.Typer)
	_, acks := a.(channels.Acker)
	check(edits == caps.Edit.Text, "Editor and Capabilities.Edit.Text disagree")
	check(caps.Edit.Text || caps.Edit == channels.EditLimits{}, "Edit has limits without Edit.Text")
	check(caps.Edit.Draft == 0 || caps.Edit.Draft >= caps.Edit.MinInterval, "Edit.Draft is shorter than Edit.MinInterval")
	check(types == (caps.Typing > 0), "Typer and Capabilities.Typing disagree")
	check(!acks || caps.Buttons != nil, "an Acker without buttons")
	check(caps.TextMax >= 0, "TextMax is negative")
	if b := caps.Buttons; b != nil {
		check(b.Max >= 2, "fewer buttons than a yes and a no need")
		check(b.IDBytes == 0 || b.IDBytes >= 64, "ids of 64 bytes don't fit a button")
		check(b.TextMax == 0 || caps.TextMax == 0 || b.TextMax <= caps.TextMax, "more text beside buttons than without")
	}
	check(cmp.Equal(caps, a.Capabilities(chat)), "Capabilities differs between two calls")
	if caps.Buttons != nil {
		caps.Buttons.Max = -1
		check(a.Capabilities(chat).Buttons.Max != -1, "Capabilities hands out a pointer that the caller can write through")
	}
	return out
}

func testRunEnds(t *testing.T, s Setup) {
	se := start(t, s)
	if err := se.stop(); err != nil {
		t.Errorf("Run returned %v when its context had ended, want nil", err)
	}
}
