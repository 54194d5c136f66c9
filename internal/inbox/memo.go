package inbox

import (
	"sync"
	"time"
)

// memo remembers what the store said of a key, so that not every message of a
// burst asks it. What somebody else changes is seen after memoAge: it is for
// what words a notice, not for who may do what.
type memo[K comparable, V any] struct {
	now        func() time.Time
	mu         sync.Mutex
	young, old map[K]known[V]
}

type known[V any] struct {
	value V
	at    time.Time
}

const (
	memoAge = 3 * time.Second
	// maxMemo bounds what is remembered. Past it the half that wasn't set
	// lately is forgotten.
	maxMemo = 20_000
)

func newMemo[K comparable, V any](now func() time.Time) *memo[K, V] {
	return &memo[K, V]{now: now, young: make(map[K]known[V])}
}

func (c *memo[K, V]) get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.young[key]
	if !ok {
		k, ok = c.old[key]
	}
	age := c.now().Sub(k.at)
	return k.value, ok && age >= 0 && age < memoAge
}

func (c *memo[K, V]) set(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= maxMemo/2 {
		c.old, c.young = c.young, make(map[K]known[V])
	}
	c.young[key] = known[V]{value, c.now()}
}
