package sqlite

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/store"
)

func TestRead_CannotWrite(t *testing.T) {
	t.Parallel()
	db := openDB(t, file(t), Options{Fatal: func(err error) { t.Errorf("fatal: %v", err) }})
	err := db.Read(t.Context(), put("x"))
	if !errors.Is(err, inbox.ErrUnavailable) {
		t.Errorf("writing as a reader: %v", err)
	}
	if n := rows(t, db); n != 0 {
		t.Errorf("%d rows", n)
	}
}

func TestRead_SeesOneMomentOnly(t *testing.T) {
	t.Parallel()
	db := openDB(t, file(t), Options{})
	err := db.Read(t.Context(), func(tx store.Tx) error {
		for i := range 3 {
			var n int
			if _, err := tx.Row(countAll, nil, &n); err != nil || n != 0 {
				return fmt.Errorf("%d rows: %w", n, err)
			}
			if err := db.Write(t.Context(), "", put(fmt.Sprint(i))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if n := rows(t, db); n != 3 {
		t.Errorf("%d rows afterwards, want 3", n)
	}
}

func TestRead_FailuresDontUseUpConnections(t *testing.T) {
	t.Parallel()
	db := openDB(t, file(t), Options{Readers: 2})
	for i := range 6 {
		err := db.Read(t.Context(), func(tx store.Tx) error {
			return tx.Rows(`SELECT name FROM sqlite_schema`, nil, func(func(...any) error) error {
				if i%2 == 0 {
					panic("while reading")
				}
				return errors.New("enough")
			})
		})
		if err == nil {
			t.Fatal("no error")
		}
	}
	if n := rows(t, db); n != 0 {
		t.Errorf("%d rows", n)
	}
}

func TestRead_WaitsOnlyAsLongAsTheCaller(t *testing.T) {
	t.Parallel()
	db := openDB(t, file(t), Options{Readers: 1})
	errGone := errors.New("the caller has gone")
	err := db.Read(t.Context(), func(store.Tx) error {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errGone)
		return db.Read(ctx, func(store.Tx) error { return nil })
	})
	if !errors.Is(err, errGone) {
		t.Errorf("error %v", err)
	}
}

func TestReader_ReadsBesideTheOwner(t *testing.T) {
	t.Parallel()
	path := file(t)
	if _, err := OpenReader(t.Context(), path); err == nil {
		t.Error("a reader of nothing")
	}
	db := openDB(t, path, Options{})
	r, err := OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if err := db.Write(t.Context(), "", put(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		var n int
		err := r.Read(t.Context(), func(tx store.Tx) error {
			_, err := tx.Row(countAll, nil, &n)
			return err
		})
		if err != nil || n != i+1 {
			t.Errorf("%d rows, error %v", n, err)
		}
	}
	if err := r.Write(t.Context(), "", put("x")); err == nil {
		t.Error("a reader wrote")
	}
	if err := r.Read(t.Context(), put("x")); err == nil {
		t.Error("a reader wrote")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := db.Write(t.Context(), "", put("after")); err != nil {
		t.Errorf("the owner after the reader: %v", err)
	}
}
