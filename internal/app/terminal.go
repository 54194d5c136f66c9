package app

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/console"
)

// terminalName is the channel of parley chat.
const terminalName = "console"

// Terminal makes the bot talk on opts.In and opts.Out only. done gives, once
// the bot was built, what is closed when the input has ended and everything
// was answered.
func Terminal(opts *Options) (done func() <-chan struct{}) {
	var adapter *console.Adapter
	opts.Only, opts.Apart = []string{""}, true // none of the configured channels
	opts.Channels = map[string]func(channelEnv) (channels.Adapter, error){
		terminalName: func(env channelEnv) (channels.Adapter, error) {
			a, err := makeConsole(terminalName, env)
			adapter = a
			return a, err
		},
	}
	return func() <-chan struct{} { return adapter.Done() }
}

func makeConsole(name string, env channelEnv) (*console.Adapter, error) {
	a, err := console.New(console.Config{
		In: env.opts.In, Out: env.opts.Out, Interactive: env.opts.Terminal, Bot: env.cfg.Bot.Name,
		Turn: func(ctx context.Context) error {
			if env.opts.Terminal {
				return nil // a person decides when to go on
			}
			return env.host.settled(ctx, channels.Chat{ID: console.ChatID})
		},
	}, console.Deps{Log: env.log, Name: name})
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", name, err)
	}
	return a, nil
}

// settled returns when the chat has no work and nothing to be said.
func (h *host) settled(ctx context.Context, chat channels.Chat) error {
	grown, stop := h.Watch(chat)
	defer stop()
	// The log grows before its entry counts as sent, and a turn may end
	// without a word: so look again now and then.
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		s, err := h.open()
		if err != nil {
			return err
		}
		if idle, err := s.Idle(ctx, h.chatKey(chat)); err != nil || idle {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-grown:
		case <-tick.C:
		}
	}
}
