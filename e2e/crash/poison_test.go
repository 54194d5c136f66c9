package crash

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
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
	victim.says("what now?")
	victim.hears(aiError)
	victim.hears("You said: what now?")
	for _, k := range talks {
		if k.err != nil {
			t.Error(k.err)
		}
	}
	if n := d.count(); n != 4 {
		t.Errorf("the message crashed the process %d times, want 3", n-1)
	}
	victim.says(poison + " again")
	_ = bin
	_ = os.Args
	_ = json.Valid
	_ = strings.Cut
}
