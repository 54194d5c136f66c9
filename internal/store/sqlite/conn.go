package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"modernc.org/sqlite"

	"github.com/parley-bot/parley/internal/store"
)

// conn is one connection with its prepared statements. It is a store.Tx while
// a transaction runs on it. Statements run to their end whatever becomes of
// the caller: an interrupted one could take its neighbours' commit with it.
//
// It speaks to the driver without database/sql between them: there is no pool
// to serve and no context to watch, and the writer's time is everybody's.
type conn struct {
	c     driver.Conn
	stmts map[string]*statement
	args  []driver.NamedValue // used again by each statement
}

// statement is a prepared statement; row takes one row of its result.
type statement struct {
	s interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}
	row []driver.Value
}

func newConn(path string, write bool) (*conn, error) {
	c, err := new(sqlite.Driver).Open(source(path, write))
	if err != nil {
		return nil, err
	}
	return &conn{c: c, stmts: map[string]*statement{}}, nil
}

func (c *conn) prepare(query string) (*statement, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	prepared, err := c.c.Prepare(query)
	if err != nil {
		return nil, fmt.Errorf("preparing statement: %w", err)
	}
	s := new(statement)
	var ok bool
	if s.s, ok = prepared.(interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}); !ok {
		return nil, errors.Join(errors.New("the driver's statements take no context"), prepared.Close())
	}
	c.stmts[query] = s
	return s, nil
}

// bind makes the driver's arguments.
func (c *conn) bind(args []any) ([]driver.NamedValue, error) {
	c.args = c.args[:0]
	for i, a := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(a)
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i+1, err)
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return c.args, nil
}

// Exec implements store.Tx.
func (c *conn) Exec(query string, args ...any) (int64, error) {
	s, err := c.prepare(query)
	if err != nil {
		return 0, err
	}
	bound, err := c.bind(args)
	if err != nil {
		return 0, err
	}
	r, err := s.s.ExecContext(context.Background(), bound)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// Row implements store.Tx.
func (c *conn) Row(query string, args []any, dest ...any) (ok bool, err error) {
	rows, s, err := c.query(query, args)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	switch err := rows.Next(s.row); {
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil:
		return false, err
	}
	if err := store.ScanRow(s.row, dest); err != nil {
		return false, err
	}
	// A statement that writes is done only when it was run to its end.
	if err := rows.Next(s.row); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return true, nil
}

// Rows implements store.Tx.
func (c *conn) Rows(query string, args []any, each func(scan func(dest ...any) error) error) (err error) {
	rows, s, err := c.query(query, args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	// Not the statement's own row: each may run the same statement.
	row := make([]driver.Value, len(s.row))
	scan := func(dest ...any) error { return store.ScanRow(row, dest) }
	for {
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := each(scan); err != nil {
			return err
		}
	}
}

func (c *conn) query(query string, args []any) (driver.Rows, *statement, error) {
	s, err := c.prepare(query)
	if err != nil {
		return nil, nil, err
	}
	bound, err := c.bind(args)
	if err != nil {
		return nil, nil, err
	}
	rows, err := s.s.QueryContext(context.Background(), bound)
	if err != nil {
		return nil, nil, err
	}
	if n := len(rows.Columns()); n != len(s.row) {
		s.row = make([]driver.Value, n)
	}
	return rows, s, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.s.Close())
	}
	return errors.Join(append(errs, c.c.Close())...)
}
