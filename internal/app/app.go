package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/control"
	"github.com/parley-bot/parley/internal/dispatch"
	"github.com/parley-bot/parley/internal/httpserver"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/lease"
	"github.com/parley-bot/parley/internal/outbox"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/store/postgres"
	"github.com/parley-bot/parley/internal/store/sqlite"
	"github.com/parley-bot/parley/internal/turn"
)

// App is a running bot.
type App struct {
	*Bot
	db         opened
	st         *store.Store
	owner      string
	inbox      *inbox.Inbox
	dispatcher *dispatch.Dispatcher
	outbox     *outbox.Outbox
	engine     *turn.Engine
	server     *httpserver.Server
	followers  []*audit.Follower
	sinks      []audit.Sink
	health     *health
	worked     atomic.Int64 // turns and parts of turns
	shifts     *shifts
	reloads    *reloader

	cancel  context.CancelFunc // ends channels and helpers
	running sync.WaitGroup
	control *control.Server // nil: not to be reached by commands
	served  chan error
	stop    sync.Once
	stopped error
}

// New opens the store and joins the parts; nothing works yet. With serve false
// no HTTP server is made.
func New(ctx context.Context, b *Bot, serve bool) (*App, error) {
	a := &App{Bot: b, owner: uuid.NewString(), served: make(chan error, 1), shifts: newShifts(b.brain)}
	if err := a.openStore(ctx); err != nil {
		return nil, err
	}
	if err := a.join(serve); err != nil {
		return nil, errors.Join(err, a.st.Close())
	}
	return a, nil
}

// opened is an open database of either kind.
type opened interface {
	store.DB
	// Unclean tells whether the process before this one was cut short.
	Unclean() bool
	// Shrink gives back what rest doesn't need.
	Shrink()
}

func (a *App) openStore(ctx context.Context) error {
	commits, sizes, err := storeMetrics(a.registry.Registerer())
	if err != nil {
		return err
	}
	a.db, err = a.openDB(ctx, func(took time.Duration, calls int) {
		commits.Observe(took.Seconds())
		sizes.Observe(float64(calls))
	})
	if err != nil {
		return err
	}
	var db store.DB = a.db
	if a.opts.WrapDB != nil {
		db = a.opts.WrapDB(db)
	}
	a.st = store.New(db)
	a.Bot.store.Store(a.st)
	return nil
}

func (a *App) openDB(ctx context.Context, observe func(took time.Duration, calls int)) (opened, error) {
	if url, ok := postgresURL(a.cfg); ok {
		return postgres.Open(ctx, url, postgres.Options{
			Clock: a.opts.Clock, Log: a.log, Observe: func(took time.Duration) { observe(took, 1) },
		})
	}
	path, err := sqlitePath(a.cfg)
	if err != nil {
		return nil, err
	}
	return sqlite.Open(ctx, path, sqlite.Options{
		Clock: a.opts.Clock, UnsafeFS: a.cfg.Store.UnsafeFS, OnCommit: a.opts.OnCommit, Fatal: a.fatal, Observe: observe,
		Gone: func(err error) {
			a.log.Error("the database file is not in its place: nothing can be saved", "err", err)
		},
	})
}

func storeMetrics(reg prometheus.Registerer) (commits, sizes prometheus.Histogram, err error) {
	commits = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "parley_store_commit_seconds", Help: "Commits of the store, with the work in them.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5},
	})
	sizes = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "parley_store_batch_size", Help: "Transactions that one commit held.",
		Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512},
	})
	return commits, sizes, errors.Join(reg.Register(commits), reg.Register(sizes))
}

// fatal is for a store that can't be trusted any more.
func (a *App) fatal(err error) {
	a.log.Error("the store has failed: the process must end", "err", err)
	if a.opts.Fatal != nil {
		a.opts.Fatal(err)
	}
}

func (a *App) join(serve bool) (err error) {
	reg := a.registry.Registerer()
	adapters := map[string]channels.Adapter{}
	var names []string
	for _, in := range a.adapters {
		adapters[in.name] = in.adapter
		names = append(names, in.name)
	}
	if a.opts.Apart {
		a.st.Serve(names)
	}
	a.reloads = newReloader(a.Bot)
	a.health = newHealth(a.adapters, reg)
	a.outbox = outbox.New(outbox.Config{MaxAge: a.cfg.Outbox.MaxAge}, outbox.Deps{
		Store: a.st, Adapters: adapters, OnLogged: a.grew, Log: a.log, Registerer: reg, Standby: a.st.Owner() != "",
		OnFailed:   a.unasked,
		OnQuestion: func(t time.Time) { a.dispatcher.Deadline(t) },
		OnTried:    a.health.sent,
	})
	a.engine, err = turn.New(a.setup(), turn.Deps{
		Store:   a.st,
		Adapter: func(name string) (channels.Adapter, bool) { ad, ok := adapters[name]; return ad, ok },
		Own:     a.outbox.Sends,
		Spoke:   a.spoke, Typing: a.outbox.Typing, Draft: a.draft, Asked: a.asked, Now: a.st.Now, Log: a.log,
		Unavailable: func(err error) bool { return errors.Is(err, inbox.ErrUnavailable) },
		Registerer:  reg, Channels: names,
	})
	if err != nil {
		return err
	}
	a.dispatcher = dispatch.New(dispatch.Config{Workers: a.cfg.Limits.Workers}, dispatch.Deps{
		Store: a.st, Work: a.work, OnEnded: a.ended, Log: a.log, Registerer: reg,
	})
	if err := a.makeInbox(reg); err != nil {
		return err
	}
	if err := a.makeAudit(reg); err != nil {
		return err
	}
	if !serve {
		return nil
	}
	return a.makeServer(reg)
}

// work does one lane's turn and gives the lane back, whatever came of it.
func (a *App) work(ctx context.Context, l lease.Lane) (bool, error) {
	more, err := a.attempt(ctx, l)
	a.worked.Add(1)
	a.wakeAudit()
	return more, errors.Join(err, a.st.Release(context.WithoutCancel(ctx), l))
}

// attempt is the work. A lane that may have crashed the process is worked on
// while no other is (dispatch sees to it); saved beforehand, a further crash is
// counted against it alone.
func (a *App) attempt(ctx context.Context, l lease.Lane) (bool, error) {
	done := a.shifts.begin()
	defer func() { a.retire(done()) }()
	if l.Attempt <= 1 {
		return a.engine.Work(ctx, l)
	}
	if err := a.st.Alone(ctx, l.Key); err != nil {
		return false, err
	}
	more, err := a.engine.Work(ctx, l)
	return more, errors.Join(err, a.st.Alone(context.WithoutCancel(ctx), ""))
}

// spoke hands what a commit said to the sender: the entry itself where it was
// born sending, else a hint.
func (a *App) spoke(channel, chatKey string, s turn.Spoke, parts []channels.Part) {
	switch {
	case s.Seq == 0:
	case s.Born:
		a.outbox.Take(outbox.Entry{
			ChatKey: chatKey, Channel: channel, Seq: s.Seq, Kind: outbox.Send, Part: parts[0], Attempts: 1,
			Created: a.st.Now(), Asks: s.Asks,
		})
	default:
		a.speak(channel, chatKey)
	}
}

// draft opens the draft that an entry is.
func (a *App) draft(channel, chatKey string, d turn.Drafted, first channels.Part, render func(string) (channels.Part, bool)) turn.Drafting {
	return a.outbox.Draft(channel, chatKey, d.Seq, d.Sent, first, render)
}

// ended is told of questions that expired.
func (a *App) ended(e dispatch.Ended) {
	a.inbox.Ended(e.Tool, "expired", e.Waited)
	if e.Speak {
		a.speak(e.Channel, e.ChatKey)
	}
	if e.More {
		a.dispatcher.Wake(e.Lane)
	}
	a.wakeAudit()
}

// unasked is told of questions that can't be shown.
func (a *App) unasked(f outbox.Failure) {
	a.inbox.Ended(f.Tool, "cancelled", 0)
	a.dispatcher.Wake(f.Lane)
	a.wakeAudit()
}

func (a *App) asked(tool string) { a.inbox.Asked(tool) }

// Start begins to work: sending first, then turns, then channels, so that
// nothing comes in before it can be answered.
func (a *App) Start(ctx context.Context) error {
	if a.server != nil {
		if err := a.server.Listen(ctx); err != nil {
			return err
		}
	}
	if a.db.Unclean() {
		if err := a.st.CountCrash(ctx); err != nil {
			return fmt.Errorf("after an unclean stop: %w", err)
		}
	}
	if n, err := a.st.Receipts(ctx); err != nil {
		return fmt.Errorf("after an unclean stop: %w", err)
	} else if n > 0 {
		a.log.Info("replies that had been sent before the stop were marked so", "count", n)
	}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a.cancel = cancel
	a.outbox.Start(work)
	a.dispatcher.Start(work)
	a.replicate(work)
	a.running.Go(func() { a.retention(work) })
	a.running.Go(func() { a.alert(work) })
	if a.opts.Watch && a.opts.Load != nil {
		a.watchFiles(work)
	}
	a.listen(work)
	if a.opts.GiveBack {
		a.running.Go(func() { a.rest(work) })
	}
	a.running.Go(func() { a.fleet.Run(work, a.remoteChanged) })
	for _, in := range a.adapters {
		a.running.Go(func() { a.runChannel(work, in) })
	}
	if a.server != nil {
		a.running.Go(func() { a.served <- a.server.Serve() })
	}
	return nil
}

func (a *App) report(part string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		a.log.Error("part of the daemon has ended", "component", part, "err", err)
	}
}

// Served receives why the HTTP server ended by itself.
func (a *App) Served() <-chan error { return a.served }

// Stop ends everything within ctx: intake, then turns, then sends, then the
// store. It may be called twice.
func (a *App) Stop(ctx context.Context) error {
	a.stop.Do(func() { a.stopped = a.shutdown(ctx) })
	return a.stopped
}

// stragglers is what parts get to end once the time of a stop is over.
const stragglers = time.Second

// wait waits for what runs. A channel that doesn't heed its end must not keep
// the process.
func (a *App) wait(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		a.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	timer := time.NewTimer(stragglers)
	defer timer.Stop()
	select {
	case <-ended:
		return nil
	case <-timer.C:
		return errors.New("a part of the daemon hasn't ended in time: the process ends without it")
	}
}

func (a *App) shutdown(ctx context.Context) error {
	var errs []error
	if a.server != nil {
		a.server.Drain()
	}
	errs = append(errs, a.dispatcher.Stop(ctx), a.outbox.Stop(ctx))
	if a.server != nil {
		errs = append(errs, a.server.Stop(ctx))
	}
	if a.control != nil {
		errs = append(errs, a.control.Stop(ctx))
	}
	if a.cancel != nil {
		a.cancel()
	}
	errs = append(errs, a.wait(ctx))
	for _, s := range a.sinks {
		errs = append(errs, s.Close())
	}
	for _, b := range a.shifts.rest() {
		errs = append(errs, b.close(ctx))
	}
	errs = append(errs, a.st.Close())
	return errors.Join(errs...)
}
