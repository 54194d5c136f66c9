package store_test

import (
	"path/filepath"
	"testing"

	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/store/sqlite"
)

// rows is a database that keeps leases in rows.
type rows struct{ store.DB }

func (rows) Owner() string { return "me" }

// said is one that says itself whether it is shared.
type said struct {
	store.DB
	shared bool
}

func (s said) Shared() bool { return s.shared }

func TestShared(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, tc := range map[string]struct {
		db   store.DB
		want bool
	}{
		"one process has the file": {db, false},
		"leases are rows":          {rows{db}, true},
		"it says so":               {said{db, true}, true},
		"it says no":               {said{rows{db}, false}, false},
	} {
		if got := store.New(tc.db).Shared(); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
