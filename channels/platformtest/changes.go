package platformtest

import (
	"context"
	"fmt"
	"sync"
)

// Changes lets others wait for what happens to a fake. The zero value works.
type Changes struct {
	mu   sync.Mutex
	next chan struct{} // nil: nobody waits
}

// Signal says that something changed.
func (c *Changes) Signal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
}

// Next is closed at the next change. Whoever takes it before looking misses
// none.
func (c *Changes) Next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = make(chan struct{})
	}
	return c.next
}

// Wait waits until cond holds; it is asked at every change. cond may call any
// method of the fake that reads.
func (c *Changes) Wait(ctx context.Context, cond func() bool) error {
	for {
		changed := c.Next()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the bot: %w", context.Cause(ctx))
		}
	}
}
