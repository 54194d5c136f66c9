//go:build unix

package crash

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"testing"
	"time"
)

// conversation goes through everything that a turn can do.
func conversation(k *talk) {
	k.says("hello")
	k.hears("You said: hello")

	k.says("order A")
	q := k.asked("A", 2)
	k.presses(q, "yes")
	k.sees(q, "→ Yes")
	k.hearsOf("A", 2)

	k.says("order B")
	q = k.asked("B", 2)
	k.says("yes, please")
	k.sees(q, "→ Yes")
	k.hearsOf("B", 2)

	k.says("order C")
	q = k.asked("C", 2)
	k.says("make it 3")
	k.sees(q, "")
	q = k.asked("C", 3)
	k.says("yes")
	k.sees(q, "→ Yes")
	k.hearsOf("C", 3)

	k.says("order D")
	q = k.asked("D", 2)
	k.presses(q, "no")
	k.sees(q, "→ No")
	k.hears("Nothing ordered: D.")
	k.claims["D"] = nothing

	k.says("menu")
	k.hears("There is bread.")
	k.says("set aside E")
	k.hears("Set aside: 2 × E.")

	k.says("order F") // a message comes while the question waits
	q = k.asked("F", 2)
	k.says("what day is it?")
	k.sees(q, "")
	k.hears("Nothing ordered. You said: what day is it?")
	k.claims["F"] = nothing

	k.says("order both G and H")
	q = k.asked("G", 1)
	k.presses(q, "yes")
	k.sees(q, "→ Yes")
	q = k.asked("H", 1)
	k.says("ok")
	k.sees(q, "→ Yes")
	k.claims["G"], k.claims["H"] = ordered, ordered
	if k.hears("Ordered: G and H.", "In doubt: G and H.") == "In doubt: G and H." {
		k.claims["G"], k.claims["H"] = inDoubt, inDoubt // one of them
		k.doubts++
	}

	k.says("one") // nobody waits for an answer
	k.says("two")
	k.hears("You said: one")
	k.hears("You said: two")

	k.says("order I")
	q = k.asked("I", 2)
	k.says("/reset")
	k.sees(q, "")
	k.hears("Done. I have forgotten this conversation; we can start over.")
	k.claims["I"] = nothing
	if k.err == nil && k.presses(q, "yes") == "accepted" {
		k.failf("a press after /reset was accepted")
	}
	k.says("bye")
	k.hears("You said: bye")
}

// TestFailPoints stops the daemon before and after each commit of one
// conversation, starts it again, and goes on (behaviour G1, G3, G4, G5).
func TestFailPoints_G3_G4_EveryCommit(t *testing.T) {
	t.Parallel()
	n := play(t, "")
	if n < 40 {
		t.Fatalf("the conversation has %d commits: it can't be the one that is meant", n)
	}
	step := max(1, *every)
	first := 1 + random(t, 0).Int64N(step)
	t.Logf("%d commits; stopping at each %d of them, from %d", n, step, first)
	// Calls that come at the same time may share a commit or not: some more
	// than were counted.
	for at := first; at <= n+3; at += step {
		for _, phase := range []string{"before", "after"} {
			t.Run(fmt.Sprint(phase, "_", at), func(t *testing.T) {
				t.Parallel()
				play(t, fmt.Sprint(at, " ", phase))
			})
		}
	}
}

// play has the conversation with a daemon that dies at one point and returns
// how many commits the last process made.
func play(t *testing.T, at string) int64 {
	t.Helper()
	dir, back := t.TempDir(), newBackend(t)
	d := newDaemon(t, 1, func(start int) *exec.Cmd {
		if start > 1 {
			return again(modeServe, dir, back.addr)
		}
		return again(modeServe, dir, back.addr, envAt+"="+at)
	})
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errPatience)
	defer cancel()
	p, err := newPerson(ctx, t, newClient(t), d.base)
	if err != nil {
		t.Fatal(err)
	}
	k := newTalk(p)
	conversation(k)
	if k.err != nil {
		t.Fatal(k.err)
	}
	crashes := d.count() - 1
	d.stop()
	if at != "" && crashes > 1 {
		t.Errorf("the daemon was started %d times, want 2", crashes+1)
	}
	if k.doubts > crashes {
		t.Errorf("%d orders are in doubt after %d crashes: %v", k.doubts, crashes, k.claims)
	}
	if err := k.reckon(back); err != nil {
		t.Error(err)
	}
	for _, o := range back.of("C") {
		if o.Quantity != 3 {
			t.Errorf("order C was made with quantity %d, want what was approved", o.Quantity)
		}
	}
	if len(back.of("E")) == 0 {
		t.Error("E was not set aside")
	}
	back.checkKeys(t)
	db := books(t, dir)
	clean(t, db)
	invariants(t, db)
	checkLog(t, db, p)
	return d.commits
}

// newClient is a person's browser.
func newClient(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 20 * time.Second}
}
