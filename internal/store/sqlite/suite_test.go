package sqlite_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/store/sqlite"
	"github.com/parley-bot/parley/internal/store/storetest"
)

// clock stands still until it is moved.
type clock struct{ offset atomic.Int64 }

func (c *clock) now() time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(c.offset.Load()))
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Opened {
		s := &suite{t: t, path: filepath.Join(t.TempDir(), "parley.db")}
		s.open()
		t.Cleanup(func() {
			if err := s.store.Close(); err != nil {
				t.Error(err)
			}
		})
		return storetest.Opened{
			Store:   s.store,
			Advance: func(d time.Duration) { s.clock.offset.Add(int64(d)) },
			Reopen:  s.reopen,
			Holding: s.holding,
		}
	})
}

// suite is the database of one test, through several processes.
type suite struct {
	t     *testing.T
	path  string
	clock clock
	boots int
	db    *sqlite.DB
	store *store.Store
}

func (s *suite) open() {
	s.t.Helper()
	var err error
	s.db, err = sqlite.Open(context.Background(), s.path, sqlite.Options{
		Clock: s.clock.now,
		Fatal: func(err error) { s.t.Errorf("fatal: %v", err) },
	})
	if err != nil {
		s.t.Fatalf("opening: %v", err)
	}
	s.store = store.New(s.db)
}

// reopen goes on with the file, or with a copy as a kill -9 would have left it.
func (s *suite) reopen(crash bool) *store.Store {
	s.t.Helper()
	if crash {
		s.boots++
		copied := filepath.Join(filepath.Dir(s.path), fmt.Sprintf("boot%d.db", s.boots))
		for _, suffix := range []string{"", "-wal"} {
			copyFile(s.t, s.path+suffix, copied+suffix)
		}
		s.path = copied
	}
	if err := s.store.Close(); err != nil {
		s.t.Fatalf("closing: %v", err)
	}
	s.open()
	if got := s.db.Unclean(); got != crash {
		s.t.Errorf("unclean: %v, want %v", got, crash)
	}
	if s.db.Unclean() {
		if err := s.store.CountCrash(context.Background()); err != nil {
			s.t.Fatal(err)
		}
	}
	return s.store
}

// holding looks through every column of every table.
func (s *suite) holding(text string) (tables []string) {
	s.t.Helper()
	err := s.db.Read(s.t.Context(), func(tx store.Tx) error {
		var looks [][2]string
		err := tx.Rows(`SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type='table' ORDER BY m.name`, nil, func(scan func(...any) error) error {
			var l [2]string
			err := scan(&l[0], &l[1])
			looks = append(looks, l)
			return err
		})
		if err != nil {
			return err
		}
		for _, l := range looks {
			var n int
			query := fmt.Sprintf(`SELECT count(*) FROM %q WHERE instr(CAST(%q AS TEXT), ?1)>0`, l[0], l[1])
			if _, err := tx.Row(query, []any{text}, &n); err != nil {
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
	return tables
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
