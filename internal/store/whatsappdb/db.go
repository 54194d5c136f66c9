// Package whatsappdb keeps what WhatsApp Web's SDK must remember: the linked
// device, its keys, and the Signal sessions with every other device.
//
// It owns the file, or the schema of a PostgreSQL database, with its lock and
// settings. The tables and what is in them are the SDK's own
// (go.mau.fi/whatsmeow/store/sqlstore).
//
// The file lies beside the bot's database and is another one on purpose. The
// SDK opens transactions of its own, holds them while it encrypts, and reads
// within them what it wrote: in the bot's file each would keep the one writer
// with its group commits waiting, and a fault of the SDK's would be a fault of
// the store that everything else trusts. Nothing needs both in one
// transaction: a message is acknowledged after the store has it, and one that
// is decrypted and not stored yet lies in the SDK's own buffer. A file a
// channel, with a lock of its own, is also what lets `parley pair` link a
// device while the daemon runs: whoever has the lock is the one process that
// may hold the account's connection.
//
// Where the bot's database is PostgreSQL the sessions are in it, so that
// whichever process receives has them: in a schema a channel, with connections
// of their own, and an advisory lock in place of the file's.
package whatsappdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/store/sqlstore"
	waLog "go.mau.fi/whatsmeow/util/log"
	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// ErrInUse is the error of Open and OpenPostgres where another process has the
// session.
var ErrInUse = errors.New("the session is in use by another parley process")

// DB is an open session.
type DB struct {
	container *sqlstore.Container
	// unlock gives back the right to the session.
	unlock func() error
}

// Open opens or creates the file, with its lock, and brings its tables up to
// date. While another process has it the error is ErrInUse.
func Open(ctx context.Context, path string, log waLog.Logger) (*DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("creating data folder: %w", err)
	}
	// The file holds the account's keys: whoever reads it is the account.
	// SQLite would make it readable by the group.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening session file: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("opening session file: %w", err)
	}
	lock := flock.New(path + ".lock")
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking session file %s: %w (is the folder writable?)", path, err)
	}
	if !ok {
		return nil, fmt.Errorf("%s: %w", path, ErrInUse)
	}
	db, err := sql.Open("sqlite", source(path))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening session file %s: %w", path, err), lock.Unlock())
	}
	// One connection that reads while another writes is all that the SDK uses.
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(2)
	container := sqlstore.NewWithDB(db, "sqlite", log)
	if err := container.Upgrade(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("preparing session file %s: %w", path, err), db.Close(), lock.Unlock())
	}
	return &DB{container, lock.Close}, nil
}

// source builds the connection string: a lost ratchet is a message that can't
// be read, so FULL as in the bot's own database.
func source(path string) string {
	q := url.Values{}
	for _, p := range []string{
		"foreign_keys(1)", "busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "cache_size(-1000)",
	} {
		q.Add("_pragma", p)
	}
	q.Set("_txlock", "immediate")
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// Device is the linked device; without one, a new one that isn't linked and is
// saved when it gets linked.
func (db *DB) Device(ctx context.Context) (*store.Device, error) {
	d, err := db.container.GetFirstDevice(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the linked device: %w", err)
	}
	return d, nil
}

// Forget deletes the linked device and its sessions. Who is who (phone numbers
// and hidden ids) stays.
func (db *DB) Forget(ctx context.Context) error {
	all, err := db.container.GetAllDevices(ctx)
	if err != nil {
		return fmt.Errorf("reading the linked device: %w", err)
	}
	for _, d := range all {
		if err := d.Delete(ctx); err != nil {
			return fmt.Errorf("forgetting the linked device: %w", err)
		}
	}
	return nil
}

// Close closes the session and gives its lock back.
func (db *DB) Close() error {
	return errors.Join(db.container.Close(), db.unlock())
}
