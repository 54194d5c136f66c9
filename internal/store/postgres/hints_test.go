package postgres

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/parley-bot/parley/internal/store"
)

// hear waits for a hint of a kind.
func hear(t *testing.T, heard <-chan store.Hint, kind store.HintKind) store.Hint {
	t.Helper()
	for {
		select {
		case h := <-heard:
			if h.Kind == kind {
				return h
			}
		case <-t.Context().Done():
			t.Fatal("the test has ended")
		}
	}
}

func TestHints_ReachOtherProcesses(t *testing.T) {
	t.Parallel()
	all, _ := processes(t, 2)
	heard, own := make(chan store.Hint, 10_000), make(chan store.Hint, 10_000)
	var listening sync.WaitGroup
	listening.Go(func() { all[1].Hints(t.Context(), func(h store.Hint) { heard <- h }) })
	listening.Go(func() { all[0].Hints(t.Context(), func(h store.Hint) { own <- h }) })
	t.Cleanup(listening.Wait)
	hear(t, heard, store.HintAll) // it listens
	hear(t, own, store.HintAll)

	want := store.Hint{Kind: store.HintChat, Key: `web:"ana" ✓`, Channel: "web"}
	all[0].Hint(want)
	if got := hear(t, heard, store.HintChat); got != want {
		t.Errorf("heard %+v, want %+v", got, want)
	}
	// Many fit in several messages; too many, or too long ones, are told of at
	// large.
	for i := range 500 {
		all[0].Hint(store.Hint{Kind: store.HintLane, Key: fmt.Sprint("web:", strings.Repeat("\x01", i%50), i)})
	}
	seen := map[string]bool{}
	for len(seen) < 500 {
		seen[hear(t, heard, store.HintLane).Key] = true
	}
	all[0].Hint(store.Hint{Kind: store.HintLog, Key: strings.Repeat("long", 5000)})
	hear(t, heard, store.HintAll)
	if packed := all[0].db.hints.payloads(crowd(2 * hintMax)); len(packed) != 1 || len(packed[0]) > 100 {
		t.Errorf("%d messages for a crowd", len(packed))
	}
	for _, payload := range all[0].db.hints.payloads(crowd(hintMax)) {
		if len(payload) >= 8000 {
			t.Errorf("a message of %d bytes", len(payload))
		}
	}
	// A process doesn't hear itself.
	all[1].Hint(store.Hint{Kind: store.HintCut, Key: "last"})
	for h := range own {
		if h.Kind == store.HintCut {
			break
		}
		t.Errorf("heard its own %+v", h)
	}
}

func crowd(n int) map[store.Hint]struct{} {
	all := map[store.Hint]struct{}{}
	for i := range n {
		all[store.Hint{Kind: store.HintLane, Key: fmt.Sprint("web:", i)}] = struct{}{}
	}
	return all
}
