package app

import (
	"context"
	"errors"

	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/control"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/store/postgres"
	"github.com/parley-bot/parley/internal/store/sqlite"
)

// Operate runs fn with the operations of the daemon that has the database, or
// with those of the store itself where no daemon runs.
func Operate(ctx context.Context, cfg *config.Config, fn func(control.Operations) error) error {
	if url, ok := postgresURL(cfg); ok {
		return operateShared(ctx, url, fn)
	}
	path, err := sqlitePath(cfg)
	if err != nil {
		return err
	}
	c, err := control.Dial(ctx, sqlite.Resolve(path))
	if err == nil {
		return fn(c)
	}
	if !errors.Is(err, control.ErrNobody) {
		return err
	}
	db, err := sqlite.Open(ctx, path, sqlite.Options{UnsafeFS: cfg.Store.UnsafeFS})
	if err != nil {
		return err
	}
	s := store.New(db)
	return errors.Join(fn(atRest{s}), s.Close())
}

// operateShared works in the database itself, beside the daemons.
func operateShared(ctx context.Context, url string, fn func(control.Operations) error) error {
	db, err := postgres.Open(ctx, url, postgres.Options{Reader: true})
	if err != nil {
		return err
	}
	s := store.New(db)
	return errors.Join(fn(atRest{s}), s.Close())
}

// atRest are the operations on a store that no daemon has.
type atRest struct{ *store.Store }

func (s atRest) ForgetChat(ctx context.Context, chat string) (known bool, err error) {
	f, err := s.Forget(ctx, chat)
	if err != nil {
		return false, err
	}
	for _, lane := range f.Cut {
		s.Hint(store.Hint{Kind: store.HintCut, Key: lane})
	}
	if f.Speak {
		s.Hint(store.Hint{Kind: store.HintChat, Key: chat, Channel: f.Channel})
	}
	s.Hint(store.Hint{Kind: store.HintLog, Key: chat})
	return f.Channel != "", nil
}

// live are those of the running bot.
type live struct {
	*store.Store
	a *App
}

// ForgetChat ends what is under way in the chat, too.
func (l live) ForgetChat(ctx context.Context, chat string) (known bool, err error) {
	f, err := l.Forget(ctx, chat)
	if err != nil {
		return false, err
	}
	for _, lane := range f.Cut {
		l.a.cut(lane)
	}
	for _, r := range f.Resolved {
		l.a.inbox.Ended(r.Tool, r.Outcome, r.Waited)
	}
	if f.Speak {
		l.a.speak(f.Channel, chat)
	}
	l.a.grew(chat)
	l.a.wakeAudit()
	return f.Channel != "", nil
}

// listen opens the socket for commands. Without it the daemon works as well;
// commands that change something then need it stopped.
func (a *App) listen(ctx context.Context) {
	if _, ok := postgresURL(a.cfg); ok {
		return // commands work in the database
	}
	path, err := sqlitePath(a.cfg)
	if err == nil {
		a.control, err = control.Listen(ctx, sqlite.Resolve(path), live{a.st, a})
	}
	if err != nil {
		a.log.Warn("commands that change the store can't reach this process", "err", err)
		return
	}
	a.running.Go(func() { a.report("control", a.control.Serve()) })
}
