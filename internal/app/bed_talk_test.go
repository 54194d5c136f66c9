package app

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/internal/audit"
)

// say sends a text of the bed's user.
func (b *bed) say(text string) {
	b.t.Helper()
	if _, err := b.fake.Say(b.ctx, b.chat, b.user, text); err != nil {
		b.t.Fatalf("saying %q: %v", text, err)
	}
}

// press presses the button of that value below the newest question.
func (b *bed) press(value string) channels.PressAck {
	b.t.Helper()
	ack, err := b.fake.PressValue(b.ctx, b.chat, b.user, value)
	if err != nil {
		b.t.Fatalf("pressing %s: %v", value, err)
	}
	return ack
}

// message waits for the n-th message of the bot (from 1).
func (b *bed) message(n int) channeltest.Message {
	b.t.Helper()
	m, err := b.fake.NthMessage(b.ctx, b.chat.ID, n)
	if err != nil {
		b.t.Fatalf("waiting for message %d: %v; there are %q\n%s", n, err, b.fake.Texts(b.chat.ID), b.logs)
	}
	return m
}

// wants waits for the n-th message and compares its text as it is now.
func (b *bed) wants(n int, text string) channeltest.Message {
	b.t.Helper()
	m := b.message(n)
	if m.Text != text {
		b.t.Fatalf("message %d is %q, want %q\n%s", n, m.Text, text, b.logs)
	}
	return m
}

// thinking waits until the model was asked once more.
func (b *bed) thinking() {
	b.t.Helper()
	b.soon(b.model.asked, "the model to be asked")
}

// soon waits for a signal.
func (b *bed) soon(signal <-chan struct{}, what string) {
	b.t.Helper()
	select {
	case <-signal:
	case <-b.ctx.Done():
		b.t.Fatalf("waiting for %s: %v\n%s", what, b.ctx.Err(), b.logs)
	}
}

// settled waits until the chat has neither work nor anything to be said.
func (b *bed) settled() {
	b.t.Helper()
	b.until("the chat is quiet", func() bool { return b.idle(b.chat) })
}

// silent makes sure that the bot has said n messages, and no more.
func (b *bed) silent(n int) {
	b.t.Helper()
	b.settled()
	if got := b.fake.Texts(b.chat.ID); len(got) != n {
		b.t.Fatalf("the bot said %d messages, want %d: %q", len(got), n, got)
	}
}

// deliver hands in what the test made up; ID and kind are filled in, and the
// chat and the user where they are missing.
func (b *bed) deliver(in channels.Inbound) error {
	b.t.Helper()
	b.nextIn++
	if in.ID == "" {
		in.ID = channels.MessageID(fmt.Sprint("made-", b.nextIn))
	}
	if in.Kind == "" {
		in.Kind = channels.KindMessage
	}
	if in.Chat.ID == "" {
		in.Chat = b.chat
	}
	if in.From.ID == "" {
		in.From = b.user
	}
	return b.fake.Deliver(b.ctx, in)
}

// hears is deliver for what must be taken.
func (b *bed) hears(in channels.Inbound) {
	b.t.Helper()
	if err := b.deliver(in); err != nil {
		b.t.Fatalf("delivering %+v: %v", in, err)
	}
}

// asked waits for the n-th message, which must be a question with buttons, and
// for its clock to run.
func (b *bed) asked(n int) channeltest.Message {
	b.t.Helper()
	m := b.message(n)
	b.settled()
	if len(m.Buttons) != 2 {
		b.t.Fatalf("message %d has %d buttons, want 2: %q", n, len(m.Buttons), m.Text)
	}
	return m
}

// closed checks how the n-th message reads now, and that it has no buttons.
func (b *bed) closed(n int, text string) {
	b.t.Helper()
	b.settled()
	m := b.message(n)
	if m.Text != text || len(m.Buttons) != 0 || m.Edits != 1 {
		b.t.Fatalf("message %d reads %q with %d buttons after %d edits, want %q", n, m.Text, len(m.Buttons), m.Edits, text)
	}
}

// events are the audit events so far, all of them of committed steps.
func (b *bed) events() (out []audit.Event) {
	b.t.Helper()
	rows, err := b.app.st.After(b.ctx, 0, 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range rows {
		var e audit.Event
		if err := json.Unmarshal(r.Event, &e); err != nil {
			b.t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// types are the events' names.
func (b *bed) types() (out []string) {
	for _, e := range b.events() {
		out = append(out, e.Type)
	}
	return out
}

// sequence compares the names of all events so far.
func (b *bed) sequence(want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.types()); diff != "" {
		b.t.Fatalf("events (-want +got):\n%s", diff)
	}
}

// event is the only event of that name.
func (b *bed) event(name string) audit.Event {
	b.t.Helper()
	var found []audit.Event
	for _, e := range b.events() {
		if e.Type == name {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		b.t.Fatalf("%d events %s, want 1: %v", len(found), name, b.types())
	}
	return found[0]
}

// same fails the test where want and got differ.
func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

// reason is the field that tells the model why the only call wasn't run.
func (b *bed) reason() any {
	b.t.Helper()
	return field(b.t, one(b.t, b).Content, "reason")
}
