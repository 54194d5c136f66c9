package whatsappweb_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/whatsappweb/whatsappwebtest"
)

// TestSession_CoreAway: while the core can't take messages none is
// acknowledged, and all come in their order once it can.
func TestSession_CoreAway_G9(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.sink.refuse = 2
	b.run().up(1)
	var all []*whatsappwebtest.Stanza
	for n := range 5 {
		all = append(all, b.ana.Say(fmt.Sprint("M", n), fmt.Sprint(n)))
	}
	b.heard(5)
	for n, st := range all {
		if got := b.sink.got[n].Text; got != fmt.Sprint(n) {
			t.Errorf("message %d is %q", n, got)
		}
		if !st.WaitAcked() {
			t.Errorf("message %d was never acknowledged", n)
		}
	}
	if all[0].Times() < 3 {
		t.Errorf("the refused one was delivered %d times", all[0].Times())
	}
}

// A panic while a message is taken is no success, and shows nothing of it.
func TestSession_PanicIsNoSuccess(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.sink.panics = 1
	b.run().up(1)
	st := b.ana.Say("M1", "canary-text")
	if b.heard(1); !st.WaitAcked() || st.Times() < 2 {
		t.Errorf("delivered %d times", st.Times())
	}
	if strings.Contains(b.logs.String(), "canary-text") {
		t.Error("the log has what was written")
	}
}

// What was written while the bot was away comes when it is back.
func TestSession_WrittenMeanwhile_G1(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	if b.Link().State == channels.LinkUp {
		t.Error("stopped, and up")
	}
	b.ana.Say("M1", "are you there?")
	b.Adapter = b.adapter(whatsappwebDefaults())
	b.run()
	if in := b.heard(1); in.ID != "M1" {
		t.Errorf("received %+v", in)
	}
}

// A stop doesn't wait for a server that says nothing any more, and takes leave
// of it as if it did.
func TestSession_StopWhileSilent(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	b.fake.Silence()
	began := time.Now()
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	t.Logf("stopped within %s", time.Since(began))
	if b.fake.Down(); b.fake.Connected() {
		t.Error("the connection is there still")
	}
}

// TestSession_OneProcess: two adapters on one session never fight for it.
func TestSession_OneProcess(t *testing.T) {
	t.Parallel()
	b := newBed(t).run().up(1)
	second := *b
	second.Adapter, second.sink, second.stop = b.adapter(whatsappwebDefaults()), &sink{changed: make(chan struct{})}, nil
	second.run()
	if l := second.told(channels.LinkPairing); !strings.Contains(l.Detail, "another process") {
		t.Errorf("told %s", l)
	}
	if err := second.stop(); err != nil {
		t.Error(err)
	}
	if n := b.fake.Logins(); n != 1 {
		t.Errorf("%d logins", n)
	}
}
