package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/store"
)

func TestOpen_SafetyIsReallyOn(t *testing.T) {
	t.Parallel()
	db := openDB(t, file(t), Options{})
	for query, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "mmap_size": "0", "query_only": "0"} {
		if got := pragma(t, db, query); got != want {
			t.Errorf("writer's %s is %q, want %q", query, got, want)
		}
	}
	var only string
	err := db.Read(t.Context(), func(tx store.Tx) error {
		_, err := tx.Row("PRAGMA query_only", nil, &only)
		return err
	})
	if only != "1" || err != nil {
		t.Errorf("reader's query_only is %q, error %v", only, err)
	}
}

func TestOpen_SecondIsRefusedAndNamesTheFirst(t *testing.T) {
	t.Parallel()
	path := file(t)
	db := openDB(t, path, Options{})
	_, err := Open(t.Context(), path, Options{})
	if want := fmt.Sprintf("pid %d", os.Getpid()); err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("second: %v, want it to name %s", err, want)
	}
	if err := db.Write(t.Context(), "", put("x")); err != nil {
		t.Errorf("the first after the second came: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again := openDB(t, path, Options{})
	if again.Unclean() {
		t.Error("unclean after a good end")
	}
	if n := rows(t, again); n != 1 {
		t.Errorf("%d rows", n)
	}
}

func TestOpen_PathsOfAllKinds(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain.db", "with space.db", "ques?tion#hash.db", "per%20cent%zz.db", "ünï&amp;=+.db", "a/new/folder/x.db"} {
		path := filepath.Join(t.TempDir(), name)
		db := openDB(t, path, Options{})
		if err := db.Write(t.Context(), "", put("x")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := db.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpen_NewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	path := file(t)
	db := openDB(t, path, Options{})
	err := db.Write(t.Context(), "", func(tx store.Tx) error {
		_, err := tx.Exec(`INSERT INTO goose_db_version(version_id, is_applied) VALUES(9999, 1)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time shows that the lock was given back
		if _, err := Open(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), "newer parley") {
			t.Errorf("error %v", err)
		}
	}
}

func TestOpen_WhatIsNoDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	garbage, folder := file(t), t.TempDir()
	content := bytes.Repeat([]byte("not a database at all. "), 1000)
	if err := os.WriteFile(garbage, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{garbage: "restore a backup", folder: "can't be opened"} {
		for range 2 {
			if _, err := Open(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", path, err, want)
			}
		}
	}
	if now, err := os.ReadFile(garbage); err != nil || !bytes.Equal(now, content) {
		t.Errorf("the file was changed: %v", err)
	}
}

func TestOpen_FolderThatIsAFile(t *testing.T) {
	t.Parallel()
	path := file(t)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), filepath.Join(path, "parley.db"), Options{}); err == nil || !strings.Contains(err.Error(), "creating data folder") {
		t.Errorf("error %v", err)
	}
}

func TestClose_TwiceAndCallsAfterIt(t *testing.T) {
	t.Parallel()
	db := openDB(t, file(t), Options{})
	if err := db.Write(t.Context(), "", put("x")); err != nil {
		t.Fatal(err)
	}
	rows(t, db) // a reader is open
	for range 2 {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	nothing := func(store.Tx) error { t.Error("it ran"); return nil }
	// None of them may wait: that they have all the time shows it.
	for name, err := range map[string]error{
		"write": db.Write(context.Background(), "", nothing), "later": db.Later(context.Background(), nothing),
		"read": db.Read(context.Background(), nothing),
	} {
		if !errors.Is(err, errClosed) {
			t.Errorf("%s after close: %v", name, err)
		}
	}
	if _, ok, err := store.New(db).Claim(context.Background(), "lane"); ok || !errors.Is(err, errClosed) {
		t.Errorf("claim after close: %v, %v", ok, err)
	}
}
