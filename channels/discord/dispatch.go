package discord

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/parley-bot/parley/channels"
)

// maxTries is how often an event is offered to a core that fails at it, not for
// want of its store: some nine minutes.
const maxTries = 25

// dispatch takes an event. It only queues: what the core does with it comes
// later, in the channel's order.
func (g *gateway) dispatch(ctx context.Context, kind string, seq int64, d json.RawMessage) error {
	if kind == "READY" {
		return g.onReady(ctx, seq, d)
	}
	e := g.begin(seq)
	switch kind {
	case "RESUMED":
		g.link.Set(channels.LinkUp, "")
		g.log.Info("gateway session resumed")
		g.setUp()
	case "GUILD_CREATE":
		return g.onGuild(e, d)
	case "GUILD_DELETE":
		var left struct {
			ID   string `json:"id"`
			Away bool   `json:"unavailable"`
		}
		if json.Unmarshal(d, &left) == nil && !left.Away {
			g.guild(left.ID) // nothing of it will come
		}
	case "GUILD_ROLE_UPDATE", "GUILD_MEMBER_UPDATE": // of the bot's own, without the intent for others
		g.brake.release("")
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		var c listed
		if json.Unmarshal(d, &c) == nil && c.ID != "" {
			g.brake.release(c.ID)
		}
	case "MESSAGE_CREATE", "MESSAGE_UPDATE":
		return g.onMessage(e, kind == "MESSAGE_UPDATE", d)
	case "INTERACTION_CREATE":
		return g.onInteraction(ctx, e, d)
	}
	g.finish(e, 0)
	return nil
}

func (g *gateway) onMessage(e *entry, changed bool, d json.RawMessage) error {
	var m incoming
	if err := json.Unmarshal(d, &m); err != nil {
		g.log.Error("message can't be read and is skipped", "err", err)
		g.finish(e, 0)
		return nil
	}
	seen := snowflake(m.ID)
	if changed {
		seen = 0
	}
	if m.GuildID == "" && m.ChannelID != "" {
		g.direct(m.ChannelID)
		g.brake.release(m.ChannelID) // who writes can be written to
	}
	in, ok := g.translate(&m, changed)
	if !ok {
		// After what is before it in its channel is done, as finish sees to.
		g.finish(e, seen)
		return nil
	}
	return g.queue(in.Chat.ID, func(ctx context.Context) {
		if _, err := g.takeOne(ctx, in); err == nil {
			g.finish(e, seen)
		}
	})
}

// translate makes an Inbound of a message, and tells of one without its text.
func (g *gateway) translate(m *incoming, changed bool) (channels.Inbound, bool) {
	me := g.known()
	if !changed && *g.cfg.MessageContent && m.bare() && m.Author != nil && !m.Author.Bot && m.WebhookID == "" && !g.textless.Swap(true) {
		g.log.Warn("messages come without their text: is the message content intent on in the developer portal (Bot, Privileged Gateway Intents)?")
	}
	if changed {
		return m.edit(me, g.roles())
	}
	return m.inbound(me, g.roles())
}

// queue puts work into a channel's lane; it fails only when all work ends.
func (g *gateway) queue(channel channels.ChatID, fn func(context.Context)) error {
	if !g.lanes.reserve() {
		return context.Canceled
	}
	g.lanes.add(string(channel), fn)
	return nil
}

// onInteraction acknowledges at once, since Discord waits for three seconds
// only, and lets the core decide in the channel's order.
func (g *gateway) onInteraction(ctx context.Context, e *entry, d json.RawMessage) error {
	h := &handle{deferred: make(chan struct{})}
	if err := json.Unmarshal(d, &h.interaction); err != nil {
		g.log.Error("interaction can't be read and is skipped", "err", err)
		g.finish(e, 0)
		return nil
	}
	in, ok := h.inbound()
	if !ok || h.Token == "" {
		g.log.Debug("interaction of a kind that is not known", "kind", h.Type)
		g.finish(e, 0)
		return nil
	}
	if h.GuildID == "" {
		g.direct(h.ChannelID)
	}
	in.Handle = h
	g.answers.Go(func() { g.deferNow(ctx, h) })
	return g.queue(in.Chat.ID, func(ctx context.Context) {
		taken, err := g.takeOne(ctx, in)
		if err != nil {
			return
		}
		g.finish(e, 0)
		sign := signTaken
		if !taken {
			sign = signRefused
		}
		g.answers.Go(func() { g.resolve(ctx, h, sign) })
	})
}

// takeOne offers something to the core until it has it, or has refused it.
// Meanwhile nothing else of its channel is taken. The error is that of a context
// that ended.
func (g *gateway) takeOne(ctx context.Context, in channels.Inbound) (taken bool, err error) {
	for n, tries := 1, 0; ; n++ {
		err := g.sink.Accept(ctx, in)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err == nil {
			return true, nil
		}
		pause := channels.BackOff(n, longestWait)
		if r, ok := errors.AsType[*channels.RefusedError](err); ok {
			if r.Reason != channels.RefusedUnavailable {
				g.log.Debug("message refused", "reason", string(r.Reason), "kind", string(in.Kind))
				return false, nil
			}
			pause = max(r.After, pause)
		} else if tries++; tries == maxTries {
			g.log.Error("event is given up: the core fails at it each time", "kind", string(in.Kind), "err", err)
			return false, nil
		}
		g.log.Warn("event could not be taken: trying again", "kind", string(in.Kind), "retry_in", pause, "err", err)
		// When the core is far behind nothing is read meanwhile.
		channels.Progressed(g.sink, pause+slack)
		if err := g.wait(ctx, pause); err != nil {
			return false, err
		}
	}
}
