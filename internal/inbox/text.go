package inbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/locale"
	"github.com/parley-bot/parley/internal/render"
)

// message hands a text, perhaps a caption, to the store.
func (s *sink) message(ctx context.Context, m message) (Outcome, error) {
	d := Delivery{
		Place: m.place, DedupeKey: m.key, In: m.in, Answers: true, Class: s.rules.Load().Words.Classify(m.in.Text),
		Routed: m.routed, QueueMax: s.rules.Load().QueueMax, Refuse: m.caps.Refuses,
	}
	var t taken
	if m.routed {
		t = s.limits.take(s.channel, m.in.From.ID)
		d.OverRate = t.over
	}
	// Notices are for channels that can't refuse. The queue's is made in any
	// case: only the commit knows whether it is due.
	if m.routed && !d.Refuse {
		if t.first {
			d.RateNotice = s.say(m, locale.LimitRate)
		}
		if d.QueueMax > 0 {
			d.QueueNotice = s.say(m, locale.LimitQueue)
		}
	}
	acc, err := s.deps.Store.Accept(ctx, d)
	if err != nil {
		s.limits.undo(t)
		if refused, ok := errors.AsType[*channels.RefusedError](err); ok && refused.Reason == channels.RefusedRate {
			return "", &channels.RefusedError{Reason: channels.RefusedRate, After: t.left, Err: refused.Err}
		}
		return "", err
	}
	if acc.Outcome == Duplicate || acc.Outcome == AnsweredQuestion {
		s.limits.undo(t)
	}
	s.done(m.place, acc)
	return acc.Outcome, nil
}

// tooLarge is for a text over the limit: refused where the sender sees that.
func (s *sink) tooLarge(ctx context.Context, m message) (Outcome, error) {
	if m.caps.Refuses {
		err := fmt.Errorf("%d bytes, at most %d", len(m.in.Text), s.maxBytes())
		return "", &channels.RefusedError{Reason: channels.RefusedTooLarge, Err: err}
	}
	m.in.Text = "" // not kept: it is what is too large
	return s.notice(ctx, m, outTooLarge, s.texts().Text(m.lang, locale.LimitTooLarge))
}

// notice takes a message and answers it at once, without a turn. It counts for
// the person's rate, past which there is nothing but the one notice of that.
func (s *sink) notice(ctx context.Context, m message, out Outcome, text string) (Outcome, error) {
	t := s.limits.take(s.channel, m.in.From.ID)
	if t.over {
		if m.caps.Refuses {
			s.limits.undo(t)
			return "", &channels.RefusedError{Reason: channels.RefusedRate, After: t.left}
		}
		if !t.first {
			return OverRate, nil
		}
		out, text = OverRate, s.texts().Text(m.lang, locale.LimitRate)
	}
	acc, err := s.deps.Store.Command(ctx, Command{Place: m.place, DedupeKey: m.key, In: m.in, Action: ActSay, Say: s.parts(m, text)})
	if err != nil {
		s.limits.undo(t)
		return "", err
	}
	if acc.Outcome == Duplicate {
		s.limits.undo(t)
		out = Duplicate
	}
	s.done(m.place, acc)
	return out, nil
}

func (s *sink) say(m message, key string, args ...locale.Arg) []channels.Part {
	return s.parts(m, s.texts().Text(m.lang, key, args...))
}

// parts renders a text for the message's chat.
func (s *sink) parts(m message, text string) []channels.Part {
	rendered := render.Text(text, m.caps)
	out := make([]channels.Part, len(rendered))
	for i, r := range rendered {
		out[i] = channels.Part{Chat: m.in.Chat, Text: r.Text, Markup: r.Markup, Plain: r.Plain}
	}
	return out
}
