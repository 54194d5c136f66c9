package outbox

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-bot/parley/channels"
)

// ErrStopping is why a send was cancelled at the end of the program.
var ErrStopping = errors.New("shutting down")

// Config bounds the outbox. Zero values are the defaults.
type Config struct {
	// MaxAge is how long an entry is tried; 24h. Then it is failed.
	MaxAge time.Duration
	// Senders is how many sends run at once in one channel; 32.
	Senders int
	// SendTimeout bounds one platform call; 30s.
	SendTimeout time.Duration
	// PollEvery is how often the store is asked for chats that nobody told
	// of; 2s, jittered by a fifth.
	PollEvery time.Duration
	// Grace is how long sending goes on after Stop; 10s.
	Grace time.Duration
	// MaxChats is how many chats of one channel are kept in memory; 10,000.
	// Further ones are found in the store.
	MaxChats int
}

func (c Config) withDefaults() Config {
	c.MaxAge = cmp.Or(max(c.MaxAge, 0), 24*time.Hour)
	c.Senders = cmp.Or(max(c.Senders, 0), 32)
	c.SendTimeout = cmp.Or(max(c.SendTimeout, 0), 30*time.Second)
	c.PollEvery = cmp.Or(max(c.PollEvery, 0), 2*time.Second)
	c.Grace = cmp.Or(max(c.Grace, 0), 10*time.Second)
	c.MaxChats = cmp.Or(max(c.MaxChats, 0), 10_000)
	return c
}

// Deps is what the outbox works with. Hooks may be nil; they are called from
// the sender's goroutine and must not block.
type Deps struct {
	Store Store
	// Adapters by the channel's instance name.
	Adapters map[string]channels.Adapter
	// Standby: nothing is sent for a channel before Resume.
	Standby bool
	// OnLogged hears of each chat whose log grew.
	OnLogged func(chatKey string)
	// OnFailed hears of entries whose end cancelled a turn: Failure.Lane is
	// set. Where Ready, the lane has other work.
	OnFailed func(Failure)
	// OnQuestion hears when a question that has just left will expire.
	OnQuestion func(expires time.Time)
	// OnTried hears how each send or edit of an entry ended.
	OnTried    func(channel string, err error)
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Outbox sends. Its methods may be called from many goroutines at once.
type Outbox struct {
	cfg      Config
	deps     Deps
	log      *slog.Logger
	metrics  *metrics
	accounts map[string]*account
	scan     chan struct{}

	mu        sync.Mutex
	started   bool
	stopping  bool
	sendCtx   context.Context // of platform calls
	endSends  context.CancelCauseFunc
	endIntake context.CancelCauseFunc
	senders   sync.WaitGroup
	loops     sync.WaitGroup // scanner, signs of typing
	waitOnce  sync.Once
	sent      chan struct{} // all senders have ended
	done      chan struct{} // all else too
}

// New makes an outbox; it does nothing before Start.
func New(cfg Config, deps Deps) *Outbox {
	o := &Outbox{
		cfg: cfg.withDefaults(), deps: deps, log: deps.Log,
		accounts: make(map[string]*account),
		scan:     make(chan struct{}, 1),
		sent:     make(chan struct{}),
		done:     make(chan struct{}),
	}
	if o.log == nil {
		o.log = slog.New(slog.DiscardHandler)
	}
	o.sendCtx, o.endSends = context.WithCancelCause(context.Background())
	o.metrics = newMetrics(deps.Registerer, deps.Store)
	for name, adapter := range deps.Adapters {
		o.accounts[name] = newAccount(o, name, adapter)
	}
	return o
}

// Start begins to send. When ctx ends nothing new is looked for, but only Stop
// ends sending.
func (o *Outbox) Start(ctx context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.started || o.stopping {
		return
	}
	o.started = true
	var intake context.Context
	intake, o.endIntake = context.WithCancelCause(ctx)
	for _, a := range o.accounts {
		a.start()
	}
	o.loops.Go(func() { o.scanLoop(intake) })
}

// Stop looks for nothing new, sends what the chats at hand still have for the
// grace time or until ctx ends, then cancels what runs; its outcome is kept.
// It returns an error if a platform call doesn't end even then. It may be
// called again.
func (o *Outbox) Stop(ctx context.Context) error {
	o.mu.Lock()
	started := o.started
	o.stopping = true
	o.mu.Unlock()
	for _, a := range o.accounts {
		a.drain()
	}
	if started {
		o.endIntake(ErrStopping)
	}
	o.waitOnce.Do(func() {
		go func() {
			o.senders.Wait()
			close(o.sent)
			o.loops.Wait()
			close(o.done)
		}()
	})
	grace := time.NewTimer(o.cfg.Grace)
	defer grace.Stop()
	select {
	case <-o.sent:
	case <-grace.C:
	case <-ctx.Done():
	}
	for _, a := range o.accounts {
		a.halt()
	}
	o.endSends(ErrStopping)
	abort := time.NewTimer(abortTime)
	defer abort.Stop()
	select {
	case <-o.done:
	case <-abort.C:
		return errors.New("stopping the outbox: platform calls did not end when they were cancelled")
	}
	for _, a := range o.accounts {
		a.giveBackAll()
	}
	return nil
}

const (
	// abortTime is how long a cancelled call may take to return, the commit
	// of its outcome included.
	abortTime = 8 * time.Second
	// storeTime bounds one call to the store.
	storeTime = 5 * time.Second
)

// Take sends an entry that was born sending in this process. It doesn't wait
// for the send. Where the entry can't be taken (too many at hand, shutting
// down, no such channel) it is put back into the store.
func (o *Outbox) Take(e Entry) {
	if a := o.accounts[e.Channel]; a != nil && a.hand(e) {
		return
	}
	o.giveBack(e)
}

// Wake says that the chat may have something to send now. It doesn't block.
func (o *Outbox) Wake(channel, chatKey string) {
	if a := o.accounts[channel]; a != nil {
		a.hint(chatKey)
	}
}

// giveBack puts an entry that was marked as sending, and wasn't sent, back.
func (o *Outbox) giveBack(e Entry) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	if err := o.deps.Store.Retry(ctx, e, time.Now(), false, ""); err != nil {
		o.log.Error("unsent entry could not be put back", "channel", e.Channel, "seq", e.Seq, "err", err)
	}
}
