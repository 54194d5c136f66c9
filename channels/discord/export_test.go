package discord

import (
	"context"
	"time"
)

// SetWait replaces waiting.
func (a *Adapter) SetWait(fn func(ctx context.Context, d time.Duration) error) { a.wait = fn }

// SetNow replaces the clock.
func (a *Adapter) SetNow(fn func() time.Time) { a.now = fn }

// SetHandshake replaces the time that Discord has for each step until events
// come.
func (a *Adapter) SetHandshake(d time.Duration) { a.handshake = d }

// RegisterCommands sets the slash commands, if they changed.
func (a *Adapter) RegisterCommands(ctx context.Context) { a.registerCommands(ctx) }

// Nonce is what a key becomes.
func Nonce(key string) string { return nonce(key) }
