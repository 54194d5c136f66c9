package js

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var errClosed = errors.New("the script was closed")

// acquire takes an idle runtime or makes one; it waits where all are in use.
func (m *Module) acquire(ctx context.Context) (*vm, error) {
	select {
	case m.slots <- struct{}{}:
	default:
		select {
		case m.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		<-m.slots
		return nil, fmt.Errorf("script %s: %w", m.src.path, errClosed)
	}
	if n := len(m.idle); n > 0 {
		v := m.idle[n-1]
		m.idle = m.idle[:n-1]
		m.mu.Unlock()
		return v, nil
	}
	m.mu.Unlock()
	v, err := newVM(ctx, m)
	if err != nil {
		<-m.slots
		return nil, err
	}
	return v, nil
}

// release gives a runtime back, or closes one that can't be trusted with
// another call.
func (m *Module) release(v *vm) {
	m.mu.Lock()
	if v.spoiled || m.closed {
		m.mu.Unlock()
		v.close()
	} else {
		v.used = time.Now()
		m.idle = append(m.idle, v)
		if m.shrink == nil {
			m.shrink = time.AfterFunc(m.opts.IdleAfter, m.shrinkIdle)
		}
		m.mu.Unlock()
	}
	<-m.slots
}

// shrinkIdle closes the runtimes that were not used for a while.
func (m *Module) shrinkIdle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for n < len(m.idle) && time.Since(m.idle[n].used) >= m.opts.IdleAfter {
		n++
	}
	m.closeIdle(n)
	m.shrink = nil
	if len(m.idle) > 0 {
		wait := m.opts.IdleAfter - time.Since(m.idle[0].used)
		m.shrink = time.AfterFunc(max(wait, time.Millisecond), m.shrinkIdle)
	}
}

// closeIdle closes the n least recently used runtimes. m.mu is held: an idle
// runtime is nobody's, and closing takes well below a millisecond.
func (m *Module) closeIdle(n int) {
	for _, v := range m.idle[:n] {
		v.close()
	}
	m.idle = append([]*vm(nil), m.idle[n:]...)
}
