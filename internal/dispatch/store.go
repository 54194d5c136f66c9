package dispatch

import (
	"context"
	"time"

	"github.com/parley-bot/parley/internal/lease"
)

// Store is what scheduling needs. Each call is one step.
type Store interface {
	// Ready lists lanes that have work and no owner, longest waiting first.
	Ready(ctx context.Context, limit int) ([]string, error)
	// Claim is T1: it takes the lane if it has work and no live owner.
	Claim(ctx context.Context, lane string) (l lease.Lane, ok bool, err error)
	// Release gives a lane back as it is, when its work was broken off.
	// A lost lease is no error.
	Release(ctx context.Context, l lease.Lane) error
	// Expire is T9 for at most limit questions that are over: it tells what
	// it ended and when the next one is due (zero: none pending).
	Expire(ctx context.Context, limit int) (ended []Ended, next time.Time, err error)
	// Renew keeps the leases of this process alive and returns the lanes it
	// has lost. SQLite has nothing to renew.
	Renew(ctx context.Context) (lost []string, err error)
	// Waiting counts lanes that have work, and parked questions.
	Waiting(ctx context.Context) (lanes, questions int, err error)
}

// Ended is a question that expired.
type Ended struct {
	Lane    string
	ChatKey string
	Channel string
	Tool    string
	// More is true where the lane has work now.
	More bool
	// Speak is true where the chat's outbox has something to send now.
	Speak  bool
	Waited time.Duration
}
