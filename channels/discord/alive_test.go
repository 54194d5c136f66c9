package discord_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/discord"
	"github.com/parley-bot/parley/channels/discord/discordtest"
	"github.com/parley-bot/parley/internal/secret"
)

// alive is a core that only listens for signs of life.
type alive struct{ signs chan time.Duration }

func (alive) Accept(context.Context, channels.Inbound) error { return nil }

func (s alive) Progress(d time.Duration) {
	select {
	case s.signs <- d:
	default:
	}
}

// Where nobody writes the acknowledged heartbeats are the signs of life.
func TestProgress_WithoutMessages(t *testing.T) {
	t.Parallel()
	const beat = 20 * time.Millisecond
	fake := discordtest.New(discordtest.Options{Heartbeat: beat})
	t.Cleanup(fake.Close)
	a, err := discord.New(discord.Config{Token: secret.New(discordtest.Token()), APIURL: fake.URL()},
		discord.Deps{Host: channeltest.NewHost(), Log: slog.New(slog.DiscardHandler), Name: "dc"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	s := alive{make(chan time.Duration)}
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx, s) }()
	limit := time.After(channeltest.Patience)
	for range 50 { // many more than a login has frames
		select {
		case d := <-s.signs:
			if d <= 2*beat || d > 10*time.Minute {
				t.Errorf("the next sign is promised within %s", d)
			}
		case <-limit:
			t.Fatal("no sign of life")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
