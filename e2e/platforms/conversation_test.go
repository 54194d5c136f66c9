package platforms

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/parley-bot/parley/channels"
)

// talk is a conversation of one person with the bot.
type talk struct {
	t    *testing.T
	p    platform
	bot  *bot
	mind *mind
	shop *shop
	who  person
	step string
	had  int     // messages that were looked at
	old  message // a question that is over, as it was asked
}

// TestConversation is the same for all platforms. Where they differ, it goes
// by their capabilities.
func TestConversation(t *testing.T) {
	t.Parallel()
	for name, on := range open() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := on(t)
			c := &talk{t: t, p: p, mind: newMind(), shop: &shop{}, who: 1}
			c.bot = &bot{t: t, on: []platform{p}, allow: []person{1}, model: c.mind}
			c.bot.tools = append(c.bot.tools, placeOrder(c.shop))
			c.bot.start()
			for _, s := range []struct {
				name string
				do   func(*talk)
			}{
				{"an order, its question, and yes", (*talk).order},
				{"a change by text", (*talk).change},
				{"a press on an old question", (*talk).stale},
				{"a notice of what was done before", (*talk).repeat},
				{"/reset", (*talk).reset},
				{"/lang", (*talk).language},
				{"a long answer", (*talk).long},
				{"a stranger", (*talk).unknown},
				{"a delivery that comes again", (*talk).twice},
				{"a restart in the middle of a question", (*talk).restart},
			} {
				c.step = s.name
				s.do(c)
			}
			c.bot.stop()
			c.bot.atRest()
			if w := p.wrong(); len(w) > 0 {
				t.Errorf("the platform found %d calls wrong, such as %s", len(w), w[0])
			}
			t.Logf("%d messages, %d calls", c.had, len(p.calls()))
			checkDocument(t, name, p.calls())
		})
	}
}

func (c *talk) fatalf(format string, args ...any) {
	c.t.Helper()
	var texts []string
	for _, m := range c.p.shown(c.who) {
		texts = append(texts, m.text[:min(len(m.text), 200)])
	}
	c.t.Fatalf("%s: %s; the bot said %q", c.step, fmt.Sprintf(format, args...), texts)
}

// next waits for one more message.
func (c *talk) next() message {
	c.t.Helper()
	var all []message
	if !until(c.t.Context(), func() bool { all = c.p.shown(c.who); return len(all) > c.had }) {
		c.fatalf("no message %d came", c.had+1)
	}
	c.had++
	return all[c.had-1]
}

// wants waits for one more message with that text.
func (c *talk) wants(text string) message {
	c.t.Helper()
	m := c.next()
	if m.text != text {
		c.fatalf("message %d is %q, want %q", c.had, m.text, text)
	}
	return m
}

// say writes and waits for the answer.
func (c *talk) say(text, answer string) message {
	c.t.Helper()
	c.p.say(c.who, text)
	return c.wants(answer)
}

// quiet makes sure that the bot has said nothing more: what it had to say
// would stand before the answer.
func (c *talk) quiet() {
	c.t.Helper()
	c.say("ping", "You said: ping")
}

// asks waits for the question.
func (c *talk) asks(head, tail, hint string) message {
	c.t.Helper()
	if c.p.caps().Buttons == nil {
		tail += hint
	}
	m := c.wants(head + tail)
	if n := len(m.buttons); c.p.caps().Buttons != nil && n != 2 || c.p.caps().Buttons == nil && n != 0 {
		c.fatalf("the question has %d buttons", n)
	}
	// A word counts as an answer once the platform's receipt is saved (B27):
	// people read for longer than that takes.
	if !until(c.t.Context(), func() bool {
		return len(c.bot.column(`SELECT token FROM wait WHERE state='pending' AND delivered_at>0`)) == 1
	}) {
		c.fatalf("the question never counted as sent")
	}
	return m
}

func (c *talk) asksFor(n int) message {
	c.t.Helper()
	return c.asks(fmt.Sprintf("About to: Place order\n• %d × coffee\nDo you confirm?", n), "", " (yes/no)")
}

// answer presses the button of that place, or writes the word.
func (c *talk) answer(q message, i int, word string) {
	c.t.Helper()
	if len(q.buttons) == 0 {
		c.p.say(c.who, word)
		return
	}
	c.p.press(c.who, q, q.buttons[i])
}

// over waits until a question's buttons are gone, where they can go.
func (c *talk) over(q message, suffix string) {
	c.t.Helper()
	if caps := c.p.caps(); !caps.Edit.Text || caps.Buttons == nil {
		return
	}
	var now message
	if !until(c.t.Context(), func() bool {
		for _, m := range c.p.shown(c.who) {
			if m.id == q.id {
				now = m
			}
		}
		return len(now.buttons) == 0 && now.text == q.text+suffix
	}) {
		c.fatalf("the question became %+v", now)
	}
}

func (c *talk) ordered(n int) {
	c.t.Helper()
	if got := c.shop.count(); got != n {
		c.fatalf("%d orders, want %d", got, n)
	}
}

func (c *talk) order() {
	c.p.say(c.who, "order 2")
	q := c.asksFor(2)
	c.ordered(0)
	c.answer(q, 0, "Yes, please")
	c.wants("Order 1 is placed.")
	c.over(q, "\n→ Yes")
	c.ordered(1)
}

func (c *talk) change() {
	c.p.say(c.who, "order 3")
	c.old = c.asksFor(3)
	c.p.say(c.who, "make it 5")
	q := c.asksFor(5)
	c.over(c.old, "")
	c.p.say(c.who, "yes") // typed, also where there are buttons
	c.wants("Order 2 is placed.")
	c.over(q, "\n→ Yes")
	c.ordered(2)
}

func (c *talk) stale() {
	caps := c.p.caps()
	if caps.Buttons == nil {
		c.say("yes", "You said: yes")
		return
	}
	c.p.press(c.who, c.old, c.old.buttons[0])
	if !caps.Edit.Text {
		c.wants("That confirmation is no longer active.")
	}
	c.quiet()
	c.ordered(2)
}

func (c *talk) repeat() {
	c.p.say(c.who, "order 5")
	q := c.asks("Heads-up: I already did «Place order» a moment ago (result: Order: 2). Confirming will do it again.\n"+
		"About to: Place order\n• 5 × coffee\nDo you confirm?", "", " (yes/no)")
	c.answer(q, 1, "no thanks")
	c.wants("I left it.")
	c.over(q, "\n→ No")
	c.ordered(2)
}

func (c *talk) reset() {
	c.p.say(c.who, "order 4")
	q := c.asksFor(4)
	c.say("/reset", "Done. I have forgotten this conversation; we can start over.")
	c.over(q, "")
	c.say("yes", "You said: yes")
	c.p.say(c.who, "order 5") // without a notice: forgotten
	q = c.asksFor(5)
	c.answer(q, 1, "no")
	c.wants("I left it.")
	c.ordered(2)
}

func (c *talk) language() {
	c.say("/lang es", "De ahora en adelante escribiré en español.")
	c.p.say(c.who, "order 6")
	q := c.asks("Voy a: Crear pedido\n• 6 × coffee\n¿Confirmas?", "", " (sí/no)")
	c.answer(q, 0, "sí, claro")
	c.wants("Order 3 is placed.")
	c.over(q, "\n→ Sí")
	c.ordered(3)
	c.p.say(c.who, "/lang en")
	c.next()
}

func (c *talk) long() {
	caps := c.p.caps()
	c.p.say(c.who, "long")
	want := strings.Fields(longAnswer())
	var got []string
	parts := 0
	for ; len(got) < len(want); parts++ {
		m := c.next()
		if n := length(caps.Unit, m.text); caps.TextMax > 0 && n > caps.TextMax {
			c.fatalf("a part is %d long, the most is %d", n, caps.TextMax)
		}
		if !strings.HasPrefix(m.text, "line ") || !strings.HasSuffix(m.text, "answer") {
			c.fatalf("a part was cut within a line: %q", m.text)
		}
		got = append(got, strings.Fields(m.text)...)
	}
	if !slices.Equal(got, want) {
		c.fatalf("the parts aren't the answer")
	}
	if (caps.TextMax == 0) != (parts == 1) {
		c.fatalf("the answer came in %d parts, the most is %d", parts, caps.TextMax)
	}
	c.quiet()
}

func length(u channels.TextUnit, text string) int {
	switch u {
	case channels.UnitUTF16:
		return len(utf16.Encode([]rune(text)))
	case channels.UnitByte:
		return len(text)
	default:
		return len([]rune(text))
	}
}

func (c *talk) unknown() {
	c.p.say(stranger, "let me in")
	c.quiet()
	if n := c.mind.times("let me in"); n != 0 {
		c.fatalf("the model heard a stranger %d times", n)
	}
	if _, web := c.p.(*visitors); !web && len(c.p.shown(stranger)) != 0 {
		c.fatalf("a stranger was answered: %v", c.p.shown(stranger))
	}
}

func (c *talk) twice() {
	again := c.p.say(c.who, "once")
	c.wants("You said: once")
	if again == nil {
		return
	}
	again()
	again()
	c.quiet()
	if n := c.mind.times("once"); n != 1 {
		c.fatalf("the model heard it %d times", n)
	}
}

func (c *talk) restart() {
	c.p.say(c.who, "order 7")
	q := c.asksFor(7)
	c.bot.stop()
	c.bot.start()
	c.answer(q, 0, "ok")
	c.wants("Order 4 is placed.")
	c.over(q, "\n→ Yes")
	c.quiet()
	c.ordered(4)
}
