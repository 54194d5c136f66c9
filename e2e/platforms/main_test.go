// Package platforms holds the whole bot, with the adapters and the SDKs in
// between, to what people see on each platform: one conversation for all of
// them, presses while the model is slow, platforms that are away for a while,
// and secrets that must not show.
//
// It owns a person's view of each platform's fake, a gate in front of the
// fake that records, refuses and meddles, a model that goes by rules, and the
// table in docs/channels.md. It owns no platform: their fakes live beside the
// adapters, and differ here by channels.Capabilities only.
//
//	go test ./e2e/platforms
//	go test ./e2e/platforms -run Channels -update    writes docs/channels.md
//
// PARLEY_SPECS names a folder with the platforms' own machine-readable
// documents; every call of the conversation is held to them then.
package platforms

import (
	"context"
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/parley-bot/parley/internal/postgrestest"
)

var update = flag.Bool("update", false, "write docs/channels.md anew")

// patience is how long anything may take before a test gives up: far more
// than it needs on a busy machine.
const patience = time.Minute

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		// The tests wait for a platform or the bot most of the time.
		_ = flag.Set(f.Name, strconv.Itoa(max(8, 4*runtime.GOMAXPROCS(0))))
	}
	os.Exit(postgrestest.Main(m))
}

// until looks again and again until cond holds; false is that it never did.
func until(ctx context.Context, cond func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return cond()
		}
	}
	return true
}
