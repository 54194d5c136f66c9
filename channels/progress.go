package channels

import (
	"context"
	"sync"
	"time"
)

// Holder is an adapter whose Run may hold what one process can hold at a time:
// a connection, a poll. Where several processes share a database, Run then runs
// in one of them only; and a Run that gives no more signs of life is started
// again.
type Holder interface {
	// Holds tells whether Run does, as the adapter is configured. It is pure.
	// Where it does, Run tells its sink of its progress, if that is a
	// ProgressSink.
	Holds() bool
}

// ProgressSink is a Sink that watches over a Run. It is optional: an adapter
// asks its sink for it, by Progressed.
type ProgressSink interface {
	// Progress says that the connection was just seen to work or, while none
	// is up, that the next try begins; and that the next sign comes within d.
	// The adapter's own time limits have to be over by then: after d without
	// a sign Run's context is cancelled. The sign has to come from what does
	// the work, not from a timer beside it. It doesn't block.
	//
	// A state that is Lasting takes the promise back: nothing is waited for
	// until the next sign. From a call of Run to its first sign there are
	// FirstSign.
	Progress(d time.Duration)
}

// FirstSign is how long the Run of a Holder has until its first sign.
const FirstSign = 2 * time.Minute

// Progressed tells the sink of progress, where it wants to know.
func Progressed(sink Sink, within time.Duration) {
	if p, ok := sink.(ProgressSink); ok {
		p.Progress(within)
	}
}

// Teller keeps how the connection of an adapter stands, for its Linker, and
// tells the sink of each change. The zero value is connecting. It is safe for
// use by several goroutines.
type Teller struct {
	mu   sync.Mutex
	now  Link
	tell func(Link)
}

// Begin is for the beginning of Run: the state is connecting.
func (t *Teller) Begin(ctx context.Context, sink Sink) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now, t.tell = Link{State: LinkConnecting}, nil
	if s, ok := sink.(LinkSink); ok {
		t.tell = func(l Link) { s.Linked(ctx, l) }
	}
}

// End is for the end of Run: what a person has to do stays, a link that is up
// doesn't.
func (t *Teller) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tell = nil
	if t.now.State == LinkUp {
		t.now = Link{State: LinkConnecting}
	}
}

// Set sets the state.
func (t *Teller) Set(state LinkState, detail string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := Link{State: state, Detail: detail}
	if next == t.now {
		return
	}
	t.now = next
	if t.tell != nil {
		t.tell(next)
	}
}

// Link is the state now.
func (t *Teller) Link() Link {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now.State == "" {
		return Link{State: LinkConnecting}
	}
	return t.now
}
