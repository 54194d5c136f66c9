package app

import (
	"context"
	"errors"

	"github.com/parley-bot/parley/internal/config"
)

// Mistakes adds to what config.Load found wrong what making a bot of the rest
// finds: what scripts, expressions and rules say. So all of it is told at once,
// as far as one mistake doesn't hide another.
func Mistakes(ctx context.Context, err error, opts Options) error {
	rest := config.Rest(err)
	if rest == nil {
		return err
	}
	opts.Partial = true
	bot, more := Build(ctx, rest, opts)
	if more == nil {
		more = bot.Close(ctx)
	}
	return errors.Join(err, more)
}
