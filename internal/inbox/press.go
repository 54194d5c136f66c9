package inbox

import (
	"context"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/locale"
)

// press lets a button answer. The adapter acknowledges it once: with its
// outcome right after the commit, or bare where that takes over a second.
// Where the store fails it isn't acknowledged, so that the next delivery of
// the same press can be, with what becomes of it.
func (s *sink) press(ctx context.Context, m message) (Outcome, error) {
	ack := s.acker(ctx, m.in)
	defer ack.over()
	known, err := s.letsIn(ctx, m.in.From.ID)
	if err != nil {
		return "", err
	}
	if !known {
		ack.give(s.pressAck(ctx, m, NotYours))
		return Ignored, nil
	}
	acc, err := s.deps.Store.Accept(ctx, Delivery{Place: m.place, DedupeKey: m.key, In: m.in, Routed: m.routed})
	if err != nil {
		return "", err
	}
	ack.give(s.pressAck(ctx, m, acc.Outcome))
	s.done(m.place, acc)
	return acc.Outcome, nil
}

func (s *sink) pressAck(ctx context.Context, m message, out Outcome) channels.PressAck {
	switch out {
	case AnsweredQuestion:
		return channels.PressAck{Outcome: channels.PressAccepted}
	case NotYours:
		s.language(ctx, &m)
		return channels.PressAck{Outcome: channels.PressNotYours, Notice: s.texts().Text(m.lang, locale.NotYours)}
	default:
		return channels.PressAck{Outcome: channels.PressStale}
	}
}
