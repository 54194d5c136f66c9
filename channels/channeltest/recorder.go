package channeltest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/parley-bot/parley/channels"
)

// recorder is the suite's Sink.
type recorder struct {
	adapter channels.Adapter

	mu   sync.Mutex
	fail int // refuse so many
	got  chan channels.Inbound
	bad  chan channels.Inbound // seen while refusing
	// links are the states of a Linker, as they were told.
	links chan channels.Link
	// progress has a signal after a sign of life.
	progress chan struct{}
	promised promises
}

func newRecorder(a channels.Adapter) *recorder {
	// Room for more than any subtest delivers, so that Accept never blocks.
	return &recorder{adapter: a, got: make(chan channels.Inbound, 64), bad: make(chan channels.Inbound, 64), links: make(chan channels.Link, 64), progress: make(chan struct{}, 1)}
}

var errNotNow = errors.New("the store is away")

// Accept acknowledges presses as the core does, from within.
func (r *recorder) Accept(ctx context.Context, in channels.Inbound) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail > 0 {
		r.fail--
		r.bad <- in
		return errNotNow
	}
	if acker, ok := r.adapter.(channels.Acker); ok && in.Kind == channels.KindPress {
		if err := acker.Ack(ctx, in, channels.PressAck{Outcome: channels.PressAccepted}); err != nil {
			return err
		}
	}
	r.got <- in
	return nil
}

func (r *recorder) refuse(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = n
}

// next waits for what was accepted next.
func next(t *testing.T, from <-chan channels.Inbound) channels.Inbound {
	t.Helper()
	select {
	case in := <-from:
		return in
	case <-time.After(Patience):
		t.Fatal("the sink was not called")
		return channels.Inbound{}
	}
}

// none fails if anything was accepted that nobody asked for.
func none(t *testing.T, from <-chan channels.Inbound) {
	t.Helper()
	select {
	case in := <-from:
		t.Errorf("the sink was called once too often, with %+v", in)
	default:
	}
}

// checkInbound proves what the core relies on.
func checkInbound(t *testing.T, in channels.Inbound) {
	t.Helper()
	switch in.Kind {
	case channels.KindMessage, channels.KindEdit, channels.KindPress:
	default:
		t.Errorf("kind %q", in.Kind)
	}
	if in.ID == "" || in.Chat.ID == "" || in.From.ID == "" {
		t.Errorf("an id is empty: %+v", in)
	}
	if in.Kind == channels.KindEdit && in.EditStamp == "" {
		t.Error("an edit without its stamp")
	}
	if (in.Kind == channels.KindPress) != (in.Button != "") {
		t.Errorf("kind %s with button %q", in.Kind, in.Button)
	}
	for _, s := range []string{string(in.ID), string(in.Chat.ID), string(in.From.ID), in.From.Name, in.Text} {
		if !utf8.ValidString(s) {
			t.Errorf("%q isn't UTF-8", s)
		}
	}
}
