package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-bot/parley/internal/inbox"
)

// code is the SQLSTATE of an error, "" where the server didn't make it.
func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// protocol is the violation of it: a mistake here, not of the connection.
const protocol = "08P01"

// clash tells whether the call lost against another transaction and may run
// again at once.
func clash(err error) bool {
	switch code(err) {
	case "40001", "40P01", // serialization failure, deadlock
		"23505": // another process made the row first: now it is found
		return true
	default:
		return false
	}
}

// brokenError says that the connection, or the server, went away before
// anything was kept.
type brokenError struct{ err error }

func (b *brokenError) Error() string { return b.err.Error() }
func (b *brokenError) Unwrap() error { return b.err }

// away tells whether the server, not the call, is the reason.
func away(err error) bool {
	c := code(err)
	if c == "" {
		return false
	}
	if c == protocol {
		return false
	}
	switch c[:2] {
	case "08", "53", "57", "58": // connection, resources, intervention, system
		return true
	}
	switch c {
	case "25006", // a standby, or read-only: after a failover, until the connection is made anew
		"25P03", // idle in the transaction for too long: this process was frozen
		"55P03": // a lock that didn't come free
		return true
	}
	return false
}

// explain marks errors that may pass, and says what to do about some.
func explain(err error) error {
	if err == nil || errors.Is(err, inbox.ErrUnavailable) {
		return err
	}
	if _, ok := errors.AsType[*brokenError](err); ok {
		return fmt.Errorf("%w: %w", inbox.ErrUnavailable, err)
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return fmt.Errorf("%w: %w", inbox.ErrUnavailable, err)
	}
	switch c := code(err); {
	case c == "53100":
		return fmt.Errorf("%w: the server's disk is full: %w", inbox.ErrUnavailable, err)
	case c == "53300":
		return fmt.Errorf("%w: the server has no connection left (lower pool_max_conns in store.url, or raise max_connections): %w", inbox.ErrUnavailable, err)
	case c == "25006":
		return fmt.Errorf("%w: the server is read-only (a standby? add target_session_attrs=read-write to store.url): %w", inbox.ErrUnavailable, err)
	case away(err), c == "40001", c == "40P01":
		return fmt.Errorf("%w: %w", inbox.ErrUnavailable, err)
	case c == "42501":
		return fmt.Errorf("%w (the user of store.url must own the tables, and may need CREATE in the schema)", err)
	default:
		return err
	}
}
