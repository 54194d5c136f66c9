package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-bot/parley/channels"
)

// ErrNoPairing says that a channel isn't linked by a person's device, or isn't
// there.
var ErrNoPairing = errors.New("nothing to pair")

// Pair links a channel to an account: show gets each code as it becomes good.
// phone is "" for codes to scan, else the number that gets a code to type. An
// ErrNoPairing is the caller's mistake.
func (b *Bot) Pair(ctx context.Context, name, phone string, show func(code string)) error {
	for _, in := range b.adapters {
		if in.name != name {
			continue
		}
		p, ok := in.adapter.(channels.Pairer)
		if !ok {
			return fmt.Errorf("channel %s (%s): %w: it needs no device", name, in.kind, ErrNoPairing)
		}
		if err := p.Pair(ctx, phone, show); err != nil {
			return fmt.Errorf("channel %s: %w", name, err)
		}
		return nil
	}
	all := b.Channels()
	slices.Sort(all)
	return fmt.Errorf("channel %s is not configured (there are %s): %w", name, strings.Join(all, ", "), ErrNoPairing)
}
