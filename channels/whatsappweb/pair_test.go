//go:build !race

package whatsappweb_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/whatsappweb"
	"github.com/parley-bot/parley/channels/whatsappweb/whatsappwebtest"
)

// pairing scans each code that is shown, from the n-th on.
func (b *bed) scan() error {
	b.t.Helper()
	a := b.adapter(whatsappweb.Config{DeviceName: "La Espiga"})
	return a.Pair(b.t.Context(), "", func(code string) {
		if err := b.fake.Scan(code); err != nil {
			b.t.Errorf("scanning: %v", err)
		}
	})
}

// TestPair_QR: a code that is scanned links the device, a running daemon finds
// it, and a second one isn't linked over it.
func TestPair_QR(t *testing.T) {
	t.Parallel()
	b := bare(t)
	b.skipRests()
	b.run()
	if l := b.told(channels.LinkPairing); !strings.Contains(l.Detail, "parley pair wa") {
		t.Errorf("told %s", l)
	}
	b.pairs(b.scan)
	if name := b.fake.DeviceName(); name != "La Espiga" {
		t.Errorf("the phone lists it as %q", name)
	}
	b.told(channels.LinkUp)
	if !b.fake.WaitLogins(2) { // the first was the pairing's own
		t.Fatal("the daemon never connected")
	}
	b.ana.Say("M1", "hello")
	if in := b.heard(1); in.Text != "hello" {
		t.Errorf("received %+v", in)
	}
	if err := b.scan(); err == nil || !strings.Contains(err.Error(), "a running parley is connected") {
		t.Errorf("pairing beside a daemon that is connected: %v", err)
	}
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	if err := b.scan(); !errors.Is(err, whatsappweb.ErrLinked) || !strings.Contains(err.Error(), "+15550002222") {
		t.Errorf("pairing once more: %v", err)
	}
}

// pairs pairs; the daemon looks at the session file now and then, and whoever
// comes second has to try again.
func (b *bed) pairs(how func() error) {
	b.t.Helper()
	var err error
	if !until(func() bool {
		err = how()
		return err == nil || !strings.Contains(err.Error(), "in use")
	}) || err != nil {
		b.t.Fatalf("pairing: %v", err)
	}
}

func TestPair_TypedCode(t *testing.T) {
	t.Parallel()
	b := bare(t)
	a := b.adapter(whatsappweb.Defaults())
	typed := make(chan error, 1)
	err := a.Pair(t.Context(), "+1 (555) 000-2222", func(code string) {
		if len(code) != 9 || code[4] != '-' {
			t.Errorf("code %q", code)
		}
		go func() { typed <- b.fake.TypeCode(code) }()
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-typed; err != nil {
		t.Errorf("typing it: %v", err)
	}
	if account, err := a.Check(t.Context()); err != nil || account != "+15550002222" {
		t.Errorf("checked: %q, %v", account, err)
	}
	for _, phone := range []string{"0123456789", "12", "+1555x"} {
		if err := a.Pair(t.Context(), phone, nil); err == nil || !strings.Contains(err.Error(), "international") {
			t.Errorf("phone %q: %v", phone, err)
		}
	}
}

// TestPair_CodesRunOut: a code that nobody scans is followed by the next, and
// those of one connection by those of another; one that has run out is of no
// use.
func TestPair_CodesRunOut(t *testing.T) {
	t.Parallel()
	b := bare(t)
	a := b.adapter(whatsappweb.Defaults())
	a.SetCodeTimes(5*time.Millisecond, time.Millisecond)
	var shown []string
	err := a.Pair(t.Context(), "", func(code string) {
		shown = append(shown, code)
		switch len(shown) {
		case whatsappwebtest.Refs + 1:
			if err := b.fake.Scan(shown[0]); err == nil {
				t.Error("a code of a connection that is over was good")
			}
		case whatsappwebtest.Refs + 2:
			if err := b.fake.Scan(code); err != nil {
				t.Errorf("scanning: %v", err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if all := slices.Compact(slices.Sorted(slices.Values(shown))); len(all) != len(shown) {
		t.Errorf("of %d codes %d are different", len(shown), len(all))
	}
}

func TestPair_Interrupted(t *testing.T) {
	t.Parallel()
	b := bare(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := b.Pair(ctx, "", func(string) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Pair: %v", err)
	}
	if _, err := b.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "parley pair wa") {
		t.Errorf("Check: %v", err)
	}
}

// TestPair_AgainAfterLogout: a device that was removed while the bot was away,
// or while it ran, is forgotten, and one that is linked anew goes on in the
// same chats.
func TestPair_AgainAfterLogout(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.skipRests()
	b.run().up(1)
	b.ana.Say("M1", "before")
	before := b.heard(1)
	b.fake.Unlink()
	b.told(channels.LinkLoggedOut)
	if !until(func() bool { return b.Link().State == channels.LinkLoggedOut }) {
		t.Errorf("now %s", b.Link())
	}
	b.pairs(b.scan)
	b.up(2)
	if !b.fake.WaitLogins(3) {
		t.Fatal("the daemon never connected")
	}
	b.ana.Say("M2", "after")
	if after := b.heard(2); after.Chat != before.Chat || after.Text != "after" {
		t.Errorf("received %+v, before it was %+v", after, before)
	}
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	b.fake.Unlink()
	if err := b.scan(); err != nil {
		t.Errorf("pairing after a logout that nobody saw: %v", err)
	}
}

// A server that vanishes in the middle of pairing is an error, not a wait.
func TestPair_ServerAway(t *testing.T) {
	t.Parallel()
	b := bare(t)
	b.fake.Down()
	if err := b.Pair(t.Context(), "", nil); err == nil || !strings.Contains(err.Error(), "connecting to WhatsApp") {
		t.Errorf("Pair: %v", err)
	}
}
