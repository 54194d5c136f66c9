package tooltest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/parley-bot/parley/internal/tool"
)

// Store is a tool.Store in memory that commits writes as the real ones do.
type Store struct {
	mu   sync.Mutex
	rows map[row]entry
	err  error
}

type row struct {
	scope tool.Scope
	key   string
}

type entry struct {
	value   json.RawMessage
	version int64
}

var _ tool.Store = (*Store)(nil)

// NewStore makes an empty one.
func NewStore() *Store { return &Store{rows: map[row]entry{}} }

// FailWith makes every read fail from now on; nil ends that.
func (s *Store) FailWith(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Get reads a key: nil and the version of its last write, 0 if there was none.
func (s *Store) Get(_ context.Context, scope tool.Scope, key string) (json.RawMessage, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.rows[row{scope, key}]
	return slices.Clone(e.value), e.version, s.err
}

// List gives the keys that have a value, sorted.
func (s *Store) List(_ context.Context, scope tool.Scope, prefix string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for r, e := range s.rows {
		if r.scope == scope && e.value != nil && strings.HasPrefix(r.key, prefix) {
			keys = append(keys, r.key)
		}
	}
	slices.Sort(keys)
	return keys[:min(len(keys), 1000)], s.err
}

// Commit applies the writes of a result, all or none: false where a version
// isn't what the call had read.
func (s *Store) Commit(writes []tool.Write) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range writes {
		if w.IfVersion != nil && s.rows[row{w.Scope, w.Key}].version != *w.IfVersion {
			return false
		}
	}
	for _, w := range writes {
		r := row{w.Scope, w.Key}
		s.rows[r] = entry{slices.Clone(w.Value), s.rows[r].version + 1}
	}
	return true
}
