package telegram

import (
	"context"
	"time"
)

// SetRest replaces waiting.
func (a *Adapter) SetRest(fn func(ctx context.Context, d time.Duration) error) { a.rest = fn }

// SetNow replaces the clock.
func (a *Adapter) SetNow(fn func() time.Time) { a.now = fn }

// MaxTries is how often an update is offered.
const MaxTries = maxTries
