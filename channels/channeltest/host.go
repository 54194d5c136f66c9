package channeltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/parley-bot/parley/channels"
)

var (
	_ channels.Host  = (*Host)(nil)
	_ channels.State = (*state)(nil)
)

// Host is the core's side of an adapter in memory.
type Host struct {
	state state

	mu       sync.Mutex
	now      func() time.Time
	logs     map[chatKey][]channels.LogEntry
	watchers map[chatKey]map[chan struct{}]bool
	err      error
}

type chatKey struct {
	id     channels.ChatID
	thread channels.ThreadID
}

func keyOf(c channels.Chat) chatKey { return chatKey{c.ID, c.Thread} }

// NewHost makes an empty one.
func NewHost() *Host {
	return &Host{
		state:    state{values: map[string][]byte{}},
		now:      time.Now,
		logs:     map[chatKey][]channels.LogEntry{},
		watchers: map[chatKey]map[chan struct{}]bool{},
	}
}

// Fail makes every later call of State and Log return err; nil ends that.
func (h *Host) Fail(err error) {
	h.mu.Lock()
	h.err = err
	h.mu.Unlock()
	h.state.mu.Lock()
	h.state.err = err
	h.state.mu.Unlock()
}

// State is the account's key/value store.
func (h *Host) State() channels.State { return &h.state }

// Keys lists the keys that State holds, sorted.
func (h *Host) Keys() []string {
	h.state.mu.Lock()
	defer h.state.mu.Unlock()
	return slices.Sorted(maps.Keys(h.state.values))
}

// Append adds to the chat's log as the core does when something was said, and
// wakes who watches. N is set; At is set where it is zero.
func (h *Host) Append(chat channels.Chat, e channels.LogEntry) channels.LogEntry {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := keyOf(chat)
	e.N = int64(len(h.logs[k]) + 1)
	if e.At.IsZero() {
		e.At = h.now()
	}
	if e.ID == "" {
		e.ID = channels.MessageID(fmt.Sprintf("log-%d", e.N))
	}
	h.logs[k] = append(h.logs[k], e)
	for c := range h.watchers[k] {
		select {
		case c <- struct{}{}:
		default: // it has a signal already
		}
	}
	return e
}

// Log reads the chat's log.
func (h *Host) Log(ctx context.Context, chat channels.Chat, after int64, limit int) ([]channels.LogEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return nil, h.err
	}
	all := h.logs[keyOf(chat)]
	from := min(max(after, 0), int64(len(all)))
	to := min(from+int64(max(limit, 0)), int64(len(all)))
	return slices.Clone(all[from:to]), nil
}

// Watch tells when the log of a chat grew.
func (h *Host) Watch(chat channels.Chat) (<-chan struct{}, func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k, c := keyOf(chat), make(chan struct{}, 1)
	if h.watchers[k] == nil {
		h.watchers[k] = map[chan struct{}]bool{}
	}
	h.watchers[k][c] = true
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers[k], c)
	}
}

// Watchers counts who watches a chat.
func (h *Host) Watchers(chat channels.Chat) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watchers[keyOf(chat)])
}

// maxValue is the largest value that channels.State promises to keep.
const maxValue = 64 << 10

type state struct {
	mu     sync.Mutex
	values map[string][]byte
	err    error
}

func (s *state) Get(ctx context.Context, key string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	return slices.Clone(s.values[key]), nil
}

func (s *state) Swap(ctx context.Context, key string, old, value []byte) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return false, s.err
	case key == "":
		return false, errors.New("state: empty key")
	case len(value) > maxValue:
		return false, fmt.Errorf("state: value of %d bytes, limit %d", len(value), maxValue)
	}
	has, known := s.values[key]
	if known != (old != nil) || !bytes.Equal(has, old) {
		return false, nil
	}
	if value == nil {
		delete(s.values, key)
	} else {
		s.values[key] = bytes.Clone(value)
		if s.values[key] == nil { // an empty value is a value
			s.values[key] = []byte{}
		}
	}
	return true, nil
}
