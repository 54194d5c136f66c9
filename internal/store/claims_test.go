package store_test

import (
	"fmt"
	"testing"

	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/turn"
)

// A chat that came once must not stay in memory.
func TestClaims_EndWithTheirWork(t *testing.T) {
	t.Parallel()
	s := store.New(openSQLite(t))
	for i := range 100 {
		lane := fmt.Sprint("web:", i)
		d := inbox.Delivery{Place: inbox.Place{Channel: "web", Lane: lane, ChatKey: lane}, DedupeKey: lane, Routed: true}
		if _, err := s.Accept(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		l, ok, err := s.Claim(t.Context(), lane)
		if err != nil || !ok {
			t.Fatalf("claim: %v, %v", ok, err)
		}
		if i%2 == 0 {
			_, err = s.Finish(t.Context(), l, turn.Finish{SeqTo: 1, State: "done"})
		} else {
			err = s.Release(t.Context(), l)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, ok, err := s.Claim(t.Context(), "web:nobody"); ok || err != nil {
			t.Fatalf("claim of nothing: %v, %v", ok, err)
		}
	}
	if n := store.Claimed(s); n != 0 {
		t.Errorf("%d claims are left", n)
	}
}
