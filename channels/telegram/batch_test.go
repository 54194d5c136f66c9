package telegram

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/internal/secret"
)

// sinkFunc is a core made of one function.
type sinkFunc func(ctx context.Context, in channels.Inbound) error

func (f sinkFunc) Accept(ctx context.Context, in channels.Inbound) error { return f(ctx, in) }

func textUpdate(id, chatID int64) polled {
	u := &update{ID: id, Message: &message{ID: id, Chat: chat{ID: chatID, Type: "private"}, From: &user{ID: chatID, FirstName: "Ana"}, Text: "hi"}}
	return polled{id, u}
}

func newQuiet(t *testing.T) *Adapter {
	t.Helper()
	a, err := New(Config{Token: secret.New("1:canary"), Mode: "polling"}, Deps{Host: channeltest.NewHost(), Log: slog.New(slog.DiscardHandler), Name: "tg"})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A chat whose message takes long must not hold up the others of its batch.
func TestPoll_G2_ChatsOfABatchDoNotDelayEachOther(t *testing.T) {
	t.Parallel()
	second := make(chan struct{})
	n := newQuiet(t).takeAll(t.Context(), sinkFunc(func(ctx context.Context, in channels.Inbound) error {
		if in.Chat.ID == "2" {
			close(second)
			return nil
		}
		select {
		case <-second:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}), []polled{textUpdate(1, 1), textUpdate(2, 2)})
	if n != 2 {
		t.Fatalf("%d updates were taken, want 2", n)
	}
}

// Only what was taken from the start of the batch on is confirmed: what comes
// behind a gap is delivered again, and known then.
func TestPoll_G1_TheOffsetStopsAtTheFirstThatWasNotTaken(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	last := make(chan struct{})
	n := newQuiet(t).takeAll(ctx, sinkFunc(func(ctx context.Context, in channels.Inbound) error {
		switch in.Chat.ID {
		case "2":
			<-last
			cancel()
			return errors.New("stopping")
		case "3":
			close(last)
		}
		return nil
	}), []polled{textUpdate(1, 1), textUpdate(2, 2), textUpdate(3, 3)})
	if n != 1 {
		t.Fatalf("%d updates would be confirmed, want 1", n)
	}
}
