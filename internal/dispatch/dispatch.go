package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-bot/parley/internal/lease"
)

// Causes that the context of work is cancelled with; lease.ErrLost is another
// (another replica has taken the lane over).
var (
	// ErrCut: the turn was ended from outside, by a command or an answer.
	ErrCut = errors.New("turn ended from outside")
	// ErrStopping: the program ends and the grace time is over.
	ErrStopping = errors.New("shutting down")
)

// Config bounds the dispatcher. Zero values are the defaults.
type Config struct {
	// Workers is how many lanes are worked on at once; 64.
	Workers int
	// PollEvery is how often the store is asked for lanes that nobody told
	// of; 1s, jittered by a fifth.
	PollEvery time.Duration
	// SweepEvery is how long an expired question can go unnoticed where no
	// timer was set for it; 5s.
	SweepEvery time.Duration
	// RenewEvery is the heartbeat of leases; 10s.
	RenewEvery time.Duration
	// Grace is how long running work may go on after Stop; 20s.
	Grace time.Duration
	// MaxHints is how many waiting lanes are kept in memory; 10,000. Further
	// ones are found in the store.
	MaxHints int
	// SoloDrain is how long others are held at first so that a suspect lane
	// can run alone; 5s, doubled each time it wasn't enough.
	SoloDrain time.Duration
}

func (c Config) withDefaults() Config {
	c.Workers = cmp.Or(max(c.Workers, 0), 64)
	c.PollEvery = cmp.Or(max(c.PollEvery, 0), time.Second)
	c.SweepEvery = cmp.Or(max(c.SweepEvery, 0), 5*time.Second)
	c.RenewEvery = cmp.Or(max(c.RenewEvery, 0), 10*time.Second)
	c.Grace = cmp.Or(max(c.Grace, 0), 20*time.Second)
	c.MaxHints = cmp.Or(max(c.MaxHints, 0), 10_000)
	c.SoloDrain = cmp.Or(max(c.SoloDrain, 0), 5*time.Second)
	return c
}

// Deps is what the dispatcher works with. Store and Work are required.
type Deps struct {
	Store Store
	// Work does one turn of a claimed lane and gives the lease back by what
	// it commits. more is true where the lane has further work. Where it
	// returns an error, the dispatcher releases the lane.
	Work func(ctx context.Context, l lease.Lane) (more bool, err error)
	// OnEnded hears of each question that expired; nil: nobody.
	OnEnded    func(Ended)
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Dispatcher hands lanes to workers. Its methods may be called from many
// goroutines at once.
type Dispatcher struct {
	cfg     Config
	deps    Deps
	log     *slog.Logger
	metrics *metrics

	mu       sync.Mutex
	lanes    map[string]*lane // all that are queued, working or resting
	queue    fifo
	resting  int
	started  bool
	stopping bool

	wake    *sync.Cond // idle workers wait here
	idle    int        // of them those that nobody has signalled yet
	workers int
	active  int // workers between taking a lane and being done with it
	gate    gate
	pause   pause

	// scan tells the scanner that the store has more than is queued.
	scan    chan struct{}
	behind  bool
	due     time.Time // hint for the expiry timer
	dueHint chan struct{}

	workCtx   context.Context
	endWork   context.CancelCauseFunc
	endIntake context.CancelCauseFunc
	working   sync.WaitGroup // workers
	loops     sync.WaitGroup // scanner, expiry, heartbeat
	waitOnce  sync.Once
	done      chan struct{}
}

// New makes a dispatcher; it does nothing before Start.
func New(cfg Config, deps Deps) *Dispatcher {
	d := &Dispatcher{
		cfg: cfg.withDefaults(), deps: deps, log: deps.Log,
		lanes:   make(map[string]*lane),
		scan:    make(chan struct{}, 1),
		dueHint: make(chan struct{}, 1),
		done:    make(chan struct{}),
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	d.wake = sync.NewCond(&d.mu)
	d.gate.moved = sync.NewCond(&d.mu)
	d.metrics = newMetrics(deps.Registerer, d)
	return d
}

// Start begins to work. When ctx ends no new work is begun, as after Stop; but
// only Stop waits.
func (d *Dispatcher) Start(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.started || d.stopping {
		return
	}
	d.started = true
	var intake context.Context
	intake, d.endIntake = context.WithCancelCause(ctx)
	d.workCtx, d.endWork = context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(intake, d.closeIntake)
	d.loops.Go(func() { d.scanLoop(intake) })
	d.loops.Go(func() { d.expireLoop(intake) })
	d.loops.Go(func() { d.renewLoop(d.workCtx) })
	for range d.queue.n {
		d.summon()
	}
}

// closeIntake makes sure that no further lane is begun.
func (d *Dispatcher) closeIntake() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopping = true
	for _, l := range d.lanes {
		if l.rest != nil {
			l.rest.Stop()
		}
	}
	d.pause.stop()
	d.wakeAll()
	d.gate.moved.Broadcast()
}

// Stop begins no further work, lets what runs go on for the grace time or
// until ctx ends, then cancels it with ErrStopping. It returns an error if
// work doesn't end even then. It may be called again.
func (d *Dispatcher) Stop(ctx context.Context) error {
	d.closeIntake()
	d.mu.Lock()
	started := d.started
	d.mu.Unlock()
	if !started {
		return nil
	}
	d.endIntake(ErrStopping)
	d.waitOnce.Do(func() {
		go func() {
			d.working.Wait()
			d.endWork(ErrStopping) // the heartbeat ends after the work
			d.loops.Wait()
			close(d.done)
		}()
	})
	grace := time.NewTimer(d.cfg.Grace)
	defer grace.Stop()
	select {
	case <-d.done:
		return nil
	case <-grace.C:
	case <-ctx.Done():
	}
	d.endWork(ErrStopping)
	abort := time.NewTimer(abortTime)
	defer abort.Stop()
	select {
	case <-d.done:
		return nil
	case <-abort.C:
		d.mu.Lock()
		defer d.mu.Unlock()
		return fmt.Errorf("stopping the dispatcher: %d turns did not end when they were cancelled", d.active)
	}
}

// abortTime is how long cancelled work may take to return, its release by the
// store included.
const abortTime = 5 * time.Second

// Wake says that the lane may have work. It doesn't block, and many calls for
// one lane are as good as one. Calls are good from the moment of New.
func (d *Dispatcher) Wake(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopping {
		return
	}
	if l := d.lanes[key]; l != nil {
		l.again = true // noticed when it is done; a resting or queued one runs anyway
		return
	}
	if d.queue.n >= d.cfg.MaxHints {
		d.behind = true
		return
	}
	d.enqueue(&lane{key: key})
}

// Cut says that the turn on the lane was ended from outside: work that runs on
// it is cancelled with ErrCut. It also ends the back-off of a failing lane.
func (d *Dispatcher) Cut(key string) { d.cut(key, ErrCut) }

func (d *Dispatcher) cut(key string, cause error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lanes[key]
	switch {
	case l == nil:
	case l.cancel != nil:
		l.cancel(cause)
	case l.rest != nil && !d.stopping && l.rest.Stop():
		l.failures, l.panics = 0, 0
		d.rested(l)
	}
}

// Deadline says that a question expires at t: the expiry timer is brought
// forward if it was set for later.
func (d *Dispatcher) Deadline(t time.Time) {
	d.mu.Lock()
	if d.due.IsZero() || t.Before(d.due) {
		d.due = t
	}
	d.mu.Unlock()
	poke(d.dueHint)
}

// poke signals a channel with room for one.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
