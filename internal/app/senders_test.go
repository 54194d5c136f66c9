package app

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/control"
)

// From a stranger's first message to being let in and put out again, beside the
// running bot and, after its stop, on its file.
func TestSenders_FromAStrangerToOneWhoIsLetIn(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(b *bed) { b.unknown = "pair" })
	b.model.then(says("welcome"))
	b.say("hello")
	code := regexp.MustCompile(`[0-9A-Z]{4}-[0-9A-Z]{4}$`).FindString(b.message(1).Text)
	if code == "" {
		t.Fatalf("told %q", b.message(1).Text)
	}
	approve := func(code string, want bool) {
		t.Helper()
		err := Operate(b.ctx, b.app.cfg, func(ops control.Operations) error {
			channel, user, found, err := ops.Approve(b.ctx, code)
			if found != want || want && (channel != "fake" || user != b.user.ID) {
				t.Errorf("approving %s: %q %q %v", code, channel, user, found)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	approve("AAAA-0000", false)
	b.say("may I?") // is told nothing more
	approve(code, true)
	approve(code, false)
	b.say("and now?")
	b.wants(2, "welcome")

	cfg := b.app.cfg
	b.stop()
	b.app = nil
	if _, err := os.Stat(control.Path(filepath.Join(b.dir, "parley.db"))); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
	err := Operate(b.ctx, cfg, func(ops control.Operations) error {
		found, err := ops.PutOut(b.ctx, "fake", b.user.ID)
		if !found {
			t.Error("nobody was put out")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b.start()
	b.say("still there?")
	if text := b.message(3).Text; !strings.Contains(text, "I don't know you yet") {
		t.Errorf("told %q", text)
	}
}

// Who is put out of the running bot is out with the next thing they do: an
// open question of theirs takes neither their word nor their press.
func TestSenders_PutOutAtOnce(t *testing.T) {
	t.Parallel()
	s := returns(`{"id":"P-1"}`)
	b := newBed(t, withTools(placeOrder(s)), func(b *bed) { b.unknown = "pair" })
	b.say("hello")
	code := regexp.MustCompile(`[0-9A-Z]{4}-[0-9A-Z]{4}$`).FindString(b.message(1).Text)
	operate := func(what string, do func(control.Operations) (bool, error)) {
		t.Helper()
		err := Operate(b.ctx, b.app.cfg, func(ops control.Operations) error {
			found, err := do(ops)
			if !found {
				t.Errorf("%s found nobody", what)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	operate("approving", func(ops control.Operations) (bool, error) {
		_, _, found, err := ops.Approve(b.ctx, code)
		return found, err
	})
	b.model.then(calls("place_order", twoCoffees))
	b.say("two coffees")
	b.asked(2)
	operate("putting out", func(ops control.Operations) (bool, error) { return ops.PutOut(b.ctx, "fake", b.user.ID) })
	if ack := b.press("yes"); ack.Outcome != channels.PressNotYours {
		t.Errorf("press: %+v", ack)
	}
	b.say("yes")
	if text := b.message(3).Text; !strings.Contains(text, "I don't know you yet") {
		t.Errorf("told %q", text)
	}
	if s.count() != 0 {
		t.Error("the call was made")
	}
}

// A channel that doesn't heed its end keeps nobody from stopping the bot.
func TestStop_ChannelThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	release := make(chan struct{})
	b.app.running.Go(func() { <-release })
	over, cancel := context.WithCancel(b.ctx)
	cancel()
	err := b.app.Stop(over)
	if err == nil || !strings.Contains(err.Error(), "hasn't ended in time") {
		t.Errorf("got %v", err)
	}
	close(release)
	b.app.running.Wait()
	b.app = nil
}
