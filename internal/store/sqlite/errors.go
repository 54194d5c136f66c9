package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/problem"
)

// code is SQLite's primary result code of an error, 0 where it has none.
func code(err error) (primary, extended int) {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff, e.Code()
	}
	return 0, 0
}

// trouble tells an error of the database from one of the call: after it
// SQLite may have rolled back the whole transaction, not just the statement.
func trouble(err error) bool {
	switch p, _ := code(err); p {
	case lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_NOMEM, lib.SQLITE_BUSY, lib.SQLITE_INTERRUPT,
		lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_PROTOCOL:
		return true
	default:
		return false
	}
}

// fatal tells whether what the file holds can't be known any more.
func fatal(err error) bool {
	if errors.Is(err, errBoot) {
		return true
	}
	switch p, ext := code(err); p {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return true
	case lib.SQLITE_IOERR:
		// The shared-memory file can't grow on a full disk; nothing was lost.
		return ext != lib.SQLITE_IOERR_SHMSIZE && ext != lib.SQLITE_IOERR_NOMEM
	default:
		return false
	}
}

// numbered gives the id to what keeps a file from being opened.
func numbered(err error) error {
	if p, _ := code(err); p == lib.SQLITE_CORRUPT || p == lib.SQLITE_NOTADB {
		return problem.StoreDamaged.Wrap(err)
	}
	return problem.StoreUnavailable.Wrap(err)
}

// explain adds what to do to errors of the disk, and marks those that may
// pass.
func explain(err error) error {
	switch p, _ := code(err); {
	case err == nil || errors.Is(err, inbox.ErrUnavailable):
		return err
	case p == lib.SQLITE_FULL:
		return fmt.Errorf("%w: the disk is full: %w", inbox.ErrUnavailable, err)
	case p == lib.SQLITE_READONLY:
		return fmt.Errorf("%w: the database file or its folder is read-only: %w", inbox.ErrUnavailable, err)
	case p == lib.SQLITE_CANTOPEN:
		return fmt.Errorf("%w: the database file can't be opened (does the folder exist, and may this user write there?): %w", inbox.ErrUnavailable, err)
	case p == lib.SQLITE_BUSY, p == lib.SQLITE_NOMEM, p == lib.SQLITE_PROTOCOL, p == lib.SQLITE_IOERR && !fatal(err):
		return fmt.Errorf("%w: %w", inbox.ErrUnavailable, err)
	case p == lib.SQLITE_CORRUPT, p == lib.SQLITE_NOTADB:
		return fmt.Errorf("the database file is damaged; restore a backup: %w", err)
	default:
		return err
	}
}
