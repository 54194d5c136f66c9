package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/parley-bot/parley/internal/store/sqlite"
)

// What people wrote is the owner's alone to read.
func TestOpen_OwnerOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-sent1", "-sent2"} {
		info, err := os.Stat(path + suffix)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v %v", suffix, info.Mode(), err)
		}
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
