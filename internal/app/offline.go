package app

import (
	"context"
	"fmt"

	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/store/sqlite"
)

// Migrate creates the database or brings its schema up to date.
func Migrate(ctx context.Context, cfg *config.Config) error {
	path, err := sqlitePath(cfg)
	if err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, path, sqlite.Options{UnsafeFS: cfg.Store.UnsafeFS})
	if err != nil {
		return err
	}
	return db.Close()
}

// Reader opens the store for reading only, also beside the daemon.
func Reader(ctx context.Context, cfg *config.Config) (*store.Store, error) {
	path, err := sqlitePath(cfg)
	if err != nil {
		return nil, err
	}
	db, err := sqlite.OpenReader(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("reading the store: %w", err)
	}
	return store.New(db), nil
}
