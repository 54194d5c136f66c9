// Package crash holds the daemon to its promise: nothing lost, nothing twice
// (behaviour G1 to G8, B26, B27), whenever it is killed.
//
// It owns a person (the web chat's API), a backend of tools that counts what
// was done to it, and a daemon that is killed and started again. What they saw
// and what the database says at the end have to agree. It knows the daemon
// from outside only: its API, its signals, and the numbers of its commits.
//
//	go test ./e2e/crash                                  a sample, in a minute
//	go test ./e2e/crash -rounds 40 -all -scale           everything (make crash)
//	go test ./e2e/crash -seed 7                          the same again
package crash

import (
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

var (
	rounds = flag.Int("rounds", 5, "how often TestKill kills the daemon")
	all    = flag.Bool("all", false, "stop at every commit, not at a sample of them")
	scale  = flag.Bool("scale", false, "park 100,000 questions, not a few")
	seed   = flag.Uint64("seed", 0, "of what is random; 0: another one each time")
)

// patience is how long anything may take before a test gives up: far more
// than it needs on a busy machine.
const patience = 60 * time.Second

var errPatience = errors.New("it took too long")

func TestMain(m *testing.M) {
	if mode := os.Getenv(envMode); mode != "" {
		os.Exit(child(mode))
	}
	flag.Parse()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	os.Exit(m.Run())
}

// random is a source of its own for each part of a test.
func random(t *testing.T, part uint64) *rand.Rand {
	t.Helper()
	if part == 0 {
		t.Logf("go test ./e2e/crash -run '^%s$' -seed %d does the same again", t.Name(), *seed)
	}
	return rand.New(rand.NewPCG(*seed, part))
}
