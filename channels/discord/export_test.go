package discord

import (
	"context"
	"time"
)

// SetWait replaces waiting.
func (a *Adapter) SetWait(fn func(ctx context.Context, d time.Duration) error) { a.wait = fn }

// SetNow replaces the clock.
func (a *Adapter) SetNow(fn func() time.Time) { a.now = fn }

// Nonce is what a key becomes.
func Nonce(key string) string { return nonce(key) }
