package store_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/postgrestest"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/store/postgres"
	"github.com/parley-bot/parley/internal/store/sqlite"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

// What runs for each message or timer must not read a whole table, however
// many chats and open questions there are.
func TestQueries_UseAnIndex(t *testing.T) {
	t.Parallel()
	db := openSQLite(t)
	for name, query := range store.HotQueries {
		err := db.Read(t.Context(), func(tx store.Tx) error {
			args := make([]any, strings.Count(query, "?"))
			return tx.Rows("EXPLAIN QUERY PLAN "+query, args[:maxArg(query)], func(scan func(...any) error) error {
				var id, parent, unused int
				var detail string
				if err := scan(&id, &parent, &unused, &detail); err != nil {
					return err
				}
				if strings.HasPrefix(detail, "SCAN") && !strings.Contains(detail, "INDEX") {
					t.Errorf("%s: %s", name, detail)
				}
				return nil
			})
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// maxArg is the highest number of a query's arguments.
func maxArg(query string) (n int) {
	for i := range 10 {
		if strings.Contains(query, "?"+string(rune('0'+i))) {
			n = i
		}
	}
	return n
}

// The same holds for PostgreSQL, which reads small tables whole unless it is
// kept from that.
func TestQueries_UseAnIndexOfPostgreSQL(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), postgrestest.URL(t), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, query := range store.HotQueries {
		err := db.Write(t.Context(), "", func(tx store.Tx) error {
			if _, err := tx.Exec(`SET LOCAL enable_seqscan=off`); err != nil {
				return err
			}
			args := slices.Repeat([]any{"1"}, maxArg(query)) // of any type
			return tx.Rows("EXPLAIN "+query, args, func(scan func(...any) error) error {
				var line string
				if err := scan(&line); err != nil {
					return err
				}
				if strings.Contains(line, "Seq Scan") {
					t.Errorf("%s: %s", name, line)
				}
				return nil
			})
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func openSQLite(t *testing.T) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "parley.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
