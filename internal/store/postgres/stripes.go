package postgres

import (
	"context"
	"fmt"
	"hash/maphash"

	"github.com/parley-bot/parley/internal/inbox"
)

// stripes let writes of one lane wait for each other before they have a
// connection. Two lanes may share one.
type stripes struct {
	seed maphash.Seed
	of   [256]chan struct{}
}

func newStripes() stripes {
	s := stripes{seed: maphash.MakeSeed()}
	for i := range s.of {
		s.of[i] = make(chan struct{}, 1)
	}
	return s
}

// enter waits for the lane; leave must be called.
func (s *stripes) enter(ctx context.Context, lane string) (leave func(), err error) {
	if lane == "" {
		return func() {}, nil
	}
	ch := s.of[maphash.String(s.seed, lane)%uint64(len(s.of))]
	select {
	case ch <- struct{}{}:
		return func() { <-ch }, nil
	default:
	}
	select {
	case ch <- struct{}{}:
		return func() { <-ch }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: waiting for the chat's other writes: %w", inbox.ErrUnavailable, context.Cause(ctx))
	}
}
