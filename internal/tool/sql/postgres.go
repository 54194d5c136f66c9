package sqltool

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Bounds of one connection.
const (
	connectTimeout = 10 * time.Second
	// cancelled is how long a statement whose time is over may take to end
	// before its connection is given up.
	cancelled = 400 * time.Millisecond
)

// pgDriver speaks PostgreSQL's protocol with values as text: that is exact
// whatever the type, and the server converts.
type pgDriver struct {
	cfg     *pgxpool.Config
	types   *pgtype.Map
	mu      sync.Mutex
	pool    *pgxpool.Pool
	stopped bool
}

func newPostgres(url string, o Options) (*pgDriver, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("url is not valid: write postgres://user:password@host/database") // err may quote it
	}
	cfg.MaxConns, cfg.MinConns = int32(o.MaxConns), 0
	cfg.MaxConnIdleTime = time.Minute
	c := cfg.ConnConfig
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	c.RuntimeParams["datestyle"] = "ISO"
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "parley"
	}
	c.MaxProtocolMessageBodyLen = maxValue
	// The end of a context cancels the statement in the server too.
	c.BuildContextWatcherHandler = func(pc *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: pc, DeadlineDelay: cancelled}
	}
	return &pgDriver{cfg: cfg, types: pgtype.NewMap()}, nil
}

func (d *pgDriver) dialect() Dialect { return Postgres }

// open makes the pool at the first use: it has a goroutine.
func (d *pgDriver) open(ctx context.Context) (*pgxpool.Pool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return nil, &Error{Kind: Unavailable, Err: errors.New("the data source is closed")}
	}
	if d.pool == nil {
		p, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), d.cfg)
		if err != nil {
			return nil, &Error{Kind: Unavailable, Err: err}
		}
		d.pool = p
	}
	return d.pool, nil
}

func (d *pgDriver) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	pool, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := pool.Acquire(ctx)
	if err != nil {
		// It names host, user and database, never the password.
		return nil, stopped(ctx, &Error{Kind: Unavailable, Err: err})
	}
	return conn, nil
}

func (d *pgDriver) run(ctx context.Context, j job) error {
	conn, err := d.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	pc := conn.Conn().PgConn()
	if err := d.statement(ctx, pc, j); err != nil {
		d.leave(ctx, pc)
		return asError(ctx, err, pgError)
	}
	if !j.write {
		d.leave(ctx, pc)
		return nil
	}
	res, err := pc.Exec(ctx, "commit").ReadAll()
	switch pe, ok := errors.AsType[*pgconn.PgError](err); {
	case ok && pe != nil:
		return asError(ctx, err, pgError) // a constraint checked at last: rolled back
	case err != nil && pgconn.SafeToRetry(err):
		return asError(ctx, err, pgError)
	case err != nil:
		return &Error{Kind: Unknown, Err: err}
	case len(res) == 0 || res[0].CommandTag.String() != "COMMIT":
		return &Error{Kind: Refused, Err: errors.New("the transaction was rolled back")}
	}
	return nil
}

// leave ends a transaction of which nothing is to stay. A connection that
// can't is closed, and the pool drops it.
func (d *pgDriver) leave(ctx context.Context, pc *pgconn.PgConn) {
	if pc.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelled)
	defer cancel()
	if _, err := pc.Exec(ctx, "rollback").ReadAll(); err != nil {
		_ = pc.Close(ctx) // it is lost anyway
	}
}

func (d *pgDriver) statement(ctx context.Context, pc *pgconn.PgConn, j job) error {
	begin := "begin read only"
	if j.write {
		begin = "begin read write"
	}
	if at, ok := ctx.Deadline(); ok {
		// Should the cancel request get lost, the server ends it by itself.
		left := max(time.Until(at).Milliseconds(), 1)
		begin += "; set local statement_timeout = " + strconv.FormatInt(left+cancelled.Milliseconds(), 10)
	}
	if _, err := pc.Exec(ctx, begin).ReadAll(); err != nil {
		return err
	}
	desc, err := pc.Prepare(ctx, "", j.query.Text, nil)
	if err != nil {
		return err
	}
	args := make([][]byte, len(j.args))
	for i, raw := range j.args {
		args[i] = d.param(raw, desc.ParamOIDs[i])
	}
	if len(desc.Fields) > 0 {
		names := make([]string, len(desc.Fields))
		for i, f := range desc.Fields {
			names[i] = f.Name
		}
		j.rows.columns(names)
	}
	res := pc.ExecPrepared(ctx, "", args, nil, nil)
	for res.NextRow() {
		if err := d.row(res, desc.Fields, j.rows); err != nil {
			return d.cut(ctx, pc, res, j, err)
		}
	}
	tag, err := res.Close()
	if err != nil {
		return err
	}
	j.rows.answer.Affected = tag.RowsAffected()
	return nil
}

var errEnough = errors.New("there are more rows than are read")

func (d *pgDriver) row(res *pgconn.ResultReader, fields []pgconn.FieldDescription, c *collector) error {
	values := res.Values()
	row := make([]json.RawMessage, len(values))
	for i, v := range values {
		row[i] = d.json(v, fields[i].DataTypeOID)
	}
	if !c.add(row) {
		return errEnough
	}
	return nil
}

// surplus is how many rows are thrown away rather than a connection.
const surplus = 1000

// cut ends reading. A statement that writes is read to its end, for it has to
// be run. Of one that reads only a little more is: then the server is told to
// stop, and the connection with what is on its way is given up.
func (d *pgDriver) cut(ctx context.Context, pc *pgconn.PgConn, res *pgconn.ResultReader, j job, err error) error {
	if !errors.Is(err, errEnough) {
		return err
	}
	more := true
	for n := 0; more && (j.write || n < surplus); n++ {
		more = res.NextRow()
	}
	if !more {
		tag, err := res.Close()
		j.rows.answer.Affected = tag.RowsAffected()
		return err
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelled)
	defer cancel()
	_ = pc.CancelRequest(stop) // the end of the connection ends it too, only later
	_ = pc.Conn().Close()
	_, _ = res.Close()
	_ = pc.Close(stop)
	return nil
}

func (d *pgDriver) ping(ctx context.Context) error {
	conn, err := d.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	_, err = conn.Conn().PgConn().Exec(ctx, "select 1").ReadAll()
	return asError(ctx, err, pgError)
}

func (d *pgDriver) close() error {
	d.mu.Lock()
	pool := d.pool
	d.stopped, d.pool = true, nil
	d.mu.Unlock()
	if pool != nil {
		pool.Close()
	}
	return nil
}

func pgError(err error) *Error {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		if strings.Contains(err.Error(), "body length") {
			return &Error{Kind: TooLarge, Err: err}
		}
		return &Error{Kind: Unavailable, Err: err}
	}
	e := &Error{Kind: Refused, Code: pe.Code, Err: errors.New(pe.Message)}
	switch class := pe.Code[:min(2, len(pe.Code))]; {
	case pe.Code == "P0001": // RAISE: its text is meant for whoever asked
		e.Kind, e.Message, e.Err = Raised, pe.Message, nil
	case pe.Code == "25006":
		e.Kind = ReadOnly
	case pe.Code == "57014":
		e.Kind = Stopped
	case class == "40", pe.Code == "55P03":
		e.Kind = Busy
	case class == "08", class == "53", class == "57", class == "28", class == "3D":
		e.Kind = Unavailable
	case class == "54":
		e.Kind = TooLarge
	case class == "23": // its text quotes the row
		e.Kind, e.Err = Constraint, errors.New(strings.TrimSpace("constraint "+pe.ConstraintName+" of "+pe.TableName))
	case class == "22": // its text quotes the value
		e.Kind, e.Err = BadValue, nil
	}
	return e
}
