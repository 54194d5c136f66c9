package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

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
	// Reader leaves the schema as it is: it must be up to date.
	Reader bool
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
	pool  *pool
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
	cfg, conns, err := config(url)
	if err != nil {
		return nil, err
	}
	db.pool = newPool(cfg, max(leastConns, cmp.Or(opts.MaxConns, conns)))
	if err := db.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening database %s: %w", place(cfg), err), db.pool.close())
	}
	db.hints = newHints(db)
	return db, nil
}

// defaultConns is how many connections are kept where the URL doesn't say.
const defaultConns = 16

func config(url string) (cfg *pgconn.Config, conns int, err error) {
	cfg, err = pgconn.ParseConfig(url)
	if err != nil {
		// Not err: it may quote the URL.
		return nil, 0, problem.StoreURL.Errorf("store.url is not valid: write postgres://user:password@host/database")
	}
	set := cfg.RuntimeParams
	conns = defaultConns
	if text, ok := set["pool_max_conns"]; ok {
		if conns, err = strconv.Atoi(text); err != nil || conns < leastConns || conns > 1000 {
			return nil, 0, problem.StoreURL.Errorf("pool_max_conns in store.url must be a number from %d to 1000", leastConns)
		}
	}
	// Parameters of pgx's other layers, common in such URLs. The server would
	// refuse them.
	maps.DeleteFunc(set, func(name, _ string) bool {
		return strings.HasPrefix(name, "pool_") || name == "default_query_exec_mode" ||
			name == "statement_cache_capacity" || name == "description_cache_capacity"
	})
	set["application_name"] = cmp.Or(set["application_name"], "parley")
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, connectTime)
	return cfg, conns, nil
}

// place names the database without a secret.
func place(c *pgconn.Config) string {
	return strconv.Quote(c.Database) + " at " + c.Host
}

// prepare makes sure that the server can be used.
func (db *DB) prepare(ctx context.Context) error {
	err := db.pool.with(ctx, func(ctx context.Context, c *conn) error {
		asked := time.Now()
		row, err := c.ask(ctx, `select current_setting('server_version_num')::int/10000, `+serverTime)
		if err != nil {
			return err
		}
		server, err := micros(row, 1)
		if err != nil {
			return err
		}
		db.clock.set(asked, server)
		if version, err := strconv.Atoi(row[0]); err != nil || version < oldest {
			return fmt.Errorf("the server is PostgreSQL %s, parley needs %d or later", row[0], oldest)
		}
		return nil
	})
	if err != nil {
		return problem.StoreUnavailable.Wrap(explain(err))
	}
	return db.migrate(ctx, migrations, db.opts.Reader)
}

// Now is the database's clock.
func (db *DB) Now() time.Time {
	if db.opts.Clock != nil {
		return db.opts.Clock()
	}
	return db.clock.now()
}

// Unclean is false: leases tell what was cut short.
func (db *DB) Unclean() bool { return false }

// Shrink gives back connections that nobody uses now.
func (db *DB) Shrink() { db.pool.shrink() }

// Owner implements store.DB.
func (db *DB) Owner() string { return db.owner }

// Close waits for the calls under way and ends the connections. It may be
// called twice.
func (db *DB) Close() error {
	db.hints.close()
	return db.pool.close()
}

var errClosed = errors.New("the database is closed")
