package app

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/store"
)

// host is what a channel sees of the store: its own account, and chat logs.
type host struct {
	account string
	store   *atomic.Pointer[store.Store]
	hub     *hub
}

var errNotStarted = errors.New("the store isn't open yet")

func (h *host) open() (*store.Store, error) {
	if s := h.store.Load(); s != nil {
		return s, nil
	}
	return nil, errNotStarted
}

// State implements channels.Host.
func (h *host) State() channels.State { return accountState{h} }

// Log implements channels.Host.
func (h *host) Log(ctx context.Context, chat channels.Chat, after int64, limit int) ([]channels.LogEntry, error) {
	s, err := h.open()
	if err != nil {
		return nil, err
	}
	return s.Log(ctx, h.chatKey(chat), after, limit)
}

// Watch implements channels.Host.
func (h *host) Watch(chat channels.Chat) (<-chan struct{}, func()) {
	return h.hub.watch(h.chatKey(chat))
}

func (h *host) chatKey(chat channels.Chat) string { return h.account + ":" + string(chat.ID) }

type accountState struct{ h *host }

// Get implements channels.State.
func (a accountState) Get(ctx context.Context, key string) ([]byte, error) {
	s, err := a.h.open()
	if err != nil {
		return nil, err
	}
	return s.StateGet(ctx, a.h.account, key)
}

// Swap implements channels.State.
func (a accountState) Swap(ctx context.Context, key string, old, value []byte) (bool, error) {
	s, err := a.h.open()
	if err != nil {
		return false, err
	}
	return s.StateSwap(ctx, a.h.account, key, old, value)
}

// hub tells who watches a chat's log that it grew.
type hub struct {
	mu   sync.Mutex
	subs map[string]map[chan struct{}]struct{}
}

func newHub() *hub { return &hub{subs: map[string]map[chan struct{}]struct{}{}} }

func (h *hub) watch(key string) (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subs[key] == nil {
		h.subs[key] = map[chan struct{}]struct{}{}
	}
	h.subs[key][ch] = struct{}{}
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.subs[key], ch)
		if len(h.subs[key]) == 0 {
			delete(h.subs, key)
		}
	}
}

// all signals every watcher.
func (h *hub) all() {
	h.mu.Lock()
	keys := slices.Collect(maps.Keys(h.subs))
	h.mu.Unlock()
	for _, key := range keys {
		h.grew(key)
	}
}

// grew signals without waiting: a watcher that has a signal already will read
// everything.
func (h *hub) grew(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.subs[key] {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
