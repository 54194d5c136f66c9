package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3/database"

	"github.com/parley-bot/parley/internal/problem"
)

// migrations are written for goose: its marks, its table of versions.
//
//go:embed migrations/*.sql
var migrations embed.FS

// versions is goose's table. Its runner isn't used, for it brings
// text/template and through it 400 kB that nothing else needs.
const versions = "goose_db_version"

// migrate applies the files that the database doesn't have yet, each in a
// transaction of its own with its number. Errors say what can be done.
func migrate(ctx context.Context, db *sql.DB, files fs.FS) error {
	known, err := fs.Glob(files, "migrations/*.sql") // sorted
	if err != nil {
		return fmt.Errorf("reading migrations: %w", err)
	}
	table, err := database.NewStore(database.DialectSQLite3, versions)
	if err != nil {
		return fmt.Errorf("reading migrations: %w", err)
	}
	have, err := schemaVersion(ctx, db, table)
	if err != nil {
		return fmt.Errorf("reading schema version: %w", err)
	}
	var want int64
	for _, name := range known {
		number, _, _ := strings.Cut(path.Base(name), "_")
		if want, err = strconv.ParseInt(number, 10, 64); err != nil {
			return fmt.Errorf("reading migrations: %w", err)
		}
		if want <= have {
			continue
		}
		if err := apply(ctx, db, table, files, name, want); err != nil {
			return problem.StoreSchema.Errorf("bringing schema up to date: %s: %w", path.Base(name), err)
		}
	}
	if have > want {
		return problem.StoreNewer.Errorf("its schema is version %d, this parley knows %d: it was written by a newer parley", have, want)
	}
	return nil
}

// schemaVersion is the highest number applied. A database without goose's
// table gets it, with the row for no version that goose begins it with.
func schemaVersion(ctx context.Context, db *sql.DB, table database.Store) (int64, error) {
	var there bool
	err := db.QueryRowContext(ctx, `SELECT count(*) > 0 FROM sqlite_master WHERE type='table' AND name=?`, versions).Scan(&there)
	if err != nil {
		return 0, err
	}
	if there {
		return table.GetLatestVersion(ctx, db)
	}
	return 0, inTx(ctx, db, func(tx *sql.Tx) error {
		if err := table.CreateVersionTable(ctx, tx); err != nil {
			return err
		}
		return table.Insert(ctx, tx, database.InsertRequest{Version: 0})
	})
}

func apply(ctx context.Context, db *sql.DB, table database.Store, files fs.FS, name string, version int64) error {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	up, _, _ := strings.Cut(string(text), "-- +goose Down")
	return inTx(ctx, db, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, up); err != nil {
			return err
		}
		return table.Insert(ctx, tx, database.InsertRequest{Version: version})
	})
}

func inTx(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
