package whatsappdb_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.mau.fi/whatsmeow/proto/waAdv"
	"go.mau.fi/whatsmeow/types"

	"github.com/parley-bot/parley/internal/postgrestest"
	"github.com/parley-bot/parley/internal/store/whatsappdb"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

// each runs a test over both kinds of session; open opens the same one each
// time.
func each(t *testing.T, test func(t *testing.T, open func() (*whatsappdb.DB, error))) {
	t.Parallel()
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "a b", "wa.db") // a folder to be made, with a blank
		test(t, func() (*whatsappdb.DB, error) { return whatsappdb.Open(t.Context(), path, nil) })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := postgrestest.URL(t)
		test(t, func() (*whatsappdb.DB, error) { return whatsappdb.OpenPostgres(t.Context(), url, "wa-1", nil) })
	})
}

func must(t *testing.T, db *whatsappdb.DB, err error) *whatsappdb.DB {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func closes(t *testing.T, db *whatsappdb.DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpen_OneProcess: the lock is the right to hold the connection.
func TestOpen_OneProcess(t *testing.T) {
	each(t, func(t *testing.T, open func() (*whatsappdb.DB, error)) {
		for range 2 {
			first, err := open()
			db := must(t, first, err)
			if _, err := open(); !errors.Is(err, whatsappdb.ErrInUse) {
				t.Errorf("opened twice: %v", err)
			}
			closes(t, db)
		}
	})
}

func TestOpen_OnlyTheOwnerMayReadTheKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "wa.db")
	db, err := whatsappdb.Open(t.Context(), path, nil)
	closes(t, must(t, db, err))
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the keys' file: %v, %v", info.Mode(), err)
	}
}

// Two channels of one database have a session each.
func TestOpenPostgres_EachChannelHasItsOwn(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	for _, channel := range []string{"one", "two"} {
		db, err := whatsappdb.OpenPostgres(t.Context(), url, channel, nil)
		db = must(t, db, err)
		link(t, db, "1555000"+channel[:1])
		defer closes(t, db)
	}
}

func TestOpenPostgres_SaysNoPassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://bot:canary@/x?host=/nowhere", "postgres://bot:canary@h:port/x"} {
		if _, err := whatsappdb.OpenPostgres(t.Context(), url, "wa", nil); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// link makes the device a linked one, where none is yet.
func link(t *testing.T, db *whatsappdb.DB, user string) types.JID {
	t.Helper()
	d, err := db.Device(t.Context())
	if err != nil || d.ID != nil {
		t.Fatalf("a new session has device %v, %v", d.ID, err)
	}
	jid := types.JID{User: user, Device: 3, Server: types.DefaultUserServer}
	d.ID, d.Account = &jid, &waAdv.ADVSignedDeviceIdentity{
		Details: []byte{1}, AccountSignature: make([]byte, 64), AccountSignatureKey: make([]byte, 32), DeviceSignature: make([]byte, 64),
	}
	if err := d.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	return jid
}

func TestDevice_SavedAndForgotten(t *testing.T) {
	each(t, func(t *testing.T, open func() (*whatsappdb.DB, error)) {
		first, err := open()
		db := must(t, first, err)
		jid := link(t, db, "15550001111")
		closes(t, db)
		again, err := open()
		db = must(t, again, err)
		d, err := db.Device(t.Context())
		if err != nil || d.ID == nil || *d.ID != jid {
			t.Fatalf("opened again it has device %v, %v", d.ID, err)
		}
		if err := db.Forget(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d, err = db.Device(t.Context()); err != nil || d.ID != nil {
			t.Errorf("forgotten, and there is %v, %v", d.ID, err)
		}
		closes(t, db)
	})
}
