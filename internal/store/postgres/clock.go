package postgres

import (
	"fmt"
	"strconv"
	"sync"
	"time"
)

// serverTime is the server's clock in microseconds, whatever a transaction
// began at.
const serverTime = `(extract(epoch from clock_timestamp())*1000000)::bigint`

// clock follows the server's. In between it goes by this machine's monotonic
// clock, so that setting the machine's time moves no lease.
type clock struct {
	mu     sync.RWMutex
	base   time.Time // of this machine
	server time.Time // at base
}

// set notes what the server said when it was asked at asked.
func (c *clock) set(asked, server time.Time) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	// It was that time at some moment since: the middle is the best guess.
	c.base, c.server = asked.Add(now.Sub(asked)/2), server
}

func (c *clock) now() time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.server.Add(time.Since(c.base))
}

// micros reads a column that has serverTime.
func micros(row []string, i int) (time.Time, error) {
	if len(row) <= i {
		return time.Time{}, fmt.Errorf("the server's answer has %d columns", len(row))
	}
	n, err := strconv.ParseInt(row[i], 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the server's clock: %w", err)
	}
	return time.UnixMicro(n), nil
}
