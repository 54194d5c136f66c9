package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/postgrestest"
	"github.com/parley-bot/parley/internal/problem"
	"github.com/parley-bot/parley/internal/store"
)

func TestOpen_Wrong(t *testing.T) {
	t.Parallel()
	newer := fresh(t)
	db := openDB(t, newer, Options{MaxConns: 3})
	if err := db.Write(t.Context(), "", exec(`INSERT INTO goose_db_version(version_id, is_applied) VALUES(99, true)`)); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		url  string
		id   problem.ID
		says string
	}{
		"of a newer parley": {newer, problem.StoreNewer, "written by a newer parley"},
		"nobody there":      {"postgres://parley:s3cret@127.0.0.1:1/bot?sslmode=disable", problem.StoreUnavailable, "127.0.0.1"},
		"not a URL":         {"postgres://parley:s3cret@127.0.0.1:port/bot", problem.StoreURL, "postgres://user:password@host/database"},
		"no such database":  {strings.Replace(fresh(t), "@/t", "@/nothing", 1), problem.StoreUnavailable, "does not exist"},
	} {
		_, err := Open(t.Context(), tt.url, Options{})
		if err == nil {
			t.Errorf("%s: opened", name)
			continue
		}
		if p, ok := errors.AsType[*problem.Error](err); !ok || p.ID != tt.id {
			t.Errorf("%s: %v, want %s", name, err, tt.id)
		}
		if !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func exec(query string, args ...any) func(store.Tx) error {
	return func(tx store.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	}
}

// The clock is the server's, whatever this machine's says.
func TestNow_IsTheServers(t *testing.T) {
	t.Parallel()
	db := openDB(t, fresh(t), Options{MaxConns: 3})
	db.clock.set(time.Now(), time.Unix(0, 0))
	if err := db.Write(t.Context(), "", exec(`SELECT 1`)); err != nil {
		t.Fatal(err)
	}
	if off := time.Since(db.Now()).Abs(); off > time.Minute {
		t.Errorf("the clock is off by %v", off)
	}
}

// An audit event whose number is lower than that of one committed before it
// isn't passed over.
func TestAudit_InTheOrderOfNumbers(t *testing.T) {
	t.Parallel()
	all, _ := processes(t, 2)
	late := func(p process, chat string) {
		if err := p.Late(t.Context(), chat, audit.Event{Type: audit.ToolResult, ChatKey: chat}); err != nil {
			t.Error(err)
		}
	}
	written, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		err := all[0].db.Write(t.Context(), "web:slow", func(tx store.Tx) error {
			_, err := tx.Exec(`INSERT INTO audit(at, chat_key, event) VALUES(1, 'web:slow', ?1)`, []byte(`{"type":"first"}`))
			close(written)
			<-goOn
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}()
	<-written
	late(all[1], "web:fast")
	read := make(chan []audit.Row)
	go func() {
		rows, err := all[1].After(t.Context(), 0, 10)
		if err != nil {
			t.Error(err)
		}
		read <- rows
	}()
	waiting := func() (n int) {
		err := all[1].db.Peek(t.Context(), func(tx store.Tx) error {
			_, err := tx.Row(`SELECT count(*) FROM pg_locks WHERE locktype='advisory' AND NOT granted AND database=(SELECT oid FROM pg_database WHERE datname=current_database())`, nil, &n)
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return n
	}
	for waiting() == 0 && t.Context().Err() == nil {
		select {
		case rows := <-read:
			t.Fatalf("%d events were read while a lower one was being written", len(rows))
		default:
		}
	}
	close(goOn)
	<-done
	if rows := <-read; len(rows) != 2 || !strings.Contains(string(rows[0].Event), "first") {
		t.Errorf("read %d events", len(rows))
	}
}

// A process that freezes in a transaction doesn't keep the chat for ever, and
// what it had begun isn't kept.
func TestFrozen_LosesItsLocks(t *testing.T) {
	t.Parallel()
	server := postgrestest.Own(t)
	url := server.URL(t)
	frozen, other := openDB(t, url, Options{MaxConns: 3}), openDB(t, url, Options{MaxConns: 3})
	p := alone("ana")
	process{store.New(frozen), frozen}.say(t, p, "1")
	runs := 0
	held, thaw, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- frozen.Write(context.Background(), p.Lane, func(tx store.Tx) error {
			runs++
			if runs == 1 {
				// As the server is told by a session of the store, only sooner.
				if _, err := tx.Exec(`SET LOCAL idle_in_transaction_session_timeout=200`); err != nil {
					return err
				}
			}
			_, err := tx.Exec(`UPDATE lane SET lang='xx' WHERE key=?1`, p.Lane)
			if runs == 1 {
				close(held)
				<-thaw
			}
			return err
		})
	}()
	<-held
	process{store.New(other), other}.say(t, p, "2") // it waits for the lane's row
	close(thaw)
	if err := <-done; err != nil {
		t.Errorf("the frozen process's write: %v", err)
	}
	if runs != 2 {
		t.Errorf("it ran %d times", runs)
	}
}

// A call that can't get at the database says that it may be made again, and
// what it waited for.
func TestWrite_WaitIsBoundedByItsContext(t *testing.T) {
	t.Parallel()
	db := openDB(t, fresh(t), Options{MaxConns: leastConns})
	busy, free := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	for i := range leastConns {
		go func() {
			done <- db.Write(context.Background(), string(rune('a'+i)), func(store.Tx) error { busy <- struct{}{}; <-free; return nil })
		}()
		<-busy
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, lane := range []string{"a", "another"} {
		if err := db.Write(ctx, lane, func(store.Tx) error { return nil }); !errors.Is(err, inbox.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("lane %s: %v", lane, err)
		}
	}
	close(free)
	for range leastConns {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if err := db.Write(t.Context(), "a", func(store.Tx) error { return nil }); !errors.Is(err, errClosed) {
		t.Errorf("after the end: %v", err)
	}
	if err := db.Read(t.Context(), func(store.Tx) error { return nil }); !errors.Is(err, errClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func TestWrite_PanicEndsOnlyItsTransaction(t *testing.T) {
	t.Parallel()
	db := openDB(t, fresh(t), Options{})
	err := db.Write(t.Context(), "a", func(tx store.Tx) error {
		if err := exec(`INSERT INTO state(account, key, value) VALUES('a', 'k', ?1)`, []byte("v"))(tx); err != nil {
			return err
		}
		panic("oops")
	})
	if err == nil || !strings.Contains(err.Error(), "oops") {
		t.Errorf("error %v", err)
	}
	if v, err := store.New(db).StateGet(t.Context(), "a", "k"); v != nil || err != nil {
		t.Errorf("kept %q, %v", v, err)
	}
}
