package sqltool

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

var (
	_ sqldriver.Connector       = (*pgPool)(nil)
	_ sqldriver.SessionResetter = (*pgSession)(nil)
	_ sqldriver.Validator       = (*pgSession)(nil)
)

const (
	// pgLifetime ends a connection, so that a server that came back or moved
	// is used again by all.
	pgLifetime = time.Hour
	// pgFresh is how long a connection is trusted after its use; then it is
	// asked first. Firewalls drop idle ones.
	pgFresh = time.Second
	// pgGoodbye is how long a connection may take to close.
	pgGoodbye = 15 * time.Second
)

// pgPool keeps connections in the pool of database/sql, whose statements
// aren't used: it hands the connections themselves out.
type pgPool struct {
	cfg     *pgconn.Config
	conns   int
	fresh   time.Duration
	mu      sync.Mutex
	pool    *sql.DB
	stopped bool
}

func newPool(cfg *pgconn.Config, conns int) *pgPool {
	return &pgPool{cfg: cfg, conns: conns, fresh: pgFresh}
}

// open makes the pool at the first use: it has a goroutine.
func (p *pgPool) open() (*sql.DB, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return nil, errors.New("the data source is closed")
	}
	if p.pool == nil {
		p.pool = sql.OpenDB(p)
		p.pool.SetMaxOpenConns(p.conns)
		p.pool.SetMaxIdleConns(p.conns)
		p.pool.SetConnMaxIdleTime(time.Minute)
		p.pool.SetConnMaxLifetime(pgLifetime)
	}
	return p.pool, nil
}

// with lends a connection to f, whose error it gives.
func (p *pgPool) with(ctx context.Context, f func(*pgconn.PgConn) error) error {
	pool, err := p.open()
	if err != nil {
		return &Error{Kind: Unavailable, Err: err}
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		// It names host, user and database, never the password.
		return stopped(ctx, &Error{Kind: Unavailable, Err: err})
	}
	defer conn.Close() // gives it back, or up where it isn't valid
	var failed error
	err = conn.Raw(func(c any) error {
		session, ok := c.(*pgSession)
		if !ok {
			return errors.New("the connection isn't the driver's own")
		}
		failed = f(session.pc)
		return nil
	})
	if err != nil {
		return stopped(ctx, &Error{Kind: Unavailable, Err: err})
	}
	return failed
}

func (p *pgPool) close() error {
	p.mu.Lock()
	pool := p.pool
	p.stopped, p.pool = true, nil
	p.mu.Unlock()
	if pool == nil {
		return nil
	}
	return pool.Close()
}

// Connect implements [sqldriver.Connector].
func (p *pgPool) Connect(ctx context.Context) (sqldriver.Conn, error) {
	pc, err := pgconn.ConnectConfig(ctx, p.cfg.Copy())
	if err != nil {
		return nil, err
	}
	return &pgSession{pc: pc, fresh: p.fresh}, nil
}

// Driver implements [sqldriver.Connector].
func (p *pgPool) Driver() sqldriver.Driver { return noDriver{} }

// errNoStatements says that only connections are had from the pool.
var errNoStatements = errors.New("this pool makes no statements")

type noDriver struct{}

func (noDriver) Open(string) (sqldriver.Conn, error) { return nil, errNoStatements }

// pgSession is a connection in the pool.
type pgSession struct {
	pc    *pgconn.PgConn
	fresh time.Duration
	used  time.Time
}

// IsValid implements [sqldriver.Validator]: whether the next one may have it.
func (s *pgSession) IsValid() bool {
	s.used = time.Now()
	return !s.pc.IsClosed() && !s.pc.IsBusy() && s.pc.TxStatus() == 'I'
}

// ResetSession implements [sqldriver.SessionResetter].
func (s *pgSession) ResetSession(ctx context.Context) error {
	if time.Since(s.used) >= s.fresh && s.pc.Ping(ctx) != nil {
		return sqldriver.ErrBadConn // the pool takes another one
	}
	return nil
}

// Close implements [sqldriver.Conn].
func (s *pgSession) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), pgGoodbye)
	defer cancel()
	err := s.pc.Close(ctx)
	select {
	case <-s.pc.CleanupDone(): // it may have been given up before
	case <-ctx.Done():
	}
	return err
}

// Prepare implements [sqldriver.Conn].
func (s *pgSession) Prepare(string) (sqldriver.Stmt, error) { return nil, errNoStatements }

// Begin implements [sqldriver.Conn].
func (s *pgSession) Begin() (sqldriver.Tx, error) { return nil, errNoStatements }
