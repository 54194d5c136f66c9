package app

import (
	"context"
	"errors"

	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/control"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/store/sqlite"
)

// Operate runs fn with the operations of the daemon that has the database, or
// with those of the store itself where no daemon runs.
func Operate(ctx context.Context, cfg *config.Config, fn func(control.Operations) error) error {
	path, err := sqlitePath(cfg)
	if err != nil {
		return err
	}
	c, err := control.Dial(ctx, path)
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
	return errors.Join(fn(s), s.Close())
}

// listen opens the socket for commands. Without it the daemon works as well;
// commands that change something then need it stopped.
func (a *App) listen(ctx context.Context) {
	path, err := sqlitePath(a.cfg)
	if err == nil {
		a.control, err = control.Listen(ctx, path, a.st)
	}
	if err != nil {
		a.log.Warn("commands that change the store can't reach this process", "err", err)
		return
	}
	a.running.Go(func() { a.report("control", a.control.Serve()) })
}
