package platforms

import (
	"fmt"
	"testing"

	"github.com/parley-bot/parley/channels/whatsappweb/whatsappwebtest"
	"github.com/parley-bot/parley/internal/tool"
)

// circle is a group of WhatsApp with the bot in it.
type circle struct {
	t     *testing.T
	p     *waWeb
	group *whatsappwebtest.Group
	said  int
	had   int
}

// says writes in the group, until the bot has it. answers is a message of the
// bot's, or "".
func (c *circle) says(who person, text string, name bool, answers string) {
	c.t.Helper()
	c.said++
	if !c.group.Says(c.p.who(who), fmt.Sprint("G", c.said), text, name, answers).WaitAcked() {
		c.t.Errorf("%q was never taken", text)
	}
}

// wants waits for one more message of the bot's, which everybody sees.
func (c *circle) wants(text string) message {
	c.t.Helper()
	var m message
	for _, who := range []person{1, 2} {
		var all []message
		if !until(c.t.Context(), func() bool { all = c.p.shown(who); return len(all) > c.had }) {
			c.t.Fatalf("person %d never saw %q: %v", who, text, all)
		}
		if m = all[c.had]; m.text != text {
			c.t.Fatalf("person %d sees %q, want %q", who, m.text, text)
		}
	}
	c.had++
	return m
}

// asked waits until the question counts as sent (B27).
func (c *circle) asked(b *bot) {
	c.t.Helper()
	if !until(c.t.Context(), func() bool {
		return len(b.column(`SELECT token FROM wait WHERE state='pending' AND delivered_at>0`)) == 1
	}) {
		c.t.Fatal("the question never counted as sent")
	}
}

// TestWhatsAppWeb_Group: in a group the bot hears what is meant for it, asks
// and is answered there, and the answer is that of who ordered. What is said to it in a group comes from keys of
// each person's own, and everybody can read what it says.
func TestWhatsAppWeb_Group(t *testing.T) {
	t.Parallel()
	p, m, orders := newWAWeb(t), newMind(), &shop{}
	b := &bot{t: t, on: []platform{p}, model: m, tools: []tool.Tool{placeOrder(orders)}}
	c := &circle{t: t, p: p, group: p.fake.Group("120363000000000001", p.who(1), p.who(2))}
	b.start()
	c.says(1, "nice weather", false, "")
	c.says(1, "order 2", true, "")
	q := c.wants("About to: Place order\n• 2 × coffee\nDo you confirm? (yes/no)")
	c.asked(b)
	c.says(2, "yes", false, "")  // somebody else's, to whomever
	c.says(2, "yes", true, q.id) // to the question, and not whose it is
	c.wants("You said: yes")
	if n := orders.count(); n != 0 {
		t.Fatalf("%d orders before the answer", n)
	}
	c.says(1, "yes", true, q.id)
	c.wants("Order 1 is placed.")

	c.says(1, "order 3", true, "")
	c.wants("About to: Place order\n• 3 × coffee\nDo you confirm? (yes/no)")
	c.asked(b)
	c.says(1, "make it 4", true, "")
	c.wants("About to: Place order\n• 4 × coffee\nDo you confirm? (yes/no)")
	c.asked(b)
	// The bot starts anew in between: its own key is kept.
	b.stop()
	b.start()
	c.says(1, "no", false, "") // who was asked needn't name the bot
	c.wants("I left it.")
	if n := orders.count(); n != 1 {
		t.Errorf("%d orders", n)
	}
	if n := m.times("nice weather"); n != 0 {
		t.Errorf("the model heard what wasn't meant for the bot %d times", n)
	}
	b.stop()
	b.atRest()
	if n := m.times("yes"); n != 1 {
		t.Errorf("the model heard %d times yes", n)
	}
	for _, w := range p.wrong() {
		t.Error(w)
	}
}
