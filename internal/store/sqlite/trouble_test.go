package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/store"
)

// never is for databases that nothing fatal may happen to.
func never(t *testing.T) Options {
	return Options{Fatal: func(err error) { t.Errorf("fatal: %v", err) }}
}

func TestTrouble_G9_FullDiskPasses(t *testing.T) {
	t.Parallel()
	path := file(t)
	db := openDB(t, path, never(t))
	if err := db.Write(t.Context(), "", put("before")); err != nil {
		t.Fatal(err)
	}
	pages := pragma(t, db, "page_count")
	pragma(t, db, "max_page_count="+pages)
	busy, free := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i, fn := range []func(store.Tx) error{func(store.Tx) error {
		close(busy)
		<-free
		return nil
	}, put("neighbour"), func(tx store.Tx) error {
		_, err := tx.Exec(`INSERT INTO state(account, key, value) VALUES('b', 'big', zeroblob(1000000))`)
		return err
	}} {
		wg.Go(func() { errs[i] = db.Write(context.Background(), "", fn) })
		<-busy
		queued(t, db.writer.now, i)
	}
	close(free)
	wg.Wait()
	// All of a batch share its fate: nobody is told what wasn't kept.
	for i, err := range errs {
		if !errors.Is(err, inbox.ErrUnavailable) || !strings.Contains(err.Error(), "disk is full") {
			t.Errorf("call %d on a full disk: %v", i, err)
		}
	}
	if n := rows(t, db); n != 1 {
		t.Errorf("%d rows can be read, want 1", n)
	}
	pragma(t, db, "max_page_count=1000000")
	if err := db.Write(t.Context(), "", put("after")); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if got := pragma(t, db, "integrity_check"); got != "ok" {
		t.Errorf("integrity: %s", got)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if n := rows(t, openDB(t, path, never(t))); n != 2 {
		t.Errorf("%d rows after reopening, want 2", n)
	}
}

func TestTrouble_G9_ReadOnlyPasses(t *testing.T) {
	t.Parallel()
	db := openDB(t, file(t), never(t))
	pragma(t, db, "query_only=1")
	err := db.Write(t.Context(), "", put("x"))
	if !errors.Is(err, inbox.ErrUnavailable) || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("on a read-only store: %v", err)
	}
	if n := rows(t, db); n != 0 {
		t.Errorf("%d rows", n)
	}
	if _, err := db.writer.conn.Exec("PRAGMA query_only=0"); err != nil { // the writer is idle
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), "", put("x")); err != nil {
		t.Errorf("writable again: %v", err)
	}
}

func TestTrouble_G9_MessageRefusedOnAFullDiskIsTakenLater(t *testing.T) {
	t.Parallel()
	db := openDB(t, file(t), never(t))
	s := store.New(db)
	d := inbox.Delivery{Place: inbox.Place{Channel: "web", Lane: "web:a", ChatKey: "web:a"}, DedupeKey: "k", Routed: true}
	d.In.Text = strings.Repeat("long ", 100_000)
	pragma(t, db, "max_page_count="+pragma(t, db, "page_count"))
	if _, err := s.Accept(t.Context(), d); !errors.Is(err, inbox.ErrUnavailable) {
		t.Fatalf("error %v", err)
	}
	pragma(t, db, "max_page_count=1000000")
	acc, err := s.Accept(t.Context(), d)
	if err != nil || acc.Outcome != inbox.Queued {
		t.Errorf("%+v, %v", acc, err)
	}
}

// takeOver does what another process would that has got past the lock.
func takeOver(tx store.Tx) error {
	_, err := tx.Exec(`UPDATE meta SET value='another' WHERE name='boot'`)
	return err
}

func TestTrouble_AnotherBootEndsIt(t *testing.T) {
	t.Parallel()
	path := file(t)
	var fatal []error
	db := openDB(t, path, Options{Fatal: func(err error) { fatal = append(fatal, err) }})
	if err := db.Write(t.Context(), "", takeOver); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := db.Write(t.Context(), "", put("x")); !errors.Is(err, errBoot) {
			t.Errorf("after the takeover: %v", err)
		}
	}
	if len(fatal) != 1 || !errors.Is(fatal[0], errBoot) {
		t.Errorf("told %v", fatal)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	// The other's id is left alone, also where nobody had noticed yet.
	for range 2 {
		db = openDB(t, path, Options{})
		if !db.Unclean() {
			t.Error("the other process's mark was taken away")
		}
		if err := db.Write(t.Context(), "", takeOver); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTrouble_CorruptionEndsIt(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"reader", "writer"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			path := file(t)
			db := openDB(t, path, Options{})
			err := db.Write(t.Context(), "", func(tx store.Tx) error {
				for i := range 2000 {
					if _, err := tx.Exec(`INSERT INTO state(account, key, value) VALUES('a', ?1, zeroblob(500))`, fmt.Sprint(i)); err != nil {
						return err
					}
				}
				return nil
			})
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			spoil(t, path)
			var fatal []error
			db = openDB(t, path, Options{Fatal: func(err error) { fatal = append(fatal, err) }})
			scan := func(tx store.Tx) error {
				var n int
				_, err := tx.Row(`SELECT sum(length(value)) FROM state`, nil, &n)
				return err
			}
			if who == "reader" {
				err = db.Read(t.Context(), scan)
			} else {
				err = db.Write(t.Context(), "", scan)
			}
			if err == nil || !strings.Contains(err.Error(), "damaged") || len(fatal) != 1 {
				t.Errorf("error %v, told %v", err, fatal)
			}
			if err := db.Write(t.Context(), "", func(store.Tx) error { return nil }); err == nil {
				t.Error("it goes on writing")
			}
		})
	}
}

// spoil overwrites pages in the last third of the file.
func spoil(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		t.Fatal(err)
	}
	junk := make([]byte, size/3)
	for i := range junk {
		junk[i] = byte(i*7 + 3)
	}
	if _, err := f.WriteAt(junk, size-int64(len(junk))); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
