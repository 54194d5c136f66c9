package postgres

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-bot/parley/internal/inbox"
)

var (
	_ sqldriver.Connector       = (*pool)(nil)
	_ sqldriver.SessionResetter = (*conn)(nil)
	_ sqldriver.Validator       = (*conn)(nil)
)

const (
	// connLifetime ends a connection, so that a server that came back or moved
	// is used again by all.
	connLifetime = time.Hour
	// fresh is how long a connection is trusted after its use; then it is
	// asked first. Firewalls drop idle ones.
	connFresh = time.Second
)

// pool keeps connections in the pool of database/sql, whose statements aren't
// used: it hands the connections themselves out. So of pgx only the layer that
// speaks the protocol is needed; what converts Go's types would be 3 MB.
type pool struct {
	cfg   *pgconn.Config
	conns int
	db    *sql.DB
	made  atomic.Int64 // generation of connections that are good
	mu    sync.RWMutex // held for reading by who has a connection
	off   atomic.Bool
}

func newPool(cfg *pgconn.Config, conns int) *pool {
	p := &pool{cfg: cfg, conns: conns}
	p.db = sql.OpenDB(p)
	p.db.SetMaxOpenConns(conns)
	p.db.SetMaxIdleConns(conns)
	p.db.SetConnMaxLifetime(connLifetime)
	p.db.SetConnMaxIdleTime(10 * time.Minute)
	return p
}

// with lends a connection to fn, whose error it gives. ctx bounds the wait for
// it; fn's context doesn't end with the caller's, which would take the
// connection along.
func (p *pool) with(ctx context.Context, fn func(context.Context, *conn) error) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.off.Load() {
		return errClosed
	}
	got, err := p.db.Conn(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return fmt.Errorf("%w: waiting for a connection: %w", inbox.ErrUnavailable, context.Cause(ctx))
	default:
		return fmt.Errorf("%w: %w", inbox.ErrUnavailable, err) // it names host, user and database, never the password
	}
	defer got.Close() // gives it back, or up where it isn't valid
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	var failed error
	err = got.Raw(func(c any) error {
		own, ok := c.(*conn)
		if !ok {
			return errors.New("the connection isn't the driver's own")
		}
		failed = fn(ctx, own)
		return nil
	})
	if err != nil {
		return err
	}
	return failed
}

// reset gives up the connections that are there now.
func (p *pool) reset() { p.made.Add(1) }

// shrink closes idle connections but one.
func (p *pool) shrink() {
	p.db.SetMaxIdleConns(1)
	p.db.SetMaxIdleConns(p.conns)
}

// close waits for those that are lent.
func (p *pool) close() error {
	p.off.Store(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.db.Close()
}

// Connect implements [sqldriver.Connector].
func (p *pool) Connect(ctx context.Context) (sqldriver.Conn, error) {
	made := p.made.Load()
	ctx, cancel := context.WithTimeout(ctx, 2*p.cfg.ConnectTimeout)
	defer cancel()
	pc, err := pgconn.ConnectConfig(ctx, p.cfg.Copy())
	if err != nil {
		return nil, err
	}
	// Not as parameters of the connection, which poolers refuse.
	_, err = pc.Exec(ctx, fmt.Sprintf(`set lock_timeout=%d; set idle_in_transaction_session_timeout=%d`,
		lockTime.Milliseconds(), idleTime.Milliseconds())).ReadAll()
	c := &conn{pc: pc, pool: p, made: made, reads: map[string]*statement{}, writes: map[string]*statement{}}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Driver implements [sqldriver.Connector].
func (p *pool) Driver() sqldriver.Driver { return noDriver{} }

// errNoStatements says that only connections are had from the pool.
var errNoStatements = errors.New("this pool makes no statements")

type noDriver struct{}

func (noDriver) Open(string) (sqldriver.Conn, error) { return nil, errNoStatements }

// conn is a connection in the pool with its prepared statements.
type conn struct {
	pc   *pgconn.PgConn
	pool *pool
	made int64
	used time.Time
	// Statements, by the store's query.
	reads, writes map[string]*statement
}

// IsValid implements [sqldriver.Validator]: whether the next one may have it.
func (c *conn) IsValid() bool {
	c.used = time.Now()
	return c.made == c.pool.made.Load() && !c.pc.IsClosed() && !c.pc.IsBusy() && c.pc.TxStatus() == 'I'
}

// ResetSession implements [sqldriver.SessionResetter].
func (c *conn) ResetSession(ctx context.Context) error {
	if c.made != c.pool.made.Load() || time.Since(c.used) >= connFresh && c.pc.Ping(ctx) != nil {
		return sqldriver.ErrBadConn // the pool takes another one
	}
	return nil
}

// Close implements [sqldriver.Conn].
func (c *conn) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), connectTime)
	defer cancel()
	_ = c.pc.Close(ctx) // it is of no use any more
	select {
	case <-c.pc.CleanupDone(): // it may have been given up before
	case <-ctx.Done():
	}
	return nil
}

// Prepare implements [sqldriver.Conn].
func (c *conn) Prepare(string) (sqldriver.Stmt, error) { return nil, errNoStatements }

// Begin implements [sqldriver.Conn].
func (c *conn) Begin() (sqldriver.Tx, error) { return nil, errNoStatements }

// ask runs queries that are written together and takes the first row of the
// last that has one, as texts.
func (c *conn) ask(ctx context.Context, queries string) (row []string, err error) {
	res, err := c.pc.Exec(ctx, queries).ReadAll()
	if err != nil {
		return nil, err
	}
	for _, r := range res {
		if len(r.Rows) == 0 {
			continue
		}
		row = row[:0]
		for _, v := range r.Rows[0] {
			row = append(row, string(v))
		}
	}
	return row, nil
}
