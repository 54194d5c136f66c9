package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/outbox"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/store/sqlite"
)

// cut is a database whose process dies before a commit.
type cut struct {
	*sqlite.DB
	dead bool
}

func (c *cut) Write(ctx context.Context, lane string, fn func(store.Tx) error) error {
	if c.dead {
		return errors.New("the process is dead")
	}
	return c.DB.Write(ctx, lane, fn)
}

func noteFiles(t *testing.T, path string) (out []string) {
	t.Helper()
	for _, suffix := range []string{"-sent1", "-sent2"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

// A reply that the platform took, and whose commit the process didn't live to
// see, is not sent again by the next one.
func TestReceipts_G5_SentBeforeTheKillIsSentOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	open := func() *cut {
		db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return &cut{DB: db}
	}
	db := open()
	st := store.New(db)
	place := inbox.Place{Channel: "tg", Lane: "tg:1", ChatKey: "tg:1", Chat: channels.Chat{ID: "1"}}
	for i, text := range []string{"one", "two"} {
		_, err := st.Command(t.Context(), inbox.Command{
			Place: place, DedupeKey: text, Action: inbox.ActSay, Say: []channels.Part{{Chat: place.Chat, Text: text}},
			In: channels.Inbound{Kind: channels.KindMessage, ID: channels.MessageID(text), Chat: place.Chat, From: channels.User{ID: "u"}, Text: text},
		})
		if err != nil {
			t.Fatal(i, err)
		}
	}
	e, ok, _, err := st.Next(t.Context(), "tg:1")
	if err != nil || !ok || e.Part.Text != "one" {
		t.Fatalf("%+v %v %v", e, ok, err)
	}
	e.Part.Key = outbox.Key(e.ChatKey, e.Seq) // as the outbox sends it
	db.dead = true
	if _, _, err := st.Sent(t.Context(), e, channels.Receipt{ID: "77"}); err == nil {
		t.Fatal("committed by a dead process")
	}
	files := noteFiles(t, path)
	db.dead = false
	crash(t, db, path)
	// What the dead process wrote, and a line that it was cut short in.
	for i, suffix := range []string{"-sent1", "-sent2"} {
		if err := os.WriteFile(path+suffix, []byte(files[i]+`{"c":"tg:1","s":2`), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	db = open()
	st = store.New(db)
	if n, err := st.Receipts(t.Context()); err != nil || n != 1 {
		t.Fatalf("receipts: %d %v", n, err)
	}
	if n, err := st.Receipts(t.Context()); err != nil || n != 0 {
		t.Errorf("receipts again: %d %v", n, err)
	}
	if files := noteFiles(t, path); !slices.Equal(files, []string{"", ""}) {
		t.Errorf("kept %q", files)
	}
	log, err := st.Log(t.Context(), "tg:1", 0, 10)
	if err != nil || len(log) != 3 || log[2].Text != "one" || log[2].ID != "77" || log[2].From != channels.FromBot {
		t.Errorf("log %+v %v", log, err)
	}
	e, ok, _, err = st.Next(t.Context(), "tg:1")
	if err != nil || !ok || e.Part.Text != "two" || e.Maybe {
		t.Errorf("next: %+v %v %v", e, ok, err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(path + "-sent*"); err != nil || left != nil {
		t.Errorf("left after a good end: %q %v", left, err)
	}
}

// crash closes the database and lets its file say that it wasn't.
func crash(t *testing.T, db *cut, path string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		copyFile(t, path+suffix, path+".copy"+suffix)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal"} {
		if err := os.Rename(path+".copy"+suffix, path+suffix); err != nil {
			t.Fatal(err)
		}
	}
}
