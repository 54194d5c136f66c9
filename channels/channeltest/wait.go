package channeltest

import (
	"context"
	"fmt"
	"slices"

	"github.com/parley-bot/parley/channels"
)

// Events returns every call made so far, in order.
func (f *Fake) Events() []Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.events)
}

// Messages returns the bot's messages of a chat as people see them now, oldest
// first.
func (f *Fake) Messages(chat channels.ChatID) []Message {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.view(chat)
}

func (f *Fake) view(chat channels.ChatID) []Message {
	out := make([]Message, 0, len(f.messages[chat]))
	for _, m := range f.messages[chat] {
		c := *m
		c.Buttons = slices.Clone(m.Buttons)
		out = append(out, c)
	}
	return out
}

// Texts returns the texts of Messages.
func (f *Fake) Texts(chat channels.ChatID) []string {
	var out []string
	for _, m := range f.Messages(chat) {
		out = append(out, m.Text)
	}
	return out
}

// NthMessage waits until the chat shows n messages of the bot, and returns the
// n-th (from 1) as it is then.
func (f *Fake) NthMessage(ctx context.Context, chat channels.ChatID, n int) (Message, error) {
	var m Message
	err := f.wait(ctx, fmt.Sprintf("message %d of chat %q", n, chat), func() bool {
		all := f.view(chat)
		if len(all) < n {
			return false
		}
		m = all[n-1]
		return true
	})
	return m, err
}

// NthEdit waits for the n-th edit (from 1) that the chat shows.
func (f *Fake) NthEdit(ctx context.Context, chat channels.ChatID, n int) (Event, error) {
	return f.nth(ctx, fmt.Sprintf("edit %d of chat %q", n, chat), n, func(e Event) bool {
		return e.Op == OpEdit && e.Chat.ID == chat && e.Shown && !e.Repeat
	})
}

// NthAck waits for the n-th press (from 1) of the chat that was acknowledged.
func (f *Fake) NthAck(ctx context.Context, chat channels.ChatID, n int) (Event, error) {
	return f.nth(ctx, fmt.Sprintf("ack %d of chat %q", n, chat), n, func(e Event) bool {
		return e.Op == OpAck && e.Chat.ID == chat
	})
}

// NthEvent waits for the n-th call (from 1) that match picks.
func (f *Fake) NthEvent(ctx context.Context, n int, match func(Event) bool) (Event, error) {
	return f.nth(ctx, fmt.Sprintf("event %d", n), n, match)
}

// Wait waits until cond holds for the calls made so far. cond must not call
// the Fake.
func (f *Fake) Wait(ctx context.Context, cond func(events []Event) bool) error {
	return f.wait(ctx, "a condition", func() bool { return cond(slices.Clone(f.events)) })
}

func (f *Fake) nth(ctx context.Context, what string, n int, match func(Event) bool) (Event, error) {
	var found Event
	err := f.wait(ctx, what, func() bool {
		left := n
		for _, e := range f.events {
			if match(e) {
				if left--; left == 0 {
					found = e
					return true
				}
			}
		}
		return false
	})
	return found, err
}

func (f *Fake) wait(ctx context.Context, what string, cond func() bool) error {
	for {
		f.mu.Lock()
		ok, changed := cond(), f.changed
		f.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		}
	}
}

// WaitRunning waits until n adapters of this platform run.
func (f *Fake) WaitRunning(ctx context.Context, n int) error {
	return f.wait(ctx, fmt.Sprintf("%d adapters that run", n), func() bool { return len(f.sinks) >= n })
}
