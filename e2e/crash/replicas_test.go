//go:build unix

package crash

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-bot/parley/internal/postgrestest"
)

const (
	replicas = 4
	// sharers is how many people talk to them at the same time.
	sharers = 20
	// breath is what people leave between two scenes while the test waits for
	// leases to run out: it is a minute, beside other tests.
	breath = 400 * time.Millisecond
	// takeover is how long a lease lasts, and some: what a killed process had
	// is nobody's until then.
	takeover = 40 * time.Second
)

// TestReplicas has four processes on one PostgreSQL behind one address, as a
// load balancer would: each request goes to another. Two of them are killed
// under load, the one that sends among them sooner or later (behaviour G1 to
// G5).
func TestReplicas_G3_TwoOfFourAreKilled(t *testing.T) {
	t.Parallel()
	server, bin, back := postgrestest.Own(t), parley(t), newBackend(t)
	url := server.URL(t)
	delays := random(t, 0)
	var mu sync.Mutex
	back.delay = func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(delays.IntN(10_000)) * time.Microsecond
	}
	all := make([]*daemon, replicas)
	for i := range all {
		dir := t.TempDir()
		all[i] = newDaemon(t, 0, func(int) *exec.Cmd {
			cmd := exec.Command(bin, "serve", "-c", configFile)
			cmd.Env = append(os.Environ(), envData+"="+dir, "PARLEY_STORE_URL="+url, envBackend+"="+back.addr)
			return cmd
		})
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience+4*takeover, errPatience)
	defer cancel()
	var turn atomic.Int64
	base := func(ctx context.Context) (string, error) {
		return all[turn.Add(1)%replicas].base(ctx)
	}
	var over, busy atomic.Bool
	busy.Store(true)
	talks := make([]*talk, sharers)
	for i := range talks {
		talks[i] = newTalk(nil)
	}
	var people sync.WaitGroup
	for i := range talks {
		people.Go(func() {
			p, err := newPerson(ctx, t, newClient(t), base)
			if err != nil {
				t.Errorf("person %d: %v", i, err)
				cancel()
				return
			}
			p.look = func() time.Duration {
				if busy.Load() {
					return glance
				}
				return breath
			}
			k := talks[i]
			k.person = p
			r := random(t, uint64(i)+1)
			for n, last := 0, false; k.err == nil && !last; n++ {
				last = over.Load()
				scene(k, r, fmt.Sprintf("%d-%d", i, n))
				if !busy.Load() {
					pause(ctx, breath)
				}
			}
			if k.err != nil {
				t.Errorf("person %d, chat %s: %v", i, p.name, k.err)
				cancel()
			}
		})
	}
	first := random(t, sharers+1).IntN(replicas)
	for n := range 2 {
		if !everybody(ctx, talks) || !pause(ctx, time.Second) {
			break
		}
		all[(first+n)%replicas].kill()
		busy.Store(false)
		everybody(ctx, talks)
		busy.Store(true)
	}
	over.Store(true)
	people.Wait()
	if t.Failed() {
		return
	}
	for _, d := range all {
		d.stop()
	}
	db := sharedBooks(t, url)
	orders, doubts := reckonAll(t, db, back, talks)
	invariants(t, db)
	if left := column(t, db, `SELECT key FROM lane WHERE owner<>''`); len(left) > 0 {
		t.Errorf("lanes with an owner after the end of all: %v", left)
	}
	t.Logf("%d orders, %d of them in doubt", orders, doubts)
	commands(t, bin, url, talks[0].chat)
	if left := column(t, db, `SELECT text FROM log WHERE chat=?1`, talks[0].chat); len(left) > 0 {
		t.Errorf("%d messages of a forgotten chat", len(left))
	}
	if orders < sharers {
		t.Errorf("%d orders: that is no load", orders)
	}
}

// commands work in the database itself.
func commands(t *testing.T, bin, url, chat string) {
	t.Helper()
	for _, args := range [][]string{{"chats"}, {"outbox"}, {"export", chat}, {"senders"}, {"forget", "--yes", chat}} {
		cmd := exec.CommandContext(t.Context(), bin, append(args, "-c", configFile)...)
		cmd.Env = append(os.Environ(), envData+"="+t.TempDir(), "PARLEY_STORE_URL="+url, envBackend+"=127.0.0.1:1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("parley %v: %v\n%s", args, err, out)
		}
		if args[0] == "export" && !bytes.Contains(out, []byte(`"kind":"log"`)) {
			t.Errorf("parley %v: %.500s", args, out)
		}
	}
}
