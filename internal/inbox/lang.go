package inbox

import (
	"cmp"
	"context"
)

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
	m.lang = s.texts().Resolve(cmp.Or(set, m.in.From.Lang))
	if set == "" {
		m.in.From.Lang = m.lang
	}
}
