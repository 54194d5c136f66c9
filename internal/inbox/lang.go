package inbox

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// languages remembers what /lang set, so that not every message asks the
// store. Another replica's /lang is seen after langAge.
type languages struct {
	now        func() time.Time
	mu         sync.Mutex
	young, old map[string]known
}

type known struct {
	lang string
	at   time.Time
}

const (
	langAge  = time.Minute
	maxLangs = 20_000
)

func newLanguages(now func() time.Time) *languages {
	return &languages{now: now, young: make(map[string]known)}
}

func (c *languages) get(lane string) (lang string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.young[lane]
	if !ok {
		k, ok = c.old[lane]
	}
	age := c.now().Sub(k.at)
	return k.lang, ok && age >= 0 && age < langAge
}

func (c *languages) set(lane, lang string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= maxLangs/2 {
		c.old, c.young = c.young, make(map[string]known)
	}
	c.young[lane] = known{lang, c.now()}
}

// language finds the chat's language: what /lang set, else the person's, else
// the bot's. The message keeps it, unless /lang set one.
func (s *sink) language(ctx context.Context, m *message) {
	set, ok := s.langs.get(m.place.Lane)
	if !ok {
		var err error
		if set, err = s.deps.Store.Language(ctx, m.place.Lane); err == nil {
			s.langs.set(m.place.Lane, set)
		} else {
			// It only words notices; what matters fails by itself.
			s.deps.Log.Warn("language of a chat could not be read", "channel", s.channel, "err", err)
		}
	}
	m.lang = s.deps.Texts.Resolve(cmp.Or(set, m.in.From.Lang))
	if set == "" {
		m.in.From.Lang = m.lang
	}
}
