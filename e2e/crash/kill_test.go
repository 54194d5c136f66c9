//go:build unix

package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// chats is how many people talk at the same time.
const chats = 50

// TestKill kills the real program at random moments, under load, and counts
// what was lost and what was done twice (behaviour B26, B27, G1 to G5).
func TestKill_G3_UnderLoad(t *testing.T) {
	t.Parallel()
	dir, bin, back := t.TempDir(), parley(t), newBackend(t)
	delays := random(t, 0)
	var mu sync.Mutex
	back.delay = func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(delays.IntN(10_000)) * time.Microsecond
	}
	d := newDaemon(t, 0, func(int) *exec.Cmd {
		cmd := exec.Command(bin, "serve", "-c", configFile)
		cmd.Env = append(os.Environ(), envData+"="+dir, envBackend+"="+back.addr)
		return cmd
	})
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience+time.Duration(*rounds)*5*time.Second, errPatience)
	defer cancel()

	var over atomic.Bool // no more kills: everybody comes to an end
	talks := make([]*talk, chats)
	for i := range talks {
		talks[i] = newTalk(nil)
	}
	var people sync.WaitGroup
	for i := range talks {
		people.Go(func() {
			p, err := newPerson(ctx, t, newClient(t), d.base)
			if err != nil {
				t.Errorf("person %d: %v", i, err)
				cancel()
				return
			}
			k := talks[i]
			k.person = p
			r := random(t, uint64(i)+1)
			// At least one thing after the last kill, so that each chat is
			// shown to be alive.
			for n, last := 0, false; k.err == nil && !last; n++ {
				last = over.Load()
				scene(k, r, fmt.Sprintf("%d-%d", i, n))
			}
			if k.err != nil {
				t.Errorf("person %d, chat %s: %v", i, p.name, k.err)
				cancel()
			}
		})
	}
	killer := random(t, chats+1)
	for round := range *rounds {
		if _, err := d.base(ctx); err != nil {
			t.Errorf("round %d: %v", round, err)
			break
		}
		// What is cut short three times is given up (behaviour G8): so after
		// each second kill everybody gets to hear something first.
		if round%2 == 0 && !everybody(ctx, talks) {
			break
		}
		wait := time.Duration(20+killer.IntN(400)) * time.Millisecond
		if !pause(ctx, wait) {
			break
		}
		d.kill()
		if !d.reached(ctx, round+2) {
			break
		}
	}
	over.Store(true)
	people.Wait()
	if t.Failed() {
		return
	}
	d.stop()

	db := books(t, dir)
	orders, doubts := reckonAll(t, db, back, talks)
	clean(t, db)
	invariants(t, db)
	t.Logf("%d kills, %d orders, %d of them in doubt", *rounds, orders, doubts)
	if *rounds == 0 && doubts > 0 {
		t.Error("orders are in doubt without a crash")
	}
	if orders < chats {
		t.Errorf("%d orders: that is no load", orders)
	}
}

// reckonAll compares what people heard with what is kept and what the shop was
// told, and counts the orders and those of them that are in doubt.
func reckonAll(t *testing.T, db ledger, back *backend, talks []*talk) (orders, doubts int) {
	t.Helper()
	for _, k := range talks {
		if err := k.reckon(back); err != nil {
			t.Errorf("chat %s: %v", k.name, err)
		}
		checkLog(t, db, k.person)
		doubts += k.doubts
		orders += len(k.claims)
	}
	back.checkKeys(t)
	return orders, doubts
}

// everybody waits until each person has heard something new.
func everybody(ctx context.Context, talks []*talk) bool {
	before := make([]int64, len(talks))
	for i, k := range talks {
		before[i] = k.news.Load()
	}
	for i, k := range talks {
		for k.news.Load() == before[i] {
			if !pause(ctx, time.Millisecond) {
				return false
			}
		}
	}
	return true
}

// scene is one thing that people do, chosen by chance.
func scene(k *talk, r *rand.Rand, ref string) {
	switch r.IntN(10) {
	case 0:
		k.says("hello " + ref)
		k.hears("You said: hello " + ref)
	case 1:
		k.do(func() error { return k.sayTwice("hello twice " + ref) })
		k.hears("You said: hello twice " + ref)
	case 2:
		k.says("first " + ref)
		k.says("second " + ref)
		k.hears("You said: first " + ref)
		k.hears("You said: second " + ref)
	case 3:
		k.says("order " + ref)
		q := k.asked(ref, 2)
		k.pressesTwice(q, "yes")
		k.sees(q, "→ Yes")
		k.hearsOf(ref, 2)
	case 4:
		k.says("order " + ref)
		q := k.asked(ref, 2)
		k.do(func() error { return k.sayTwice("yes") })
		k.sees(q, "→ Yes")
		k.hearsOf(ref, 2)
	case 5:
		k.says("order " + ref)
		q := k.asked(ref, 2)
		if r.IntN(2) == 0 {
			k.presses(q, "no")
		} else {
			k.says("no thanks")
		}
		k.sees(q, "→ No")
		k.hears("Nothing ordered: " + ref + ".")
		k.claims[ref] = nothing
	case 6:
		k.says("order " + ref)
		q := k.asked(ref, 2)
		k.says("make it 5")
		k.sees(q, "")
		q = k.asked(ref, 5)
		k.presses(q, "yes")
		k.sees(q, "→ Yes")
		k.hearsOf(ref, 5)
	case 7:
		impatient(k, ref)
	case 8:
		k.says("order " + ref)
		q := k.asked(ref, 2)
		k.presses(q, "yes")
		k.says("and then " + ref) // while the tool runs
		k.sees(q, "→ Yes")
		k.hearsOf(ref, 2)
		k.hears("You said: and then " + ref)
	case 9:
		k.says("order " + ref)
		q := k.asked(ref, 2)
		k.says("yes")
		k.sees(q, "→ Yes")
		k.hearsOf(ref, 2)
	}
}

// impatient says yes before the question can be seen. Where it had been shown
// by then the yes counts; else it goes to the model (behaviour B27), and
// nothing is ordered.
func impatient(k *talk, ref string) {
	k.says("order " + ref)
	k.says("yes")
	question := fmt.Sprintf("About to: Place order\n• Ref: %s\n• Quantity: 2\nDo you confirm?", ref)
	early := "Nothing ordered. You said: yes"
	switch k.hears(question, early) {
	case early:
		k.claims[ref] = nothing
	case question:
		q := k.events[len(k.events)-1]
		for _, e := range k.events {
			if e.Event == "message" && e.Data.Text == question {
				q = e
			}
		}
		k.do(func() error {
			got, err := k.closed(q)
			switch {
			case err != nil:
			case got == question+"\n→ Yes":
				k.hearsOf(ref, 2)
			case got == question: // it was on its way when the yes came
				k.hears(early)
				k.claims[ref] = nothing
			default:
				return fmt.Errorf("the question was closed as %q", got)
			}
			return err
		})
	}
}
