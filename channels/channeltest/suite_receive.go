package channeltest

import (
	"testing"

	"github.com/parley-bot/parley/channels"
)

// spicy is a text that breaks what counts bytes, escapes twice or trims.
const spicy = `Ünïcode: ¿sí? 🥐👩‍👩‍👧 漢字 <b>&amp;</b> "quoted" \n *x* _y_ ` + "line\nbreak"

func testReceive(t *testing.T, s Setup) {
	se := start(t, s)
	if se.Deliver == nil {
		return
	}
	text := "Ünïcode: ¿sí? 🥐👩‍👩‍👧 漢字 <b>&amp;</b> \"quoted\" \\n"
	acked := se.Deliver(t, "m1", text)
	in := next(t, se.sink.got)
	checkInbound(t, in)
	if in.Kind != channels.KindMessage || in.Text != text {
		t.Errorf("received %s %q, want message %q", in.Kind, in.Text, text)
	}
	if in.Chat != se.Chat {
		t.Errorf("received in chat %+v, want %+v", in.Chat, se.Chat)
	}
	if !acked && !s.NoAck {
		t.Error("accepted, yet the platform was not told")
	}
	se.Deliver(t, "m2", "another")
	if other := next(t, se.sink.got); other.ID == in.ID {
		t.Errorf("two messages have the id %q", in.ID)
	}
	none(t, se.sink.got)
}

func testNotAcked(t *testing.T, s Setup) {
	se := start(t, s)
	if se.Deliver == nil {
		return
	}
	se.sink.refuse(1)
	acked := se.Deliver(t, "m1", "hello")
	refused := next(t, se.sink.bad)
	if acked && !s.NoAck {
		t.Error("the platform was told that a message was taken that Accept refused")
	}
	if s.NoRedelivery {
		return
	}
	// A platform that polls may have delivered it again already.
	var in channels.Inbound
	select {
	case in = <-se.sink.got:
	default:
		se.Deliver(t, "m1", "hello")
		in = next(t, se.sink.got)
	}
	if in.ID != refused.ID {
		t.Errorf("the message came again under id %q, first it was %q", in.ID, refused.ID)
	}
}

func testRedelivery(t *testing.T, s Setup) {
	if s.NoRedelivery {
		return
	}
	se := start(t, s)
	if se.Deliver == nil {
		return
	}
	se.Deliver(t, "m1", "hello")
	first := next(t, se.sink.got)
	acked := se.Deliver(t, "m1", "hello")
	second := next(t, se.sink.got)
	if first.ID != second.ID || first.Chat != second.Chat || first.From.ID != second.From.ID {
		t.Errorf("delivered again as %+v, first it was %+v", second, first)
	}
	if !acked && !s.NoAck {
		t.Error("a message known before was not acknowledged")
	}
}

func testPress(t *testing.T, s Setup) {
	se := start(t, s)
	hasButtons := se.Adapter.Capabilities(se.Chat).Buttons != nil
	if hasButtons != (se.Press != nil) {
		t.Errorf("the adapter has buttons: %v, the case can press: %v", hasButtons, se.Press != nil)
	}
	if se.Press == nil {
		return
	}
	const button = channels.ButtonID("b-0123456789abcdef-0123456789abcdef-0123456789abcdef-0123456789a")
	acked := se.Press(t, button)
	in := next(t, se.sink.got)
	checkInbound(t, in)
	if in.Kind != channels.KindPress || in.Button != button {
		t.Errorf("received %s of %q, want press of %q", in.Kind, in.Button, button)
	}
	if !acked && !s.NoAck {
		t.Error("the press was not acknowledged")
	}
}
