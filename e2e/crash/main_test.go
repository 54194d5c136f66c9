//go:build unix

// Package crash holds the daemon to its promise: nothing lost, nothing twice
// (behaviour G1 to G8, B26, B27), whenever it is killed.
//
// It owns a person (the web chat's API), a backend of tools that counts what
// was done to it, and a daemon that is killed and started again. What they saw
// and what the database says at the end have to agree. It knows the daemon
// from outside only: its API, its signals, and the numbers of its commits.
//
//	go test ./e2e/crash                     in half a minute
//	go test ./e2e/crash -every 5            in less
//	go test ./e2e/crash -rounds 40 -scale   in some minutes (make crash)
package crash

import (
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"
)

var (
	rounds = flag.Int("rounds", 5, "how often TestKill kills the daemon")
	every  = flag.Int64("every", 1, "stop at every n-th commit, from one that the seed chooses")
	scale  = flag.Bool("scale", false, "park 100,000 questions, not a few")
	seed   = flag.Uint64("seed", 0, "of what is random; 0: another one each time")
)

// patience is how long anything may take before a test gives up: far more
// than it needs on a busy machine.
const patience = 2 * time.Minute

var errPatience = errors.New("it took too long")

func TestMain(m *testing.M) {
	if mode := os.Getenv(envMode); mode != "" {
		os.Exit(child(mode))
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		// The tests wait for other processes and for the disk most of the time.
		_ = flag.Set(f.Name, strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	}
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	os.Exit(m.Run())
}

// random is a source of its own for each part of a test.
func random(t *testing.T, part uint64) *rand.Rand {
	t.Helper()
	if part == 0 {
		t.Logf("go test ./e2e/crash -run '^%s$' -seed %d makes the same choices again", t.Name(), *seed)
	}
	return rand.New(rand.NewPCG(*seed, part))
}
