package whatsappdb_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"go.mau.fi/whatsmeow/proto/waAdv"
	"go.mau.fi/whatsmeow/types"

	"github.com/parley-bot/parley/internal/store/whatsappdb"
)

func open(t *testing.T, path string) *whatsappdb.DB {
	t.Helper()
	db, err := whatsappdb.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// TestOpen_OneProcess: the lock is the right to hold the connection.
func TestOpen_OneProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b", "wa.db") // a folder to be made, with a blank
	db := open(t, path)
	if _, err := whatsappdb.Open(t.Context(), path, nil); !errors.Is(err, whatsappdb.ErrInUse) {
		t.Errorf("opened twice: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	again := open(t, path)
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the keys' file: %v, %v", info.Mode(), err)
	}
}

func TestDevice_SavedAndForgotten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "wa.db")
	db := open(t, path)
	d, err := db.Device(t.Context())
	if err != nil || d.ID != nil {
		t.Fatalf("a new file has device %v, %v", d.ID, err)
	}
	jid := types.JID{User: "15550001111", Device: 3, Server: types.DefaultUserServer}
	d.ID, d.Account = &jid, &waAdv.ADVSignedDeviceIdentity{
		Details: []byte{1}, AccountSignature: make([]byte, 64), AccountSignatureKey: make([]byte, 32), DeviceSignature: make([]byte, 64),
	}
	if err := d.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, path)
	if d, err = db.Device(t.Context()); err != nil || d.ID == nil || *d.ID != jid {
		t.Fatalf("opened again it has device %v, %v", d.ID, err)
	}
	if err := db.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d, err = db.Device(t.Context()); err != nil || d.ID != nil {
		t.Errorf("forgotten, and there is %v, %v", d.ID, err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
