//go:build unix

package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
)

const (
	aiError  = "Sorry, something went wrong on my side. Please try again in a moment."
	cutShort = "turn failed: its work was cut short too often"
)

// TestPoison_G8 sends a message that crashes the process. After the third
// crash it is given up, told so, and shown to the operator; the others are
// served, also one who was being answered at each crash.
func TestPoison_G8_GivenUpAfterThreeCrashes(t *testing.T) {
	t.Parallel()
	dir, back, bin := t.TempDir(), newBackend(t), parley(t)
	d := newDaemon(t, 3, func(int) *exec.Cmd { return again(modePoison, dir, back.addr) }, cutShort)
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errPatience)
	defer cancel()
	var talks [3]*talk
	for i := range talks {
		p, err := newPerson(ctx, t, newClient(t), d.base)
		if err != nil {
			t.Fatal(err)
		}
		talks[i] = newTalk(p)
	}
	victim, innocent, other := talks[0], talks[1], talks[2]
	other.says("hello")
	other.hears("You said: hello")
	victim.says(poison)
	innocent.says(slow + " please")
	if !d.reached(ctx, 2) {
		t.Fatal("the message did not crash the process")
	}
	other.says("are you there?")
	innocent.hears("You said: " + slow + " please")
	other.hears("You said: are you there?")
	victim.hears(aiError)
	if k := victim; k.err == nil {
		if got := failure(t, bin, dir, back.addr, k.chat); got != "its work was cut short by a crash 3 times" {
			t.Errorf("parley chats tells of the failure %q", got)
		}
	}
	victim.says("what now?")
	victim.hears("You said: what now?")
	for _, k := range talks {
		if k.err != nil {
			t.Error(k.err)
		}
	}
	if n := d.count(); n != 4 {
		t.Errorf("the message crashed the process %d times, want 3", n-1)
	}
	d.stop()
	db := books(t, dir)
	clean(t, db)
	invariants(t, db)
	for _, k := range talks {
		checkLog(t, db, k.person)
	}
}

// failure is what the operator is shown of a chat, beside the running daemon.
func failure(t *testing.T, bin, dir, backend, chat string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), bin, "chats", "--json", "-c", configFile)
	cmd.Env = append(os.Environ(), envData+"="+dir, envBackend+"="+backend)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("parley chats: %v", err)
	}
	for line := range bytes.Lines(out) {
		var row struct{ Lane, Failed string }
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("parley chats printed %q: %v", line, err)
		}
		if row.Lane == chat {
			return row.Failed
		}
	}
	t.Fatalf("parley chats doesn't list %s:\n%s", chat, out)
	return ""
}
