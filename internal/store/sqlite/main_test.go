package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-bot/parley/internal/store"
)

// TestMain also is the other process of the tests that need one.
func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		os.Exit(child(path))
	}
	goleak.VerifyTestMain(m)
}

// file is the path of a database in a folder of its own.
func file(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "parley.db")
}

// openDB opens a database that the test closes if nobody else has.
func openDB(t *testing.T, path string, opts Options) *DB {
	t.Helper()
	db, err := Open(context.Background(), path, opts)
	if err != nil {
		t.Fatalf("opening: %v", err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the outcome is the test's own concern
	return db
}

const (
	putState = `INSERT INTO state(account, key, value) VALUES('a', ?1, x'00')`
	countAll = `SELECT count(*) FROM state`
)

// put writes one row.
func put(key string) func(store.Tx) error {
	return func(tx store.Tx) error {
		_, err := tx.Exec(putState, key)
		return err
	}
}

// pragma sets or asks something of the writing connection.
func pragma(t *testing.T, db *DB, query string) (value string) {
	t.Helper()
	err := db.Write(t.Context(), "", func(tx store.Tx) error {
		_, err := tx.Row("PRAGMA "+query, nil, &value)
		return err
	})
	if err != nil {
		t.Fatalf("pragma %s: %v", query, err)
	}
	return value
}

// rows counts what put wrote.
func rows(t *testing.T, db *DB) (n int) {
	t.Helper()
	err := db.Read(t.Context(), func(tx store.Tx) error {
		_, err := tx.Row(countAll, nil, &n)
		return err
	})
	if err != nil {
		t.Fatalf("counting: %v", err)
	}
	return n
}
