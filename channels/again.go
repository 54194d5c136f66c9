package channels

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Rest waits for d, or less if ctx ends, whose error it then returns.
func Rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// BackOff is the n-th wait before an adapter tries again, from 1: half a second
// doubled up to most, less up to a quarter by chance.
func BackOff(n int, most time.Duration) time.Duration {
	const first = 500 * time.Millisecond
	d := most
	if n < 8 {
		d = min(most, first<<max(n-1, 0))
	}
	return d - rand.N(d/4)
}

// Put sets a key of an adapter's state to value whatever it held, by
// compare-and-set so that a store shared with others sees one order.
func Put(ctx context.Context, s State, key string, value []byte) error {
	for range 5 {
		old, err := s.Get(ctx, key)
		if err != nil {
			return fmt.Errorf("reading %s: %w", key, err)
		}
		if string(old) == string(value) && old != nil {
			return nil
		}
		ok, err := s.Swap(ctx, key, old, value)
		if err != nil {
			return fmt.Errorf("saving %s: %w", key, err)
		}
		if ok {
			return nil
		}
	}
	return fmt.Errorf("saving %s: others keep changing it", key)
}
