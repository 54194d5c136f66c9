package app

import (
	"testing"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/control"
)

// Forgetting a chat whose question is open: nothing runs at a late press, the
// buttons go, and the chat starts anew.
func TestForget_B6_AnOpenQuestion(t *testing.T) {
	t.Parallel()
	order := returns(`{"id":"P-1"}`)
	b := newBed(t, withTools(placeOrder(order)))
	b.model.then(calls("place_order", twoCoffees), says("hello again"))
	b.say("two coffees")
	yes := b.asked(1).Buttons[0].ID
	forget := func(want bool) {
		t.Helper()
		err := Operate(b.ctx, b.app.cfg, func(ops control.Operations) error {
			known, err := ops.ForgetChat(b.ctx, "fake:"+string(b.chat.ID))
			if known != want {
				t.Errorf("known %v, want %v", known, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	listed := func() int {
		t.Helper()
		rows, err := b.app.st.ListChats(b.ctx, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(rows)
	}
	if n := listed(); n != 1 {
		t.Errorf("%d chats are listed", n)
	}
	forget(true)
	if n := listed(); n != 0 {
		t.Errorf("the forgotten chat is listed: %d", n)
	}
	b.until("the buttons to go", func() bool { return len(b.message(1).Buttons) == 0 })
	if ack, err := b.fake.Press(b.ctx, b.chat, b.user, yes); err != nil || ack.Outcome != channels.PressStale {
		t.Errorf("a press on the forgotten question: %+v %v", ack, err)
	}
	b.say("hello")
	b.wants(2, "hello again")
	if n := listed(); n != 1 {
		t.Errorf("a chat that began anew isn't listed")
	}
	if n := order.count(); n != 0 {
		t.Errorf("ordered %d times", n)
	}
	if err := Operate(b.ctx, b.app.cfg, func(ops control.Operations) error {
		known, err := ops.ForgetChat(b.ctx, "fake:nobody")
		if known {
			t.Error("a chat that never was is known")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
