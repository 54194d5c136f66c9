package app

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/parley-bot/parley/channels"
)

// A question that waits in the copy is answered there, once, and the daemon
// beside which the copy was made knows nothing of that.
func TestBackup_I14_AQuestionIsAnsweredInTheCopy(t *testing.T) {
	t.Parallel()
	ran := returns(`{"id":"P-1"}`)
	b := newBed(t, withTools(placeOrder(ran)))
	b.model.then(calls("place_order", twoCoffees))
	b.say("coffee")
	b.message(1)
	b.settled()
	copied := filepath.Join(b.dir, "copy") // memoryDir's end removes it with the rest
	if err := os.Mkdir(copied, 0o700); err != nil {
		t.Fatal(err)
	}
	made, err := Backup(b.ctx, b.app.cfg, filepath.Join(copied, "parley.db"))
	if err != nil {
		t.Fatal(err)
	}
	if len(made) != 1 {
		t.Errorf("copies: %v", made)
	}
	yes := b.message(1).Buttons[0].ID
	b.press("no") // after the backup: the copy doesn't know it
	b.message(2)
	b.stop()
	if n := ran.count(); n != 0 {
		t.Fatalf("ran %d times beside the backup", n)
	}

	b.dir = copied
	b.model.then(says("ordered"))
	b.start()
	for i := range 3 {
		in := channels.Inbound{Kind: channels.KindPress, ID: channels.MessageID(fmt.Sprint("p-", i)), Button: yes}
		if err := b.deliver(in); err != nil {
			t.Fatal(err)
		}
	}
	b.wants(3, "ordered")
	b.silent(3)
	if n := ran.count(); n != 1 {
		t.Errorf("ran %d times", n)
	}
}

func TestBackup_TheLinkedDeviceToo(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	data, err := os.ReadFile(filepath.Join(b.dir, "parley.db"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"whatsapp-wa.db": data, "whatsapp-wa.db.lock": nil, "other.db": data} {
		if err := os.WriteFile(filepath.Join(b.dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	target := filepath.Join(dir, "b.db")
	if _, err := Backup(b.ctx, b.app.cfg, target); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		got[e.Name()] = true
	}
	if len(got) != 2 || !got["b.db"] || !got["b.db.whatsapp-wa.db"] {
		t.Errorf("copies: %v", got)
	}
	// One of two names is taken: neither is written.
	if err := os.Remove(target); err != nil {
		t.Fatal(err)
	}
	if _, err := Backup(b.ctx, b.app.cfg, target); err == nil {
		t.Error("the session file's copy was overwritten")
	}
	if _, err := os.Stat(target); err == nil {
		t.Error("half a backup was left")
	}
}
