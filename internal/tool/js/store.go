package js

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-bot/parley/internal/tool"
)

// Bounds of ctx.store in one call.
const (
	maxKey    = 512
	maxValue  = 256 << 10
	maxWrites = 1000
	maxStored = 4 << 20
	maxKeys   = 1000
)

// buffer holds a call's writes until its result is committed.
type buffer struct {
	call   tool.Call
	mask   func(string) string
	writes map[slot]*tool.Write
	order  []slot
	size   int
}

type slot struct {
	scope tool.Scope
	key   string
}

func newBuffer(call tool.Call, mask func(string) string) *buffer {
	return &buffer{call: call, mask: mask, writes: map[slot]*tool.Write{}}
}

// at finds the key space that the script named; the identity is the channel's,
// never the script's. A secret in a key is masked wherever the key is used.
func (b *buffer) at(kind, key string) (slot, error) {
	if b.call.Store == nil {
		return slot{}, errors.New("ctx.store: there is no store here")
	}
	if len(key) > maxKey {
		return slot{}, fmt.Errorf("ctx.store: the key is longer than %d bytes", maxKey)
	}
	id := b.call.Identity
	var name string
	switch kind {
	case "user":
		if id.UserID == "" {
			return slot{}, errors.New("ctx.store.user: this call is made for no user")
		}
		name = id.UserID
	case "chat":
		if id.ChatKey == "" {
			return slot{}, errors.New("ctx.store: this call is made for no chat; use ctx.store.bot")
		}
		name = id.ChatKey
	}
	return slot{tool.ScopeOf(kind, id.Channel, name), b.mask(key)}, nil
}

// get reads a key, "" where there is none, the call's own writes first.
func (r *run) get(kind, key string, forUpdate bool) (string, error) {
	s, err := r.store.at(kind, key)
	if err != nil {
		return "", err
	}
	if w, ok := r.store.writes[s]; ok {
		return string(w.Value), nil
	}
	value, version, err := r.store.call.Store.Get(r.ctx, s.scope, s.key)
	if err != nil {
		return "", r.storeFailed(err)
	}
	if forUpdate {
		if err := r.store.reserve(s, value, version); err != nil {
			return "", err
		}
	}
	return string(value), nil
}

// storeFailed notes a failure of the store itself: it is the operator's.
func (r *run) storeFailed(err error) error {
	if r.operator == nil && r.ctx.Err() == nil {
		r.operator = fmt.Errorf("read ctx.store: %w", err)
	}
	return errors.New("ctx.store: the store can't be read")
}

// reserve notes the version that an update is based on.
func (b *buffer) reserve(s slot, value json.RawMessage, version int64) error {
	if len(b.writes) >= maxWrites {
		return fmt.Errorf("ctx.store: more than %d keys written in one call", maxWrites)
	}
	b.writes[s] = &tool.Write{Scope: s.scope, Key: s.key, Value: value, IfVersion: &version}
	b.order = append(b.order, s)
	return nil
}

// set buffers a write; a nil value deletes. The last one of a key counts, with
// the version that an update of it was based on.
func (b *buffer) set(kind, key string, value json.RawMessage) error {
	s, err := b.at(kind, key)
	if err != nil {
		return err
	}
	if len(value) > maxValue {
		return fmt.Errorf("ctx.store: the value of %q is larger than %d bytes", key, maxValue)
	}
	w, ok := b.writes[s]
	if !ok {
		if len(b.writes) >= maxWrites {
			return fmt.Errorf("ctx.store: more than %d keys written in one call", maxWrites)
		}
		w = &tool.Write{Scope: s.scope, Key: s.key}
		b.writes[s] = w
		b.order = append(b.order, s)
	}
	if b.size += len(value) - len(w.Value); b.size > maxStored {
		return fmt.Errorf("ctx.store: more than %d bytes written in one call", maxStored)
	}
	w.Value = value
	return nil
}

// list merges the saved keys with the call's own writes.
func (r *run) list(kind, prefix string) (string, error) {
	s, err := r.store.at(kind, prefix)
	if err != nil {
		return "", err
	}
	prefix = s.key
	keys, err := r.store.call.Store.List(r.ctx, s.scope, prefix)
	if err != nil {
		return "", r.storeFailed(err)
	}
	for at, w := range r.store.writes {
		if at.scope != s.scope || !strings.HasPrefix(at.key, prefix) {
			continue
		}
		keys = slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == at.key })
		if w.Value != nil {
			keys = append(keys, at.key)
		}
	}
	slices.Sort(keys)
	if keys == nil {
		keys = []string{}
	}
	out, err := json.Marshal(keys[:min(len(keys), maxKeys)])
	return string(out), err
}

// result are the writes in the order of their keys' first change.
func (b *buffer) result() []tool.Write {
	out := make([]tool.Write, 0, len(b.order))
	for _, s := range b.order {
		out = append(out, *b.writes[s])
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
