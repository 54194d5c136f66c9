package store

import "sync"

// claims keeps which lanes this process works on, with the fence that each was
// claimed with. Where one process owns the database that is all there is to a
// claim; elsewhere the lane's row has a lease beside it.
type claims struct {
	mu    sync.Mutex
	taken map[string]int64
}

// unfenced is the fence of a claim that is being made.
const unfenced = -1

// take returns false where the lane is taken.
func (c *claims) take(lane string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.taken[lane]; ok {
		return false
	}
	if c.taken == nil {
		c.taken = map[string]int64{}
	}
	c.taken[lane] = unfenced
	return true
}

// fence notes which fence the claim has.
func (c *claims) fence(lane string, fence int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken[lane] = fence
}

func (c *claims) drop(lane string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.taken, lane)
}

func (c *claims) has(lane string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.taken[lane]
	return ok
}

func (c *claims) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.taken)
}

// fenced are the claims that are made, by lane.
func (c *claims) fenced() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[string]int64, len(c.taken))
	for lane, fence := range c.taken {
		if fence != unfenced {
			out[lane] = fence
		}
	}
	return out
}
