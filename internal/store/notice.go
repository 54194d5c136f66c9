package store

import (
	"context"
	"time"

	"github.com/parley-bot/parley/channels"
)

// Tell queues a message to a chat that answers nobody: what the bot has to say
// by itself, such as an alert. The caller wakes the outbox.
func (s *Store) Tell(ctx context.Context, channel, chatKey string, part channels.Part) error {
	_, err := write(ctx, s, chatKey, func(tx Tx, now time.Time) (none, error) {
		_, err := say(tx, now, channel, chatKey, []channels.Part{part}, saying{})
		return none{}, err
	})
	return err
}
