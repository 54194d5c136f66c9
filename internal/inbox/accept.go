package inbox

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/parley-bot/parley/channels"
)

// sink accepts for one channel.
type sink struct {
	*Inbox
	channel string
	adapter channels.Adapter
	policy  Policy
}

// message is an inbound with what was found out about it.
type message struct {
	in     channels.Inbound
	place  Place
	key    string
	caps   channels.Capabilities
	lang   string // one that has texts
	routed bool
}

// unavailableFor is when a message may be tried again that the store couldn't
// take.
const unavailableFor = 5 * time.Second

// Accept implements channels.Sink.
func (s *sink) Accept(ctx context.Context, in channels.Inbound) (err error) {
	defer func() {
		if r := recover(); r != nil {
			// What was panicked with may quote the message.
			s.deps.Log.Error("accepting a message panicked", "channel", s.channel, "panic", fmt.Sprintf("%T", r), "stack", string(debug.Stack()))
			s.metrics.inbound(s.channel, outError)
			err = fmt.Errorf("accepting message of channel %s: panic of type %T", s.channel, r)
		}
	}()
	out, err := s.accept(ctx, in)
	if errors.Is(err, ErrUnavailable) {
		err = &channels.RefusedError{Reason: channels.RefusedUnavailable, After: unavailableFor, Err: err}
	}
	refused, ok := errors.AsType[*channels.RefusedError](err)
	switch {
	case err == nil:
		s.metrics.inbound(s.channel, out)
		return nil
	case ok:
		s.metrics.inbound(s.channel, Outcome(refused.Reason))
		if refused.Reason == channels.RefusedUnavailable {
			s.deps.Log.Error("message could not be stored", "channel", s.channel, "err", err)
		}
		return refused
	}
	s.metrics.inbound(s.channel, outError)
	if ctx.Err() == nil {
		s.deps.Log.Error("message could not be accepted", "channel", s.channel, "err", err)
	}
	return fmt.Errorf("accepting message of channel %s: %w", s.channel, err)
}

func (s *sink) accept(ctx context.Context, in channels.Inbound) (Outcome, error) {
	in, err := checked(in)
	if err != nil {
		return "", &channels.RefusedError{Reason: channels.RefusedInvalid, Err: err}
	}
	m := message{in: in, place: s.policy.place(s.channel, in), key: dedupeKey(s.channel, in), routed: s.policy.routed(in)}
	if len(m.key) > maxKey || len(m.place.Lane) > maxKey {
		return "", &channels.RefusedError{Reason: channels.RefusedInvalid, Err: errors.New("the ids are too long together")}
	}
	switch in.Kind {
	case channels.KindPress:
		return s.press(ctx, m)
	case channels.KindEdit:
		return Ignored, nil
	case channels.KindMessage:
	}
	switch known, err := s.letsIn(ctx, in.From.ID); {
	case err != nil:
		return "", err
	case !known:
		return s.stranger(ctx, m)
	case blank(in.Text) && len(in.Media) == 0:
		return "", &channels.RefusedError{Reason: channels.RefusedBlank}
	}
	c, isCommand := parseCommand(in.Text)
	switch {
	case isCommand && in.Chat.Group && (!m.routed || c.named && !in.Mentioned):
		// With a name it is for that bot, and the adapter says whether that
		// is this one.
		return Ignored, nil
	case !isCommand && !m.routed && (blank(in.Text) || len(in.Text) > s.maxBytes()):
		return Ignored, nil
	}
	m.caps = s.adapter.Capabilities(in.Chat)
	s.language(ctx, &m)
	switch {
	case isCommand:
		return s.command(ctx, m, c)
	case len(in.Text) > s.maxBytes():
		return s.tooLarge(ctx, m)
	case blank(in.Text):
		// Nothing reads files yet. An open question stays open.
		return s.notice(ctx, m, outMedia, s.texts().Media(m.lang, in.Media[0].Type))
	default:
		return s.message(ctx, m)
	}
}
