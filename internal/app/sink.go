package app

import (
	"context"

	"github.com/parley-bot/parley/channels"
)

// channelSink is a channel's way into the program: its messages and reports go
// to the inbox, that there are any to health.
type channelSink struct {
	channels.Sink
	channels.StatusSink

	app  *App
	name string
}

// sink is what the channel's webhook and pages are given; its Run gets more.
func (a *App) sink(in instance) channelSink {
	s := a.inbox.Sink(in.name, in.adapter)
	status, _ := s.(channels.StatusSink) // the inbox's are
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
