package whatsappweb

import (
	"context"
	"time"
)

// SetRest replaces how the adapter waits.
func (a *Adapter) SetRest(fn func(ctx context.Context, d time.Duration) error) { a.rest = fn }

// SetReadTime replaces how long the adapter waits for what a server said last,
// where it said nothing.
func (a *Adapter) SetReadTime(d time.Duration) { a.readTime = d }
