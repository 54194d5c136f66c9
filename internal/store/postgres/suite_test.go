package postgres

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/store/storetest"
)

// standing is a clock that stands still until it is moved, as that of all
// processes of a test.
type standing struct{ offset atomic.Int64 }

func (c *standing) now() time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(c.offset.Load()))
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Opened {
		s := &suite{t: t, url: fresh(t)}
		s.open()
		return storetest.Opened{
			Store:   s.store,
			Advance: func(d time.Duration) { s.clock.offset.Add(int64(d)) },
			Reopen:  s.reopen,
			Holding: s.holding,
			Parked:  2_000,
		}
	})
}

// suite is the database of one test, through several processes.
type suite struct {
	t     *testing.T
	url   string
	clock standing
	db    *DB
	store *store.Store
}

func (s *suite) open() {
	s.t.Helper()
	s.db = openDB(s.t, s.url, Options{Clock: s.clock.now, MaxConns: 8})
	s.store = store.New(s.db)
}

// reopen goes on with another process: after the end of the one before, or
// after it was killed and so gave no lease back.
func (s *suite) reopen(crash bool) *store.Store {
	s.t.Helper()
	end := s.store.Close
	if crash {
		end = s.db.Close
	}
	if err := end(); err != nil {
		s.t.Fatalf("closing: %v", err)
	}
	s.open()
	if err := s.store.CountCrash(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return s.store
}

// holding looks through every column of every table.
func (s *suite) holding(text string) (tables []string) {
	s.t.Helper()
	err := s.db.Read(s.t.Context(), func(tx store.Tx) error {
		var looks [][3]string
		err := tx.Rows(`SELECT c.table_name, c.column_name, c.data_type FROM information_schema.columns c WHERE c.table_schema='public' ORDER BY c.table_name`, nil,
			func(scan func(...any) error) error {
				var l [3]string
				err := scan(&l[0], &l[1], &l[2])
				looks = append(looks, l)
				return err
			})
		if err != nil {
			return err
		}
		for _, l := range looks {
			column := fmt.Sprintf(`CAST(%q AS TEXT)`, l[1])
			if l[2] == "bytea" {
				column = fmt.Sprintf(`encode(%q, 'escape')`, l[1])
			}
			var n int
			if _, err := tx.Row(fmt.Sprintf(`SELECT count(*) FROM %q WHERE strpos(%s, ?1)>0`, l[0], column), []any{text}, &n); err != nil {
				return err
			}
			if n > 0 && !slices.Contains(tables, l[0]) {
				tables = append(tables, l[0])
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatalf("looking for %q: %v", text, err)
	}
	slices.SortFunc(tables, strings.Compare)
	return tables
}
