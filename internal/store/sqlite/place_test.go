package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/store"
)

func link(t *testing.T, with func(target, name string) error, target, name string) {
	t.Helper()
	if err := with(target, name); err != nil {
		t.Fatal(err)
	}
}

func refused(t *testing.T, path string) {
	t.Helper()
	db, err := Open(t.Context(), path, Options{})
	if err == nil {
		_ = db.Close()
		t.Fatalf("%s was opened a second time", path)
	}
	if !strings.Contains(err.Error(), "in use by another parley process") {
		t.Errorf("%s: %v", path, err)
	}
}

// However the file is called, one process has it.
func TestOpen_ByOtherNames(t *testing.T) {
	t.Parallel()
	path := file(t)
	elsewhere := t.TempDir()
	dangling := filepath.Join(elsewhere, "dangling.db")
	link(t, os.Symlink, path, dangling) // the file doesn't exist yet
	db := openDB(t, dangling, Options{})
	if err := db.Write(t.Context(), "", put("x")); err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(elsewhere, "again.db")
	link(t, os.Symlink, "dangling.db", again)
	folder := filepath.Join(elsewhere, "folder")
	link(t, os.Symlink, filepath.Dir(path), folder)
	for _, name := range []string{path, dangling, again, filepath.Join(folder, filepath.Base(path))} {
		refused(t, name)
	}
	if err := db.Write(t.Context(), "", put("y")); err != nil {
		t.Errorf("the first after the others: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if n := rows(t, openDB(t, path, Options{})); n != 2 {
		t.Errorf("%d rows", n)
	}
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) != 3 {
		t.Errorf("files beside a link: %v %v", left, err)
	}
}

func TestOpen_ByAHardLink(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Log("only the system's own locks keep a second process out")
		return
	}
	path := file(t)
	db := openDB(t, path, Options{})
	other := filepath.Join(t.TempDir(), "other.db")
	link(t, os.Link, path, other)
	refused(t, other)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := openDB(t, other, Options{}).Close(); err != nil {
		t.Errorf("after the end of the first: %v", err)
	}
}

func TestResolve_WhatCannotBeFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop.db")
	link(t, os.Symlink, "loop.db", loop)
	for _, path := range []string{loop, filepath.Join(dir, "no", "folder", "x.db"), filepath.Join(dir, "new.db"), "parley.db"} {
		if got := Resolve(path); got != path {
			t.Errorf("%s is %s", path, got)
		}
	}
}

// What is written to a file that was moved or removed is lost with the process:
// nothing is taken until it is back.
func TestPlace_FileGone(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(path string) error{
		"moved": func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := file(t)
			var told []error
			db := openDB(t, path, Options{Gone: func(err error) { told = append(told, err) }})
			st := store.New(db)
			ping := func(what string, want bool) {
				t.Helper()
				err := st.Ping(t.Context())
				if want != (err == nil) || err != nil && (!errors.Is(err, inbox.ErrUnavailable) || !strings.Contains(err.Error(), path)) {
					t.Errorf("%s: %v", what, err)
				}
			}
			ping("in its place", true)
			for i := range 2 {
				if err := take(path); err != nil {
					t.Fatal(err)
				}
				ping(name, false)
				ping(name+", later", false)
				if err := db.Write(t.Context(), "", put("lost")); err == nil {
					t.Error("was written")
				}
				if err := os.Rename(path+".old", path); err != nil {
					t.Fatal(err)
				}
				ping("back", true)
				if len(told) != i+1 {
					t.Errorf("told %d times, want %d", len(told), i+1)
				}
			}
			if n := rows(t, db); n != 0 {
				t.Errorf("%d rows", n)
			}
		})
	}
}

func TestPlace_FileRemoved(t *testing.T) {
	t.Parallel()
	path := file(t)
	db := openDB(t, path, Options{})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := store.New(db).Ping(t.Context()); !errors.Is(err, inbox.ErrUnavailable) || !strings.Contains(err.Error(), "moved or removed") {
		t.Errorf("got %v", err)
	}
	_ = db.Read(t.Context(), put("x")) // a reader makes no file in its place
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("there is a new file: %v", err)
	}
}
