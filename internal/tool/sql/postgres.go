package sqltool

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// Bounds of one connection.
const (
	connectTimeout = 10 * time.Second
	// cancelled is how long a statement whose time is over may take to end
	// before its connection is given up.
	cancelled = 400 * time.Millisecond
)

// pgDriver speaks PostgreSQL's protocol with values as text: that is exact
// whatever the type, and the server converts. Of pgx it takes the layer that
// does so; what converts Go's types isn't needed and would be 2 MB.
type pgDriver struct {
	pool *pgPool
}

func newPostgres(url string, o Options) (*pgDriver, error) {
	c, err := pgconn.ParseConfig(url)
	if err != nil {
		return nil, errors.New("url is not valid: write postgres://user:password@host/database") // err may quote it
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	// Parameters of pgx's other layers, common in such URLs. The server would
	// refuse them.
	maps.DeleteFunc(c.RuntimeParams, func(name, _ string) bool {
		return strings.HasPrefix(name, "pool_") || name == "default_query_exec_mode" ||
			name == "statement_cache_capacity" || name == "description_cache_capacity"
	})
	c.RuntimeParams["datestyle"] = "ISO"
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "parley"
	}
	c.MaxProtocolMessageBodyLen = maxValue
	// The end of a context cancels the statement in the server too.
	c.BuildContextWatcherHandler = func(pc *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: pc, DeadlineDelay: cancelled}
	}
	return &pgDriver{pool: newPool(c, o.MaxConns)}, nil
}

func (d *pgDriver) dialect() Dialect { return Postgres }

func (d *pgDriver) run(ctx context.Context, j job) error {
	return d.pool.with(ctx, func(pc *pgconn.PgConn) error { return d.transaction(ctx, pc, j) })
}

func (d *pgDriver) transaction(ctx context.Context, pc *pgconn.PgConn, j job) error {
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
		args[i] = pgParam(raw, desc.ParamOIDs[i])
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
		row[i] = pgJSON(v, fields[i].DataTypeOID)
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
	return d.pool.with(ctx, func(pc *pgconn.PgConn) error {
		_, err := pc.Exec(ctx, "select 1").ReadAll()
		return asError(ctx, err, pgError)
	})
}

func (d *pgDriver) close() error { return d.pool.close() }

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
