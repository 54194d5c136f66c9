package whatsappweb

import (
	"context"
	"time"
)

// SetRest replaces how the adapter waits.
func (a *Adapter) SetRest(fn func(ctx context.Context, d time.Duration) error) { a.rest = fn }
