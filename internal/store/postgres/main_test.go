package postgres

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-bot/parley/internal/postgrestest"
)

func TestMain(m *testing.M) {
	code := postgrestest.Main(m)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

var template postgrestest.Template // one a test process

// fresh is the URL of a database with the schema and nothing in it.
func fresh(t testing.TB) string {
	t.Helper()
	return template.URL(t, func(url string) error {
		db, err := Open(context.Background(), url, Options{})
		if err != nil {
			return err
		}
		return db.Close()
	})
}

// openDB opens a database that the test closes if nobody else has.
func openDB(t testing.TB, url string, opts Options) *DB {
	t.Helper()
	db, err := Open(context.Background(), url, opts)
	if err != nil {
		t.Fatalf("opening: %v", err)
	}
	t.Cleanup(func() { _ = db.Close() }) // it never fails
	return db
}

// empty is the URL of a database without anything.
func empty(t testing.TB) string {
	t.Helper()
	return postgrestest.URL(t)
}
