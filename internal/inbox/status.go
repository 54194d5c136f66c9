package inbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-bot/parley/channels"
)

var _ channels.StatusSink = (*sink)(nil)

// stateUnknown counts failures of messages that aren't known, or that were
// told before.
const stateUnknown = "unknown"

// Status implements channels.StatusSink. That a message arrived or was read is
// only counted; that it failed is the truth of its entry in the outbox from
// then on, whatever Send had said.
func (s *sink) Status(ctx context.Context, u channels.StatusUpdate) error {
	switch u.State {
	case channels.Delivered, channels.Read:
		s.metrics.deliveries.WithLabelValues(s.channel, string(u.State)).Inc()
		return nil
	case channels.Undelivered:
		return s.undelivered(ctx, u)
	default:
		return nil
	}
}

func (s *sink) undelivered(ctx context.Context, u channels.StatusUpdate) error {
	cause := error(u.Err)
	if u.Err == nil {
		cause = errors.New("the platform did not say why")
	}
	if !sound(string(u.Chat.ID), maxID) || !sound(string(u.ID), maxID) || !sound(u.Key, maxKey) {
		s.metrics.deliveries.WithLabelValues(s.channel, stateUnknown).Inc()
		return nil // of no message of ours
	}
	place := Place{Channel: s.channel, ChatKey: s.channel + ":" + string(u.Chat.ID), Chat: u.Chat}
	acc, known, err := s.deps.Store.DeliveryFailed(ctx, Undelivered{
		Channel: s.channel, ChatKey: place.ChatKey, ID: u.ID, Key: u.Key, Cause: tidy(cause.Error(), maxCause),
	})
	if err != nil {
		err = fmt.Errorf("saving that a message of channel %s did not arrive: %w", s.channel, err)
		if errors.Is(err, ErrUnavailable) {
			err = &channels.RefusedError{Reason: channels.RefusedUnavailable, After: unavailableFor, Err: err}
		}
		if ctx.Err() == nil {
			s.deps.Log.Error("report of a failed delivery could not be saved", "channel", s.channel, "err", err)
		}
		return err
	}
	if !known {
		s.metrics.deliveries.WithLabelValues(s.channel, stateUnknown).Inc()
		s.deps.Log.Debug("failed delivery of an unknown message", "channel", s.channel, "message", u.ID, "err", cause)
		return nil
	}
	s.metrics.deliveries.WithLabelValues(s.channel, string(channels.Undelivered)).Inc()
	s.deps.Log.Error("message was taken by the platform and not delivered", "channel", s.channel, "chat", place.ChatKey,
		"message", u.ID, "class", classOf(u.Err), "err", cause)
	s.done(place, acc)
	return nil
}

// maxCause is the longest cause that is kept, in bytes.
const maxCause = 300

func classOf(e *channels.SendError) channels.SendClass {
	if e == nil {
		return channels.Unknown
	}
	return e.Class
}
