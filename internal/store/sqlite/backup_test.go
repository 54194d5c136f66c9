package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/parley-bot/parley/internal/store"
)

// names lists a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// Rows are written two by two: a copy of one moment has an even number.
func TestBackup_OneMomentWhileOthersWrite(t *testing.T) {
	t.Parallel()
	path := file(t)
	db := openDB(t, path, Options{})
	pair := func(i int) error {
		return db.Write(t.Context(), "", func(tx store.Tx) error {
			return errors.Join(put(fmt.Sprint(i, "a"))(tx), put(fmt.Sprint(i, "b"))(tx))
		})
	}
	for i := range 3 {
		if err := pair(i); err != nil {
			t.Fatal(err)
		}
	}
	var writing sync.WaitGroup
	begun, stop := make(chan struct{}), make(chan struct{})
	writing.Go(func() {
		for i := 3; ; i++ {
			if err := pair(i); err != nil {
				t.Error(err)
			}
			if i == 3 {
				close(begun)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	<-begun
	dir := t.TempDir()
	for i := range 5 {
		to := filepath.Join(dir, fmt.Sprint(i, ".db"))
		c := []Copy{{From: path, To: to}}
		if err := Backup(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(to)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() != c[0].Size || c[0].Size == 0 || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
			t.Errorf("a copy of %d bytes, mode %v; told %d", info.Size(), info.Mode(), c[0].Size)
		}
	}
	if got := names(t, dir); len(got) != 5 {
		t.Errorf("left: %q", got)
	}
	close(stop)
	writing.Wait()
	for i := range 5 {
		// The copy is a database like any other, of a process that was cut short.
		copied := openDB(t, filepath.Join(dir, fmt.Sprint(i, ".db")), Options{})
		if n := rows(t, copied); n < 8 || n%2 != 0 {
			t.Errorf("copy %d has %d rows", i, n)
		}
		if !copied.Unclean() {
			t.Errorf("copy %d says that its process ended in good order", i)
		}
	}
}

// What a kill leaves under another name is in nobody's way, and the database
// is copied with what is in its log only.
func TestBackup_AfterAKill(t *testing.T) {
	t.Parallel()
	path := file(t)
	db := openDB(t, path, Options{})
	if err := db.Write(t.Context(), "", put("x")); err != nil {
		t.Fatal(err)
	}
	dead := t.TempDir()
	for _, end := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + end)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dead, "parley.db"+end), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	part, err := emptyFile(filepath.Join(dir, "b.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(part, []byte("half a copy"), 0o600); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "b.db")
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("half a copy has the name of a whole one: %v", err)
	}
	if err := Backup(t.Context(), []Copy{{From: filepath.Join(dead, "parley.db"), To: to}}); err != nil {
		t.Fatal(err)
	}
	if n := rows(t, openDB(t, to, Options{})); n != 1 {
		t.Errorf("%d rows", n)
	}
}

func TestBackup_RefusedLeavesNothing(t *testing.T) {
	t.Parallel()
	path := file(t)
	openDB(t, path, Options{})
	garbage := filepath.Join(t.TempDir(), "garbage.db")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("told to stop"))
	for _, tt := range []struct {
		name     string
		ctx      context.Context
		from, to string // to is in the test's folder
		before   func(dir string) error
		says     string
		left     string
	}{
		{name: "there already", to: "b.db", before: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "b.db"), []byte("precious"), 0o640)
		}, says: "b.db is there already", left: "b.db"},
		{name: "a broken link", to: "b.db", before: func(dir string) error {
			return os.Symlink("nowhere", filepath.Join(dir, "b.db"))
		}, says: "b.db is there already", left: "b.db"},
		{name: "no folder", to: "no/b.db", says: "does it exist, and may this user write there?"},
		{name: "folder is a file", to: "f/b.db", before: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "f"), nil, 0o600)
		}, says: "not a directory", left: "f"},
		{name: "read-only folder", to: "b.db", before: func(dir string) error { return os.Chmod(dir, 0o500) }, says: "may this user write there?"},
		{name: "no database", from: filepath.Join(t.TempDir(), "nope.db"), to: "b.db", says: "has parley been started here?"},
		{name: "damaged", from: garbage, to: "b.db", says: "damaged"},
		{name: "stopped", ctx: ended, to: "b.db", says: "told to stop"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if tt.before != nil {
				if err := tt.before(dir); err != nil {
					t.Fatal(err)
				}
			}
			if tt.from == "" {
				tt.from = path
			}
			if tt.ctx == nil {
				tt.ctx = t.Context()
			}
			to := filepath.Join(dir, filepath.FromSlash(tt.to))
			// The one before it isn't left either.
			err := Backup(tt.ctx, []Copy{{From: path, To: filepath.Join(filepath.Dir(to), "first.db")}, {From: tt.from, To: to}})
			if os.Geteuid() == 0 && tt.name == "read-only folder" {
				if err != nil { // root may write anywhere
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v; want %q", err, tt.says)
			}
			if got := strings.Join(names(t, dir), " "); got != tt.left {
				t.Errorf("left %q, want %q", got, tt.left)
			}
			if tt.name == "there already" {
				if got, err := os.ReadFile(to); err != nil || string(got) != "precious" {
					t.Errorf("the file that was there: %q, %v", got, err)
				}
			}
		})
	}
}

// The name is taken between the look and the copy's end.
func TestBackup_TakenMeanwhile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	part, to := filepath.Join(dir, "part"), filepath.Join(dir, "b.db")
	for name, text := range map[string]string{part: "new", to: "precious"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := publish(part, to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v", err)
	}
	if got, err := os.ReadFile(to); err != nil || string(got) != "precious" {
		t.Errorf("the file that was there: %q, %v", got, err)
	}
}
