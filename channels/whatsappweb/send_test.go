package whatsappweb_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/whatsappweb"
	"github.com/parley-bot/parley/channels/whatsappweb/whatsappwebtest"
)

func whatsappwebDefaults() whatsappweb.Config { return whatsappweb.Defaults() }

func chatOf(p *whatsappwebtest.Person) channels.Chat {
	return channels.Chat{ID: channels.ChatID(p.Phone)}
}

// A message sent again has the same id, and is shown once; it also reaches the
// owner's phone.
func TestSend_SameKeyShownOnce_G5(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	first, again, other := b.send("hello", "k1"), b.send("hello", "k1"), b.send("more", "k2")
	if first.ID != again.ID || first.ID == other.ID || !strings.HasPrefix(string(first.ID), "3EB0") {
		t.Errorf("ids %q, %q, %q", first.ID, again.ID, other.ID)
	}
	if all := b.ana.Shown(); len(all) != 2 || b.ana.Copies() != 1 {
		t.Errorf("shown %v, %d copies", all, b.ana.Copies())
	}
	if told := b.fake.Told(); !slices.Equal(told, []string{"hello", "hello", "more"}) {
		t.Errorf("the owner's phone was told %q", told)
	}
}

// A bot that begins with an empty database has other ids.
func TestSend_NewDatabaseNewIDs(t *testing.T) {
	t.Parallel()
	a, b := newBed(t).run().up(1), newBed(t).run().up(1)
	if x, y := a.send("hello", "k1"), b.send("hello", "k1"); x.ID == y.ID {
		t.Errorf("both have %s", x.ID)
	}
}

func TestSend_EditAndReply(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	b.ana.Say("M1", "hi")
	b.heard(1)
	chat := chatOf(b.ana)
	var r channels.Receipt
	if !until(func() bool { // the newest message is noted once it was taken
		var err error
		r, err = b.Send(t.Context(), channels.Part{Chat: chat, Text: "really?", Key: "k1", ReplyTo: "M1"})
		return err == nil
	}) {
		t.Fatal("not sent")
	}
	if err := b.Edit(t.Context(), r.ID, channels.Part{Chat: chat, Text: "really? → Yes", Key: "k2"}); err != nil {
		t.Fatal(err)
	}
	if m := b.ana.Shown()[0]; m.Text != "really? → Yes" || m.Edits != 1 {
		t.Errorf("shown %+v", m)
	}
	if e := b.Capabilities(chat).Edit; e.MaxAge > 15*time.Minute {
		t.Errorf("edits are offered for %s", e.MaxAge)
	}
}

// The person sees that the bot writes, and that it has read.
func TestTyping(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	b.ana.Say("M0", "hey").Acked()
	b.ana.Say("M1", "hi").Acked()
	b.heard(2)
	b.Typing(t.Context(), chatOf(b.ana), time.Now().Add(10*time.Second))
	b.Typing(t.Context(), chatOf(b.ana), time.Now().Add(10*time.Second))
	b.Typing(t.Context(), chatOf(b.ana), time.Time{})
	for _, want := range []string{"available", "read:M0", "read:M1", "composing:" + b.ana.LID, "paused:" + b.ana.LID} {
		if !b.fake.WaitPresence(want) {
			t.Errorf("%s never came: %q", want, b.fake.Presence())
		}
	}
	reads := 0
	for _, p := range b.fake.Presence() {
		if p == "read:M1" {
			reads++
		}
	}
	if reads != 1 {
		t.Errorf("marked as read %d times", reads)
	}
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	if !b.fake.WaitPresence("unavailable") {
		t.Errorf("it never took leave: %q", b.fake.Presence())
	}
}

func (b *bed) types(chat channels.Chat) {
	b.Typing(b.t.Context(), chat, time.Now().Add(10*time.Second))
}

// TestSend_ToTheHiddenID: a chat that is named by a number is written to at the
// person's hidden id, whether that is known or not, also after a restart; the
// fake drops what goes to the number, as WhatsApp does.
func TestSend_ToTheHiddenID(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	b.send("nobody has written yet", "k1") // WhatsApp is asked
	b.ana.Send("M1", text(1), whatsappwebtest.Said{FromPhone: true, Bare: true}).WaitAcked()
	b.heard(1)
	b.send("you wrote from your number", "k2")
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	b.Adapter = b.adapter(whatsappwebDefaults())
	b.run().up(2)
	b.send("it was known before", "k3")
	b.types(chatOf(b.ana))
	if !b.fake.WaitPresence("composing:" + b.ana.LID) {
		t.Errorf("shown: %q", b.fake.Presence())
	}
	b.sees(b.ana, "nobody has written yet", "you wrote from your number", "it was known before")
	_, err := b.Send(t.Context(), channels.Part{Chat: channels.Chat{ID: "15559990000"}, Text: "x", Key: "k"})
	if channels.ClassOf(err) != channels.PermanentChat || !strings.Contains(err.Error(), "isn't on WhatsApp") {
		t.Errorf("to a number that nobody has: %v", err)
	}
}

// TestSend_NoKeys: a message that its reader's phone couldn't read isn't sent,
// though the SDK would, and is sent once the keys are there.
func TestSend_NoKeys(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	b.fake.FailKeys(1)
	part := channels.Part{Chat: chatOf(b.ana), Text: "hello", Key: "k1"}
	if _, err := b.Send(t.Context(), part); channels.ClassOf(err) != channels.Temporary {
		t.Errorf("without keys: %v", err)
	}
	b.send("hello", "k1")
	b.sees(b.ana, "hello")
}

// A phone that can't decrypt a message gets it once more, also from a bot that
// was started again since.
func TestSend_AskedAgainAfterRestart(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	r := b.send("the answer", "k1")
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	b.Adapter = b.adapter(whatsappwebDefaults())
	b.run().up(2)
	b.ana.Receives(string(r.ID), "retry")
	if !b.ana.WaitCopies(1) {
		t.Fatal("it never came again")
	}
	if all := b.ana.Shown(); len(all) != 1 || all[0].Text != "the answer" {
		t.Errorf("shown %+v", all)
	}
}

func TestSend_Classes(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	for _, tc := range []struct {
		code int
		want channels.SendClass
	}{
		{429, channels.RateLimited}, {463, channels.PermanentChat}, {479, channels.PermanentMessage}, {405, channels.PermanentMessage}, {500, channels.Temporary},
	} {
		b.fake.Fail(whatsappwebtest.Fault{Code: tc.code})
		_, err := b.Send(t.Context(), channels.Part{Chat: chatOf(b.ana), Text: "x", Key: "k"})
		if se, ok := errors.AsType[*channels.SendError](err); !ok || se.Class != tc.want {
			t.Errorf("code %d: %v, want %s", tc.code, err, tc.want)
		}
	}
	_, err := b.Send(t.Context(), channels.Part{Chat: channels.Chat{ID: "not a chat"}, Text: "x", Key: "k"})
	if channels.ClassOf(err) != channels.PermanentChat {
		t.Errorf("to nowhere: %v", err)
	}
}

// Without a connection nothing was sent, and it is tried again.
func TestSend_NotConnected(t *testing.T) {
	t.Parallel()
	b := bare(t)
	_, err := b.Send(t.Context(), channels.Part{Chat: chatOf(b.ana), Text: "x", Key: "k"})
	if channels.ClassOf(err) != channels.Temporary {
		t.Errorf("before Run: %v", err)
	}
	b.run().told(channels.LinkPairing)
	if _, err = b.Send(t.Context(), channels.Part{Chat: chatOf(b.ana), Text: "x", Key: "k"}); channels.ClassOf(err) != channels.Temporary {
		t.Errorf("without a device: %v", err)
	}
}
