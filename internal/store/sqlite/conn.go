package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// conn is one connection with its prepared statements. It is a store.Tx while
// a transaction runs on it. Statements run to their end whatever becomes of
// the caller: an interrupted one could take its neighbours' commit with it.
type conn struct {
	c     *sql.Conn
	stmts map[string]*sql.Stmt
}

func newConn(ctx context.Context, db *sql.DB) (*conn, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{c: c, stmts: map[string]*sql.Stmt{}}, nil
}

func (c *conn) prepare(query string) (*sql.Stmt, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	s, err := c.c.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, fmt.Errorf("preparing statement: %w", err)
	}
	c.stmts[query] = s
	return s, nil
}

// Exec implements store.Tx.
func (c *conn) Exec(query string, args ...any) (int64, error) {
	s, err := c.prepare(query)
	if err != nil {
		return 0, err
	}
	r, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// Row implements store.Tx.
func (c *conn) Row(query string, args []any, dest ...any) (bool, error) {
	s, err := c.prepare(query)
	if err != nil {
		return false, err
	}
	err = s.QueryRowContext(context.Background(), args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Rows implements store.Tx.
func (c *conn) Rows(query string, args []any, each func(scan func(dest ...any) error) error) (err error) {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.Background(), args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.c.Close())...)
}
