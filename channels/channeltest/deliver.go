package channeltest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/parley-bot/parley/channels"
)

// press is the Handle of a press that the platform delivered.
type press struct {
	acks int
	ack  channels.PressAck
}

// Direct is a private chat with one person.
func Direct(name string) (channels.Chat, channels.User) {
	return channels.Chat{ID: channels.ChatID("chat-" + name)},
		channels.User{ID: channels.UserID("user-" + name), Name: name}
}

// Say delivers a text that a person typed, under a new id. The Inbound it
// returns can be delivered again.
func (f *Fake) Say(ctx context.Context, chat channels.Chat, from channels.User, text string) (channels.Inbound, error) {
	in := channels.Inbound{
		Kind: channels.KindMessage, ID: f.newID("in"), Chat: chat, From: from, Text: text, At: f.cfg.Now(),
	}
	return in, f.Deliver(ctx, in)
}

// Press delivers the press of a button, and returns what it was acknowledged
// with: the zero PressAck where nothing did.
func (f *Fake) Press(ctx context.Context, chat channels.Chat, from channels.User, button channels.ButtonID) (channels.PressAck, error) {
	return f.deliverPress(ctx, channels.Inbound{
		Kind: channels.KindPress, ID: f.newID("press"), Chat: chat, From: from, Button: button, At: f.cfg.Now(),
	})
}

// PressValue presses the button that means value ("yes" or "no") below the
// newest message of the chat that has buttons.
func (f *Fake) PressValue(ctx context.Context, chat channels.Chat, from channels.User, value string) (channels.PressAck, error) {
	messages := f.Messages(chat.ID)
	for i := range messages {
		m := messages[len(messages)-1-i]
		for _, b := range m.Buttons {
			if b.Value == value {
				return f.Press(ctx, chat, from, b.ID)
			}
		}
	}
	return channels.PressAck{}, fmt.Errorf("chat %q has no button that means %q", chat.ID, value)
}

// Deliver hands in to the adapter that began to run last, and waits for one if
// none runs. What the sink answered is returned: nil is what a platform takes
// as acknowledged.
func (f *Fake) Deliver(ctx context.Context, in channels.Inbound) error {
	if in.Kind == channels.KindPress {
		_, err := f.deliverPress(ctx, in)
		return err
	}
	s, err := f.running(ctx)
	if err != nil {
		return err
	}
	return s.Accept(ctx, in)
}

// DeliverToAll hands in to every adapter that runs, at the same time, as a
// platform does that delivers to two replicas.
func (f *Fake) DeliverToAll(ctx context.Context, in channels.Inbound) error {
	if _, err := f.running(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	sinks := append([]*sink(nil), f.sinks...)
	f.mu.Unlock()
	errs := make([]error, len(sinks))
	var wg sync.WaitGroup
	for i, s := range sinks {
		wg.Go(func() {
			if in.Kind == channels.KindPress {
				_, errs[i] = f.pressOn(ctx, s, in)
				return
			}
			errs[i] = s.Accept(ctx, in)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (f *Fake) deliverPress(ctx context.Context, in channels.Inbound) (channels.PressAck, error) {
	s, err := f.running(ctx)
	if err != nil {
		return channels.PressAck{}, err
	}
	return f.pressOn(ctx, s, in)
}

func (f *Fake) pressOn(ctx context.Context, s *sink, in channels.Inbound) (channels.PressAck, error) {
	p := &press{}
	in.Handle = p
	err := s.Accept(ctx, in)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && f.cfg.Acks && p.acks == 0 {
		_ = f.violate("press %q was accepted and not acknowledged", in.ID)
	}
	return p.ack, err
}

func (f *Fake) ack(in channels.Inbound, ack channels.PressAck) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, ok := in.Handle.(*press)
	if !ok {
		return f.violate("an ack of %q, which is no press of this platform", in.ID)
	}
	p.acks++
	if p.acks > 1 {
		return f.violate("press %q acknowledged twice", in.ID)
	}
	p.ack = ack
	f.events = append(f.events, Event{Op: OpAck, Chat: in.Chat, ID: in.ID, Ack: ack, Shown: true})
	f.notify()
	return nil
}

// running returns the sink of the adapter that began to run last.
func (f *Fake) running(ctx context.Context) (*sink, error) {
	var s *sink
	err := f.wait(ctx, "an adapter that runs", func() bool {
		if len(f.sinks) > 0 {
			s = f.sinks[len(f.sinks)-1]
		}
		return s != nil
	})
	return s, err
}

func (f *Fake) newID(kind string) channels.MessageID {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nextIn++
	return channels.MessageID(fmt.Sprintf("%s-%d", kind, f.nextIn))
}
