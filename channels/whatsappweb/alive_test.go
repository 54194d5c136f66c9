package whatsappweb_test

import (
	"context"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/whatsappweb"
	"github.com/parley-bot/parley/channels/whatsappweb/whatsappwebtest"
)

// alive is a sink that is told of signs of life.
type alive struct {
	*sink
	signs chan time.Duration
}

func (s alive) Progress(d time.Duration) {
	select {
	case s.signs <- d:
	default:
	}
}

// Where nobody writes the answers to keep-alives are the signs of life.
func TestProgress_WithoutMessages(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	s := alive{b.sink, make(chan time.Duration)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx, s) }()
	b.stop = func() error {
		cancel()
		return <-ended
	}
	if !s.wait(func() bool { return len(s.links) > 0 && s.links[len(s.links)-1].State == channels.LinkUp }) {
		t.Fatal("it isn't up")
	}
	begun := time.Now()
	for time.Since(begun) < 2*time.Second { // whatever a login brings is over by then
		select {
		case d := <-s.signs:
			if d < time.Minute || d > 5*time.Minute {
				t.Errorf("the next sign is promised within %s", d)
			}
		case <-time.After(whatsappwebtest.Patience):
			t.Fatal("no sign of life")
		}
	}
}

// What comes while a message is stuck is no sign of life: nothing behind that
// message is handled.
func TestProgress_NotBehindAStuckMessage(t *testing.T) {
	t.Parallel()
	for taking, want := range map[time.Duration]int{0: 1, time.Second: 1, 3 * time.Minute: 0} {
		s := alive{&sink{}, make(chan time.Duration, 1)}
		whatsappweb.ReceiveWhile(taking, s)
		if len(s.signs) != want {
			t.Errorf("%d signs while a message has been taken for %s, want %d", len(s.signs), taking, want)
		}
	}
}
