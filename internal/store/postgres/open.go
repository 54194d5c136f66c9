package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-bot/parley/internal/problem"
	"github.com/parley-bot/parley/internal/store"
)

// oldest is the first version of PostgreSQL that is supported.
const oldest = 15

// Options are what a database is opened with. The zero value works.
type Options struct {
	// Clock is used in place of the server's, by tests.
	Clock func() time.Time
	// Log is told of connections that come and go. Default: nothing.
	Log *slog.Logger
	// Observe is told of each commit: how long its transaction took.
	Observe func(took time.Duration)
	// MaxConns is how many connections are kept at the most. Default 16, or
	// pool_max_conns of the URL.
	MaxConns int
	// OnCommit, where not nil, is called before each commit with the id of the
	// server's process, so that tests can end that.
	OnCommit func(pid uint32)
}

// Bounds of waiting for the server.
const (
	connectTime = 5 * time.Second
	// lockTime is how long a transaction waits for a row: longer than a frozen
	// process may keep one (idleTime).
	lockTime = 15 * time.Second
	idleTime = 10 * time.Second
	// leastConns is what bringing the schema up to date takes at once.
	leastConns = 3
	// callTime bounds a transaction as a whole.
	callTime = 60 * time.Second
)

// DB is an open database.
type DB struct {
	pool  *pgxpool.Pool
	opts  Options
	log   *slog.Logger
	owner string
	lanes stripes
	clock clock
	hints *hints
}

var (
	_ store.DB      = (*DB)(nil)
	_ store.Settler = (*DB)(nil)
	_ store.Hinter  = (*DB)(nil)
)

// Open connects to the database and brings its schema up to date; several
// processes may do so at once. Errors say what to do about them, and never hold
// the password.
func Open(ctx context.Context, url string, opts Options) (*DB, error) {
	db := &DB{opts: opts, log: opts.Log, owner: uuid.NewString(), lanes: newStripes()}
	if db.log == nil {
		db.log = slog.New(slog.DiscardHandler)
	}
	cfg, err := db.config(url)
	if err != nil {
		return nil, err
	}
	if db.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, problem.StoreUnavailable.Errorf("opening database: %w", err)
	}
	if err := db.prepare(ctx); err != nil {
		db.pool.Close()
		return nil, fmt.Errorf("opening database %s: %w", place(cfg.ConnConfig), err)
	}
	db.hints = newHints(db)
	return db, nil
}

func (db *DB) config(url string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		// Not err: it may quote the URL.
		return nil, problem.StoreURL.Errorf("store.url is not valid: write postgres://user:password@host/database")
	}
	set := cfg.ConnConfig.RuntimeParams
	set["application_name"] = cmp.Or(set["application_name"], "parley")
	cfg.ConnConfig.ConnectTimeout = cmp.Or(cfg.ConnConfig.ConnectTimeout, connectTime)
	cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		// Not as parameters of the connection, which poolers refuse.
		_, err := c.PgConn().Exec(ctx, fmt.Sprintf(`set lock_timeout=%d; set idle_in_transaction_session_timeout=%d`,
			lockTime.Milliseconds(), idleTime.Milliseconds())).ReadAll()
		return err
	}
	switch {
	case db.opts.MaxConns > 0:
		cfg.MaxConns = int32(db.opts.MaxConns) //nolint:gosec // a handful
	case cfg.MaxConns < 16 && !hasParam(url, "pool_max_conns"):
		cfg.MaxConns = 16
	}
	cfg.MaxConns = max(cfg.MaxConns, leastConns)
	cfg.MaxConnLifetime = time.Hour
	return cfg, nil
}

// place names the database without a secret.
func place(c *pgx.ConnConfig) string {
	return strconv.Quote(c.Database) + " at " + c.Host
}

// prepare makes sure that the server can be used.
func (db *DB) prepare(ctx context.Context) error {
	var version int
	if err := db.pool.QueryRow(ctx, `select current_setting('server_version_num')::int`).Scan(&version); err != nil {
		return problem.StoreUnavailable.Wrap(explain(err))
	}
	if version/10000 < oldest {
		return problem.StoreUnavailable.Errorf("the server is PostgreSQL %d, parley needs %d or later", version/10000, oldest)
	}
	if err := db.tick(ctx); err != nil {
		return problem.StoreUnavailable.Wrap(explain(err))
	}
	return db.migrate(ctx)
}

// tick sets the clock.
func (db *DB) tick(ctx context.Context) error {
	var server int64
	before := time.Now()
	if err := db.pool.QueryRow(ctx, `select `+serverTime).Scan(&server); err != nil {
		return err
	}
	db.clock.set(before, time.UnixMicro(server))
	return nil
}

// Now is the database's clock.
func (db *DB) Now() time.Time {
	if db.opts.Clock != nil {
		return db.opts.Clock()
	}
	return db.clock.now()
}

// Owner implements store.DB.
func (db *DB) Owner() string { return db.owner }

// Close waits for the calls under way and ends the connections. It may be
// called twice.
func (db *DB) Close() error {
	db.hints.close()
	db.pool.Close()
	return nil
}

var errClosed = errors.New("the database is closed")
