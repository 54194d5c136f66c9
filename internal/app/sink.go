package app

import (
	"context"

	"github.com/parley-bot/parley/channels"
)

// channelSink is a channel's way into the program: messages and reports go to
// the inbox, how the connection stands to health.
type channelSink struct {
	channels.Sink
	channels.StatusSink

	app  *App
	name string
}

// sink is what the channel's Run, webhook and pages are given.
func (a *App) sink(in instance) channels.Sink {
	s := a.inbox.Sink(in.name, in.adapter)
	status, ok := s.(channels.StatusSink)
	if !ok {
		return s
	}
	return channelSink{Sink: s, StatusSink: status, app: a, name: in.name}
}

// Accept implements channels.Sink: what the inbox has taken is a sign of life.
func (s channelSink) Accept(ctx context.Context, in channels.Inbound) error {
	err := s.Sink.Accept(ctx, in)
	if err == nil {
		s.app.health.heard(s.name)
	}
	return err
}

// Linked implements channels.LinkSink.
func (s channelSink) Linked(_ context.Context, l channels.Link) {
	s.app.health.linked(s.name, l)
	switch {
	case l.State.Lasting():
		s.app.log.Error("channel is down until somebody mends it", "channel", s.name, "state", l.State, "why", l.Detail)
	case l.State != channels.LinkUp:
		s.app.log.Info("channel is not connected", "channel", s.name, "state", l.State, "why", l.Detail)
	}
}
