package whatsappdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"go.mau.fi/util/dbutil"
	"go.mau.fi/whatsmeow/store/sqlstore"
	"go.mau.fi/whatsmeow/store/sqlstore/upgrades"
	waLog "go.mau.fi/whatsmeow/util/log"
)

// closeTime bounds giving the lock back.
const closeTime = 5 * time.Second

// OpenPostgres opens or creates the session of a channel in the database at
// url, in the schema whatsapp_CHANNEL. While another process has it the error is
// ErrInUse. The lock is its connection's: it needs the server itself, or a
// pooler that keeps sessions.
func OpenPostgres(ctx context.Context, url, channel string, log waLog.Logger) (*DB, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("opening session: store.url is no address of a PostgreSQL database") // err may quote it
	}
	schema := "whatsapp_" + channel
	held, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("opening session: %w", err)
	}
	unlock := func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		return held.Close(ctx)
	}
	if err := take(ctx, held, schema); err != nil {
		return nil, errors.Join(err, unlock())
	}
	own := cfg.Copy()
	own.RuntimeParams["search_path"] = pgx.Identifier{schema}.Sanitize()
	db := stdlib.OpenDB(*own)
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(2)
	container, err := tables(ctx, db, schema, log)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("preparing session: %w", err), db.Close(), unlock())
	}
	return &DB{container, unlock}, nil
}

// tables brings the SDK's tables up to date. It looks for the one of its version
// in all schemas of the database, so that each channel's has a name of its own.
func tables(ctx context.Context, db *sql.DB, schema string, log waLog.Logger) (*sqlstore.Container, error) {
	wrapped, err := dbutil.NewWithDB(db, "postgres")
	if err != nil {
		return nil, err
	}
	// The name is one that needs no quotes, whatever the channel's is.
	wrapped.UpgradeTable, wrapped.VersionTable = upgrades.Table, fmt.Sprintf("whatsapp_version_%08x", crc32.ChecksumIEEE([]byte(schema)))
	container := sqlstore.NewWithWrappedDB(wrapped, log)
	return container, container.Upgrade(ctx)
}

// take locks the session and makes its schema.
func take(ctx context.Context, c *pgx.Conn, schema string) error {
	var ok bool
	err := c.QueryRow(ctx, `select pg_try_advisory_lock(hashtextextended(current_database() || '/' || $1, 0))`, "parley/"+schema).Scan(&ok)
	if err != nil {
		return fmt.Errorf("locking session: %w", err)
	}
	if !ok {
		return fmt.Errorf("schema %s: %w", schema, ErrInUse)
	}
	if _, err := c.Exec(ctx, `create schema if not exists `+pgx.Identifier{schema}.Sanitize()); err != nil {
		return fmt.Errorf("making schema %s of the session: %w", schema, err)
	}
	return nil
}
