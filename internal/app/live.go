package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/parley-bot/parley/channels"
)

// liveTimeout bounds one harmless call to a platform or a model's API.
const liveTimeout = 15 * time.Second

// CheckLive makes one harmless call to each platform, each MCP server and each
// model's API that has such a call, and tells of each. All are tried; the error joins those that
// failed.
func (b *Bot) CheckLive(ctx context.Context, tell func(line string)) error {
	var errs []error
	for _, in := range b.adapters {
		c, ok := in.adapter.(channels.Checker)
		if !ok {
			continue
		}
		account, err := b.checkChannel(ctx, c)
		if err != nil {
			errs = append(errs, fmt.Errorf("channel %s: %w", in.name, err))
			continue
		}
		tell(fmt.Sprintf("channel %s: ok, %s", in.name, account))
	}
	if err := b.checkMCP(ctx, tell); err != nil {
		errs = append(errs, err)
	}
	if err := CheckModels(ctx, b.models, b.tools.registry.Len() > 0); err != nil {
		errs = append(errs, err)
	} else {
		tell("models: ok")
	}
	for _, name := range slices.Sorted(maps.Keys(b.tools.sources)) {
		if err := b.ping(ctx, name); err != nil {
			errs = append(errs, fmt.Errorf("data source %s: %w", name, err))
			continue
		}
		tell(fmt.Sprintf("data source %s: ok", name))
	}
	return errors.Join(errs...)
}

func (b *Bot) ping(ctx context.Context, source string) error {
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	return b.tools.sources[source].Ping(ctx)
}

func (b *Bot) checkChannel(ctx context.Context, c channels.Checker) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	return c.Check(ctx)
}
