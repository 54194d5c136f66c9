package postgres

import (
	"bytes"
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-bot/parley/internal/store"
)

// tx is a transaction on a connection.
type tx struct {
	ctx   context.Context
	c     *conn
	write bool
}

// statement is a prepared statement with the formats of its columns.
type statement struct {
	*pgconn.StatementDescription
	formats []int16
}

const (
	oidBool  = 16
	oidBytea = 17
	oidInt8  = 20
	oidInt2  = 21
	oidInt4  = 23
	oidNum   = 1700
)

const (
	asText   = 0
	asBinary = 1
)

// statement gives the prepared one. They are kept for as long as the connection
// lives: the store has a bounded number of them.
func (t *tx) statement(query string) (*statement, error) {
	kept := t.c.reads
	if t.write {
		kept = t.c.writes // these have locks
	}
	if s, ok := kept[query]; ok {
		return s, nil
	}
	name := "s" + strconv.Itoa(len(t.c.reads)+len(t.c.writes))
	d, err := t.c.pc.Prepare(t.ctx, name, translate(query, t.write), nil)
	if err != nil {
		return nil, err
	}
	s := &statement{d, make([]int16, len(d.Fields))}
	for i, f := range d.Fields {
		if f.DataTypeOID == oidBytea {
			s.formats[i] = asBinary
		}
	}
	kept[query] = s
	return s, nil
}

func (t *tx) query(query string, args []any) (*pgconn.ResultReader, *statement, error) {
	s, err := t.statement(query)
	if err != nil {
		return nil, nil, err
	}
	values, formats := make([][]byte, len(args)), make([]int16, len(args))
	for i, a := range args {
		if values[i], formats[i], err = bind(a); err != nil {
			return nil, nil, fmt.Errorf("argument %d: %w", i+1, err)
		}
	}
	return t.c.pc.ExecPrepared(t.ctx, s.Name, values, formats, s.formats), s, nil
}

// Exec implements store.Tx.
func (t *tx) Exec(query string, args ...any) (int64, error) {
	rows, _, err := t.query(query, args)
	if err != nil {
		return 0, err
	}
	tag, err := rows.Close()
	return tag.RowsAffected(), err
}

// Row implements store.Tx.
func (t *tx) Row(query string, args []any, dest ...any) (ok bool, err error) {
	rows, s, err := t.query(query, args)
	if err != nil {
		return false, err
	}
	if ok = rows.NextRow(); ok {
		err = s.scan(rows.Values(), dest)
	}
	_, end := rows.Close()
	if err == nil {
		err = end
	}
	return ok && err == nil, err
}

// Rows implements store.Tx. each may make no query.
func (t *tx) Rows(query string, args []any, each func(scan func(dest ...any) error) error) error {
	rows, s, err := t.query(query, args)
	if err != nil {
		return err
	}
	for err == nil && rows.NextRow() {
		err = each(func(dest ...any) error { return s.scan(rows.Values(), dest) })
	}
	_, end := rows.Close()
	if err == nil {
		err = end
	}
	return err
}

// bind writes a value as PostgreSQL reads it.
func bind(a any) (value []byte, format int16, err error) {
	v, err := sqldriver.DefaultParameterConverter.ConvertValue(a)
	if err != nil {
		return nil, 0, err
	}
	switch v := v.(type) {
	case nil:
		return nil, asText, nil
	case []byte:
		return v, asBinary, nil
	case string:
		return []byte(toText(v)), asText, nil
	case int64:
		return strconv.AppendInt(nil, v, 10), asText, nil
	case bool:
		return strconv.AppendBool(nil, v), asText, nil
	default:
		return nil, 0, fmt.Errorf("%T is no value of the store", a)
	}
}

// scan puts a row where dest points.
func (s *statement) scan(raw [][]byte, dest []any) error {
	row := make([]sqldriver.Value, len(raw))
	for i, b := range raw {
		if b == nil {
			continue
		}
		switch s.Fields[i].DataTypeOID {
		case oidBytea:
			row[i] = bytes.Clone(b)
		case oidInt2, oidInt4, oidInt8, oidNum:
			n, err := strconv.ParseInt(string(b), 10, 64)
			if err != nil {
				return fmt.Errorf("column %d: %w", i+1, err)
			}
			row[i] = n
		case oidBool:
			row[i] = len(b) == 1 && b[0] == 't'
		default:
			row[i] = fromText(string(b))
		}
	}
	return store.ScanRow(row, dest)
}

// protect makes a panic of fn an error: the connection must be given back.
func protect(fn func(store.Tx) error, t store.Tx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic in a transaction: %v\n%s", r, debug.Stack())
		}
	}()
	return fn(t)
}

var errRolledBack = errors.New("the server rolled the transaction back")
