package sqltool

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
)

// SQLite's numbers (sqlite3.h).
const (
	sqliteBusy       = 5
	sqliteLocked     = 6
	sqliteReadOnly   = 8
	sqliteInterrupt  = 9
	sqliteCantOpen   = 14
	sqliteTooBig     = 18
	sqliteConstraint = 19
	sqliteNotADB     = 26
	sqliteTrigger    = sqliteConstraint | 7<<8 // RAISE of a trigger

	sqliteLimitLength = 0
)

// maxValue bounds one value, in bytes: beyond it the database says no instead
// of this process running out of memory.
const maxValue = 8 << 20

// liteDriver keeps a pool for reading, whose connections can't write, and one
// for writing.
type liteDriver struct {
	path    string
	opts    Options
	mu      sync.Mutex
	pools   map[bool]*sql.DB // by write
	stopped bool
}

func newSQLite(path string, o Options) (*liteDriver, error) {
	if path == "" {
		return nil, errors.New("url names no file; write sqlite://shop.db")
	}
	return &liteDriver{path: filepath.FromSlash(path), opts: o, pools: map[bool]*sql.DB{}}, nil
}

func (d *liteDriver) dialect() Dialect { return SQLite }

func (d *liteDriver) pool(write bool) (*sql.DB, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return nil, &Error{Kind: Unavailable, Err: errors.New("the data source is closed")}
	}
	if p := d.pools[write]; p != nil {
		return p, nil
	}
	q := url.Values{"mode": {"ro"}}
	q.Add("_pragma", "busy_timeout(1000)")
	if write {
		q.Set("mode", "rw") // never makes a file: a wrong path is to be told
		q.Set("_txlock", "immediate")
		q.Add("_pragma", "foreign_keys(1)")
	} else {
		q.Add("_pragma", "query_only(1)")
	}
	dsn := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: d.path}).EscapedPath(), RawQuery: q.Encode()}).String()
	p, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, &Error{Kind: Unavailable, Err: err}
	}
	p.SetMaxOpenConns(d.opts.MaxConns)
	if write {
		p.SetMaxOpenConns(1) // SQLite has one writer anyway
	}
	p.SetConnMaxIdleTime(time.Minute)
	d.pools[write] = p
	return p, nil
}

func (d *liteDriver) run(ctx context.Context, j job) error {
	args := make([]any, len(j.args))
	for i, raw := range j.args {
		args[i] = liteValue(raw)
	}
	p, err := d.pool(j.write)
	if err != nil {
		return err
	}
	conn, err := p.Conn(ctx)
	if err != nil {
		return asError(ctx, err, liteError)
	}
	defer conn.Close()
	if _, err := sqlite.Limit(conn, sqliteLimitLength, maxValue); err != nil {
		return asError(ctx, err, liteError)
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return asError(ctx, err, liteError)
	}
	defer tx.Rollback()
	if err := liteRows(ctx, tx, j, args); err != nil {
		return asError(ctx, err, liteError)
	}
	if !j.write {
		return nil // nothing to commit
	}
	if err := tx.Commit(); err != nil {
		return commitError(err)
	}
	return nil
}

// commitError tells a commit that another connection held up, which may be
// tried again and is rolled back, from one that nobody knows of.
func commitError(err error) error {
	e := liteError(err)
	if e.Kind == Busy || e.Kind == Constraint || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sql.ErrTxDone) {
		return e
	}
	return &Error{Kind: Unknown, Code: e.Code, Err: e.Err}
}

func liteRows(ctx context.Context, tx *sql.Tx, j job, args []any) (err error) {
	rows, err := tx.QueryContext(ctx, j.query.Text, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	if len(types) == 0 {
		for rows.Next() { // there are none: this runs the statement to its end
		}
		if err := rows.Err(); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, "select changes()").Scan(&j.rows.answer.Affected)
	}
	names := make([]string, len(types))
	cells := make([]any, len(types))
	into := make([]any, len(types))
	for i, t := range types {
		names[i], into[i] = t.Name(), &cells[i]
	}
	j.rows.columns(names)
	more := true
	for more && rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		row := make([]json.RawMessage, len(cells))
		for i, c := range cells {
			row[i] = liteJSON(c, types[i].DatabaseTypeName())
		}
		more = j.rows.add(row)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || !j.write {
		return err
	}
	// SQLite has changed all rows before it gives the first one back.
	return tx.QueryRowContext(ctx, "select changes()").Scan(&j.rows.answer.Affected)
}

// liteValue is what a JSON value is bound as: exact, or as the text it was.
func liteValue(raw json.RawMessage) any {
	switch {
	case raw == nil:
		return nil
	case raw[0] == '"':
		var s string
		_ = json.Unmarshal(raw, &s) // it is valid JSON
		return s
	case string(raw) == "true":
		return int64(1)
	case string(raw) == "false":
		return int64(0)
	case raw[0] == '{' || raw[0] == '[':
		return compact(raw) // for SQLite's functions of JSON
	}
	text := exact(raw)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && sameNumber(text, f) {
		return f
	}
	return text
}

// liteJSON is a value of SQLite as JSON.
func liteJSON(v any, declared string) json.RawMessage {
	switch v := v.(type) {
	case nil:
		return json.RawMessage("null")
	case int64:
		if strings.EqualFold(declared, "BOOLEAN") && v>>1 == 0 {
			return json.RawMessage(strconv.FormatBool(v == 1))
		}
		return json.RawMessage(strconv.FormatInt(v, 10))
	case bool:
		return json.RawMessage(strconv.FormatBool(v))
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return quote(strconv.FormatFloat(v, 'g', -1, 64))
		}
		b, _ := json.Marshal(v) // it is finite
		return b
	case []byte:
		return quote(base64.StdEncoding.EncodeToString(v))
	case time.Time:
		if h, m, s := v.Clock(); strings.EqualFold(declared, "DATE") && h+m+s+v.Nanosecond() == 0 {
			return quote(v.Format(time.DateOnly))
		}
		return quote(v.Format(time.RFC3339Nano))
	case string:
		return quote(strings.ToValidUTF8(v, "\ufffd"))
	default:
		return quote(fmt.Sprint(v))
	}
}

func liteError(err error) *Error {
	se, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return &Error{Kind: Unavailable, Err: err}
	}
	e := &Error{Kind: Refused, Code: strconv.Itoa(se.Code()), Err: err}
	switch se.Code() & 0xff {
	case sqliteBusy, sqliteLocked:
		e.Kind = Busy
	case sqliteReadOnly:
		e.Kind = ReadOnly
	case sqliteInterrupt:
		e.Kind = Stopped
	case sqliteCantOpen, sqliteNotADB:
		e.Kind = Unavailable
	case sqliteTooBig:
		e.Kind = TooLarge
	case sqliteConstraint:
		e.Kind = Constraint
		if se.Code() == sqliteTrigger {
			// What the trigger says is meant for whoever asked, and may
			// quote what they gave.
			e.Kind, e.Err = Raised, nil
			e.Message = raisedText(se.Error())
		}
	}
	return e
}

// raisedText takes SQLite's own words around the text of a RAISE away.
func raisedText(s string) string {
	s = strings.TrimPrefix(s, "constraint failed: ")
	if i := strings.LastIndex(s, " ("); i > 0 && strings.HasSuffix(s, ")") {
		s = s[:i]
	}
	return s
}

func (d *liteDriver) ping(ctx context.Context) error {
	p, err := d.pool(false)
	if err != nil {
		return err
	}
	var n int
	return asError(ctx, p.QueryRowContext(ctx, "select count(*) from sqlite_schema").Scan(&n), liteError)
}

func (d *liteDriver) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	var errs []error
	for _, p := range d.pools {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}
