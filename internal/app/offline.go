package app

import (
	"context"
	"fmt"

	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/store/postgres"
	"github.com/parley-bot/parley/internal/store/sqlite"
)

// Migrate creates the database or brings its schema up to date.
func Migrate(ctx context.Context, cfg *config.Config) error {
	if url, ok := postgresURL(cfg); ok {
		db, err := postgres.Open(ctx, url, postgres.Options{})
		if err != nil {
			return err
		}
		return db.Close()
	}
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
	if url, ok := postgresURL(cfg); ok {
		db, err := postgres.Open(ctx, url, postgres.Options{Reader: true})
		if err != nil {
			return nil, fmt.Errorf("reading the store: %w", err)
		}
		return store.New(db), nil
	}
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
