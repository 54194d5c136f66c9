package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/parley-bot/parley/internal/problem"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Advisory locks of the database: the first number is "parl", the second says
// what for.
const (
	lockMigrate = `select pg_advisory_xact_lock(1885434476, 1)`
	lockAudit   = `select pg_advisory_xact_lock(1885434476, 2)` // see migrations
	lockClean   = `select pg_advisory_xact_lock(1885434476, 3)`
)

// migrate brings the schema up to date, one process at a time. The lock is a
// transaction's, for a pooler may give each transaction another session.
func (db *DB) migrate(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	lock, err := db.pool.Begin(ctx)
	if err != nil {
		return problem.StoreUnavailable.Wrap(explain(err))
	}
	defer func() { err = errors.Join(err, lock.Rollback(context.WithoutCancel(ctx))) }()
	// The others may be long at it.
	if _, err := lock.Exec(ctx, `set local lock_timeout=0; set local idle_in_transaction_session_timeout=0`); err != nil {
		return problem.StoreUnavailable.Wrap(explain(err))
	}
	if _, err := lock.Exec(ctx, lockMigrate); err != nil {
		return problem.StoreUnavailable.Wrap(explain(err))
	}
	return db.up(ctx)
}

func (db *DB) up(ctx context.Context) (err error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	pool := stdlib.OpenDBFromPool(db.pool)
	defer func() { err = errors.Join(err, pool.Close()) }()
	p, err := goose.NewProvider(goose.DialectPostgres, pool, files)
	if err != nil {
		return fmt.Errorf("reading migrations: %w", err)
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return problem.StoreSchema.Errorf("reading schema version: %w", explain(err))
	}
	if have > want {
		return problem.StoreNewer.Errorf("its schema is version %d, this parley knows %d: it was written by a newer parley", have, want)
	}
	if have == want {
		return nil
	}
	if _, err := p.Up(ctx); err != nil {
		return problem.StoreSchema.Errorf("bringing schema up to date: %w", explain(err))
	}
	return nil
}
