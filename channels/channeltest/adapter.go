package channeltest

import (
	"context"
	"slices"
	"time"

	"github.com/parley-bot/parley/channels"
)

// Adapter makes an adapter for this platform, as a starting process does. Its
// optional interfaces are those that the configuration calls for, and no
// other.
func (f *Fake) Adapter() channels.Adapter {
	c, e, t, a := core{f}, editor{f}, typer{f}, acker{f}
	edits, types := f.cfg.Caps.Edit.Text, f.cfg.Caps.Typing > 0
	switch {
	case edits && types && f.cfg.Acks:
		return struct {
			core
			editor
			typer
			acker
		}{c, e, t, a}
	case edits && types:
		return struct {
			core
			editor
			typer
		}{c, e, t}
	case edits && f.cfg.Acks:
		return struct {
			core
			editor
			acker
		}{c, e, a}
	case types && f.cfg.Acks:
		return struct {
			core
			typer
			acker
		}{c, t, a}
	case edits:
		return struct {
			core
			editor
		}{c, e}
	case types:
		return struct {
			core
			typer
		}{c, t}
	case f.cfg.Acks:
		return struct {
			core
			acker
		}{c, a}
	}
	return c
}

var (
	_ channels.Adapter = core{}
	_ channels.Editor  = editor{}
	_ channels.Typer   = typer{}
	_ channels.Acker   = acker{}
)

type (
	core   struct{ f *Fake }
	editor struct{ f *Fake }
	typer  struct{ f *Fake }
	acker  struct{ f *Fake }
)

func (c core) Capabilities(chat channels.Chat) channels.Capabilities { return c.f.capabilities(chat) }

func (c core) Send(ctx context.Context, part channels.Part) (channels.Receipt, error) {
	return c.f.send(ctx, part)
}

// Run makes the sink reachable for Deliver until ctx ends.
func (c core) Run(ctx context.Context, to channels.Sink) error {
	s := &sink{to}
	c.f.mu.Lock()
	c.f.sinks = append(c.f.sinks, s)
	c.f.notify()
	c.f.mu.Unlock()
	<-ctx.Done()
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.sinks = slices.DeleteFunc(c.f.sinks, func(o *sink) bool { return o == s })
	return nil
}

func (e editor) Edit(ctx context.Context, id channels.MessageID, part channels.Part) error {
	return e.f.edit(ctx, id, part)
}

func (t typer) Typing(_ context.Context, chat channels.Chat, until time.Time) {
	t.f.typing(chat, until)
}

func (a acker) Ack(_ context.Context, in channels.Inbound, ack channels.PressAck) error {
	return a.f.ack(in, ack)
}

// sink is a Sink with an identity, since two processes may share one.
type sink struct{ channels.Sink }
