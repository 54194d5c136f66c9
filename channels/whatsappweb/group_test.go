package whatsappweb_test

import (
	"fmt"
	"testing"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/whatsappweb/whatsappwebtest"
)

// circle is a bed with a group of two.
func circle(t *testing.T) (*bed, *whatsappwebtest.Group, *whatsappwebtest.Person, channels.Chat) {
	t.Helper()
	b := newBed(t)
	bo := b.fake.Person("15551110002", "200000000000002", "Bo")
	g := b.fake.Group("120363000000000001", b.ana, bo)
	return b.run().up(1), g, bo, channels.Chat{ID: channels.ChatID(g.JID().String()), Group: true}
}

func (b *bed) tells(chat channels.Chat, text, key string) channels.Receipt {
	b.t.Helper()
	r, err := b.Send(b.t.Context(), channels.Part{Chat: chat, Text: text, Key: key})
	if err != nil {
		b.t.Fatalf("Send: %v", err)
	}
	return r
}

func (b *bed) sees(p *whatsappwebtest.Person, texts ...string) {
	b.t.Helper()
	all := p.Shown()
	if len(all) != len(texts) {
		b.t.Errorf("%s sees %+v, want %q", p.Name, all, texts)
		return
	}
	for i, m := range all {
		if m.Text != texts[i] {
			b.t.Errorf("%s sees %q, want %q", p.Name, m.Text, texts[i])
		}
	}
}

// TestGroup_Send: what the bot writes in a group all see, and the owner's
// phone; the key for it is handed out once, and to who joins.
func TestGroup_Send(t *testing.T) {
	t.Parallel()
	b, g, bo, chat := circle(t)
	b.tells(chat, "one", "k1")
	b.tells(chat, "two", "k2")
	b.sees(b.ana, "one", "two")
	b.sees(bo, "one", "two")
	if n := g.Asked(); n != 1 {
		t.Errorf("it was asked %d times who is in the group", n)
	}
	cy := b.fake.Person("15551110003", "200000000000003", "Cy")
	if !g.Join(cy).WaitAcked() {
		t.Fatal("the bot never heard that somebody joined")
	}
	b.tells(chat, "three", "k3")
	b.sees(cy, "three")
	if !g.Leave(bo).WaitAcked() {
		t.Fatal("the bot never heard that somebody left")
	}
	b.tells(chat, "four", "k4")
	b.sees(b.ana, "one", "two", "three", "four")
	b.sees(bo, "one", "two", "three")
	b.sees(cy, "three", "four")
	if b.ana.Keys() != 1 || cy.Keys() != 1 {
		t.Errorf("keys: %d and %d", b.ana.Keys(), cy.Keys())
	}
	if told := b.fake.Told(); len(told) != 4 {
		t.Errorf("the owner's phone was told %q", told)
	}
}

// A message in a group that is sent again, edited, or answers somebody there
// is as one to a person; a phone that lacks the key asks, and gets it.
func TestGroup_EditReplyRepeatRetry_G5(t *testing.T) {
	t.Parallel()
	b, g, bo, chat := circle(t)
	bo.Send("Q1", text(7), whatsappwebtest.Said{Group: g.ID}).WaitAcked()
	in := b.heard(1)
	if in.Text != "7" || in.Chat != chat || in.From.ID != "15551110002" {
		t.Errorf("received %+v", in)
	}
	part := channels.Part{Chat: chat, Text: "sure?", Key: "k1", ReplyTo: in.ID}
	r, err := b.Send(t.Context(), part)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := b.Send(t.Context(), part); err != nil || again.ID != r.ID {
		t.Errorf("sent again it is %q, %v", again.ID, err)
	}
	if err := b.Edit(t.Context(), r.ID, channels.Part{Chat: chat, Text: "sure? → Yes", Key: "k2"}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*whatsappwebtest.Person{b.ana, bo} {
		if all := p.Shown(); len(all) != 1 || all[0].Text != "sure? → Yes" || all[0].Edits != 1 || all[0].Quote != "Q1" {
			t.Errorf("%s sees %+v", p.Name, all)
		}
	}
	copies := b.ana.Copies()
	b.ana.ReceivesIn(g, string(r.ID), "retry")
	if !b.ana.WaitCopies(copies + 1) {
		t.Error("it never came again")
	}
	b.tells(chat, "done", "k3") // with the key from the retry
	b.sees(b.ana, "sure? → Yes", "done")
}

// People of a group write by keys of their own, from number or LID, again
// after the bot was started anew; the bot is mentioned in what is encrypted so.
func TestGroup_Receive(t *testing.T) {
	t.Parallel()
	b, g, bo, _ := circle(t)
	n := 0
	both := func() {
		for _, how := range []whatsappwebtest.Said{{Group: g.ID}, {Group: g.ID, FromPhone: true}} {
			for _, p := range []*whatsappwebtest.Person{b.ana, bo} {
				n++
				p.Send(fmt.Sprint("M", n), text(n), how).WaitAcked()
				if in := b.heard(n); in.Text != fmt.Sprint(n) || in.From.ID != channels.UserID(p.Phone) || in.Mentioned {
					t.Errorf("message %d came as %+v", n, in)
				}
			}
		}
	}
	both()
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	b.Adapter = b.adapter(whatsappwebDefaults())
	b.run().up(2)
	both()
}

// TestGroup_NoKeys: a message in a group reaches also those whose keys weren't to
// be had when it was sent: their phones ask for it. It isn't held back for them
// again and again.
func TestGroup_NoKeys(t *testing.T) {
	t.Parallel()
	b, g, bo, chat := circle(t)
	b.fake.FailKeys(1)
	b.tells(chat, "one", "k1") // for nobody, at first
	for _, p := range []*whatsappwebtest.Person{b.ana, bo} {
		if m, ok := p.WaitShown(1); !ok || m.Text != "one" {
			t.Errorf("%s sees %+v", p.Name, m)
		}
	}
	cy := b.fake.Person("15551110003", "200000000000003", "Cy")
	if !g.Join(cy).WaitAcked() {
		t.Fatal("the bot never heard that somebody joined")
	}
	part := channels.Part{Chat: chat, Text: "two", Key: "k2"}
	b.fake.FailKeys(2)
	if _, err := b.Send(t.Context(), part); channels.ClassOf(err) != channels.Temporary {
		t.Errorf("without the keys of one: %v", err)
	}
	b.sees(bo, "one")
	b.tells(chat, "two", "k2") // and again without
	b.sees(bo, "one", "two")
	if m, ok := cy.WaitShown(1); !ok || m.Text != "two" {
		t.Errorf("Cy sees %+v", m)
	}
}

// A group that the bot was removed from can't be written to.
func TestGroup_Gone(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	_, err := b.Send(t.Context(), channels.Part{Chat: channels.Chat{ID: "120363000000000404@g.us", Group: true}, Text: "x", Key: "k"})
	if channels.ClassOf(err) != channels.PermanentChat {
		t.Errorf("Send: %v", err)
	}
}

// The bot shows in a group that it writes, and marks as read whose message it
// was.
func TestGroup_Typing(t *testing.T) {
	t.Parallel()
	b, g, bo, chat := circle(t)
	bo.Send("M1", text(1), whatsappwebtest.Said{Group: g.ID}).WaitAcked()
	b.heard(1)
	b.types(chat)
	for _, want := range []string{"read:M1", "composing:" + g.ID} {
		if !b.fake.WaitPresence(want) {
			t.Errorf("%s never came: %q", want, b.fake.Presence())
		}
	}
}
