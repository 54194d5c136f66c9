package app

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/store"
)

const expired = "That confirmation is no longer active."

// acks are the acknowledgements so far.
func (b *bed) acks() (out []channels.PressAck) {
	for _, e := range b.fake.Events() {
		if e.Op == channeltest.OpAck {
			out = append(out, e.Ack)
		}
	}
	return out
}

// crowd is a group chat with three people.
func crowd() (channels.Chat, []channels.User) {
	chat := channels.Chat{ID: "the-crowd", Group: true}
	return chat, []channels.User{{ID: "ana", Name: "Ana"}, {ID: "bo", Name: "Bo"}, {ID: "cy", Name: "Cy"}}
}

// newGroup is a bed in a group whose first person was asked about two coffees.
func newGroup(t *testing.T, shared bool, opts ...option) (*bed, *spy, []channels.User) {
	t.Helper()
	g := config.Groups{}
	if shared {
		g.Session = "group"
	}
	s := returns(`{"id":"P-1"}`)
	b := newBed(t, append([]option{withTools(placeOrder(s)), withGroups(g)}, opts...)...)
	var people []channels.User
	b.chat, people = crowd()
	b.user = people[0]
	b.model.then(calls("place_order", twoCoffees), says("done"))
	b.hears(channels.Inbound{Text: "two coffees", Mentioned: true})
	b.message(1)
	b.settled()
	return b, s, people
}

func TestConfirm_B12_WhoMayPress(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, yaml string
		may        string // ids of those who may
	}{
		{"requester", "", "ana"},
		{"anyone", "confirm: {answer_by: anyone}", "ana bo cy"},
		{"named", "confirm: {answer_by: [cy]}", "cy"},
	}
	for _, c := range cases {
		for i, who := range []string{"ana", "bo", "cy"} {
			t.Run(c.name+" "+who, func(t *testing.T) {
				t.Parallel()
				b, s, people := newGroup(t, true, withYAML(c.yaml))
				b.user = people[i]
				ack := b.press("yes")
				b.settled()
				if strings.Contains(c.may, who) {
					b.wants(2, "done")
					if ack.Outcome != channels.PressAccepted || s.count() != 1 || b.event(audit.ConfirmApproved).Actor != who {
						t.Fatalf("%+v, ran %d times, by %s", ack, s.count(), b.event(audit.ConfirmApproved).Actor)
					}
					return
				}
				want := channels.PressAck{Outcome: channels.PressNotYours, Notice: "Only the person who was asked can answer this."}
				same(t, want, ack)
				b.silent(1)
				if m := b.message(1); s.count() != 0 || len(m.Buttons) != 2 {
					t.Fatalf("ran %d times, the question reads %q", s.count(), m.Text)
				}
			})
		}
	}
}

func TestConfirm_B12_TypedInAGroup(t *testing.T) {
	t.Parallel()
	const no = ""
	cases := []struct {
		name, yaml string
		who        int
		text       string
		reply      bool // to the question's message
		mention    bool
		want       string // event; no: the question stays open
	}{
		{"requester's clear yes", "", 0, "yes", false, false, audit.ConfirmApproved},
		{"requester's clear no", "", 0, "no", false, false, audit.ConfirmDenied},
		{"requester chats on", "", 0, "what a day", false, false, no},
		{"requester replies", "", 0, "make it three", true, false, audit.ConfirmReplied},
		{"somebody's yes", "", 1, "yes", false, false, no},
		{"somebody's reply", "", 1, "yes", true, false, no},
		{"anyone's yes", "confirm: {answer_by: anyone}", 1, "yes", false, false, no},
		{"anyone's reply", "confirm: {answer_by: anyone}", 1, "yes", true, false, audit.ConfirmApproved},
		{"anyone's other reply", "confirm: {answer_by: anyone}", 1, "three!", true, false, audit.ConfirmReplied},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, s, people := newGroup(t, true, withYAML(c.yaml))
			in := channels.Inbound{Text: c.text, From: people[c.who], Mentioned: c.mention}
			if c.reply {
				in.ReplyTo = b.message(1).ID
			}
			b.hears(in)
			if c.want == no {
				b.silent(1)
				b.sequence(audit.ToolCall, audit.ConfirmRequested)
				return
			}
			b.wants(2, "done")
			if e := b.event(c.want); e.Actor != string(people[c.who].ID) {
				t.Fatalf("event %+v", e)
			}
			if ran := s.count() == 1; ran != (c.want == audit.ConfirmApproved) {
				t.Fatalf("ran: %v", ran)
			}
		})
	}
}

func TestConfirm_B12_AddressedToTheBotWaitsInASharedSession(t *testing.T) {
	t.Parallel()
	b, s, people := newGroup(t, true)
	b.model.then(says("hello Bo"))
	b.hears(channels.Inbound{Text: "hi bot", From: people[1], Mentioned: true})
	b.silent(1)
	b.press("yes")
	b.wants(3, "hello Bo")
	if s.count() != 1 {
		t.Fatal("somebody's message came in the way of the answer")
	}
}

func TestConfirm_B12_SessionsOfOnePerson(t *testing.T) {
	t.Parallel()
	b, s, people := newGroup(t, false)
	// Somebody else has a session of their own, which nothing holds up.
	b.model.mu.Lock()
	b.model.next = nil
	b.model.always = says("fine")
	b.model.mu.Unlock()
	b.hears(channels.Inbound{Text: "hi bot", From: people[1], Mentioned: true})
	b.wants(2, "fine")
	b.hears(channels.Inbound{Text: "yes", From: people[1]})
	b.silent(2)
	if s.count() != 0 {
		t.Fatal("another person's yes counted")
	}
	// Every text of the one who was asked answers.
	b.hears(channels.Inbound{Text: "with milk", From: people[0]})
	b.wants(3, "fine")
	b.event(audit.ConfirmReplied)
}

func TestConfirm_B12_OfSeveralOnlyAReplyOrAPressCounts(t *testing.T) {
	t.Parallel()
	s := returns(`1`)
	b := newBed(t, withTools(placeOrder(s)), withGroups(config.Groups{Session: "group"}))
	b.chat, _ = crowd()
	b.user = channels.User{ID: "ana"}
	b.model.always = func(_ context.Context, req llm.Request) (llm.Response, error) {
		if last := req.Messages[len(req.Messages)-1]; last.Role == llm.RoleTool {
			return llm.Response{Text: "done", Stop: llm.StopEnd}, nil
		}
		return llm.Response{Stop: llm.StopCalls, Calls: []llm.Call{{ID: "a", Name: "place_order", Args: twoCoffees}}}, nil
	}
	// Two threads of one chat, a question in each.
	one, two := b.chat, b.chat
	one.Thread, two.Thread = "1", "2"
	b.hears(channels.Inbound{Text: "two coffees", Chat: one, Mentioned: true})
	b.asked(1)
	b.hears(channels.Inbound{Text: "two coffees", Chat: two, Mentioned: true})
	b.asked(2)
	b.hears(channels.Inbound{Text: "yes", Chat: one})
	b.silent(2)
	if s.count() != 0 {
		t.Fatal("a yes that could be to either was taken")
	}
	b.hears(channels.Inbound{Text: "yes", Chat: two, ReplyTo: b.message(2).ID})
	b.wants(3, "done")
	b.closed(2, question+"\n→ Yes")
	if m := b.message(1); len(m.Buttons) != 2 {
		t.Fatal("the other question is gone")
	}
	b.hears(channels.Inbound{Text: "no", Chat: one}) // now it is plain which
	b.wants(4, "done")
	b.event(audit.ConfirmDenied)
}

func TestConfirm_B20_LabelsAndTypedAnswers(t *testing.T) {
	t.Parallel()
	b, s := newOrder(t, withYAML("bot: {lang: es}"))
	m := b.message(1)
	if m.Text != "Voy a: Place order\n• 2 × coffee\n¿Confirmas?" || m.Buttons[0].Label != "Sí" || m.Buttons[1].Label != "No" {
		t.Fatalf("%q %+v", m.Text, m.Buttons)
	}
	b.say("dale") // typing works beside buttons
	b.wants(2, "done")
	b.closed(1, m.Text+"\n→ Sí")
	if s.count() != 1 {
		t.Fatal("the typed answer did not count")
	}
}

func TestConfirm_B20_AcknowledgedOnceBeforeTheModel(t *testing.T) {
	t.Parallel()
	b, _ := newOrder(t)
	release := make(chan struct{})
	b.model.mu.Lock()
	b.model.next = []answer{holds(release, says("done"))}
	b.model.mu.Unlock()
	ack := b.press("yes") // returns although the model doesn't
	same(t, channels.PressAck{Outcome: channels.PressAccepted}, ack)
	close(release)
	b.wants(2, "done")
	b.settled()
	same(t, []channels.PressAck{ack}, b.acks())
	var ops []channeltest.Op
	for _, e := range b.fake.Events() {
		if e.Op != channeltest.OpTyping {
			ops = append(ops, e.Op)
		}
	}
	if len(ops) != 4 || ops[1] != channeltest.OpAck {
		t.Fatalf("the platform was called in the order %v, want the acknowledgement right after the question", ops)
	}
}

func TestConfirm_B20_BareWhereTheCommitTakesLong(t *testing.T) {
	t.Parallel()
	slow := &slowDB{hold: make(chan struct{})}
	b, s := newOrder(t, func(b *bed) {
		b.wrap = func(db store.DB) store.DB { slow.DB = db; return slow }
	})
	slow.on.Store(true)
	pressed := make(chan channels.PressAck, 1)
	go func() {
		ack, err := b.fake.PressValue(b.ctx, b.chat, b.user, "yes")
		if err != nil {
			t.Error(err)
		}
		pressed <- ack
	}()
	if _, err := b.fake.NthAck(b.ctx, b.chat.ID, 1); err != nil {
		t.Fatal(err)
	}
	slow.on.Store(false)
	close(slow.hold)
	same(t, channels.PressAck{Outcome: channels.PressPending}, <-pressed)
	b.wants(2, "done")
	if s.count() != 1 || len(b.acks()) != 1 {
		t.Fatalf("ran %d times, acknowledged %d times", s.count(), len(b.acks()))
	}
}

func TestConfirm_B21_HowAQuestionReadsAfterwards(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		end  func(b *bed)
		want string
	}{
		"press yes": {func(b *bed) { b.press("yes") }, question + "\n→ Yes"},
		"press no":  {func(b *bed) { b.press("no") }, question + "\n→ No"},
		"typed yes": {func(b *bed) { b.say("vale") }, question + "\n→ Yes"},
		"typed no":  {func(b *bed) { b.say("nope") }, question + "\n→ No"},
		"reply":     {func(b *bed) { b.say("make it tea") }, question},
		"timeout":   {func(b *bed) { b.passes(2 * time.Minute) }, question},
		"reset":     {func(b *bed) { b.say("/reset") }, question},
		"cancel":    {func(b *bed) { b.say("/cancel") }, question},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := newOrder(t)
			c.end(b)
			if _, err := b.fake.NthEdit(b.ctx, b.chat.ID, 1); err != nil {
				t.Fatal(err)
			}
			b.closed(1, c.want)
		})
	}
}

func TestConfirm_B22_StalePresses(t *testing.T) {
	t.Parallel()
	b, s := newOrder(t)
	old := b.message(1).Buttons
	b.press("no")
	b.wants(2, "done")
	b.model.then(calls("place_order", twoCoffees), says("second"))
	b.say("again")
	fresh := b.asked(3).Buttons
	if old[0].ID == fresh[0].ID || old[1].ID == fresh[1].ID {
		t.Fatal("two questions share a button id")
	}
	for _, button := range []channels.ButtonID{old[0].ID, old[1].ID, "AAAAAAAAAAAAAAAA.y", "no button of ours at all"} {
		ack, err := b.fake.Press(b.ctx, b.chat, b.user, button)
		if err != nil || ack.Outcome != channels.PressStale || ack.Notice != "" {
			t.Fatalf("a stale press gave %+v, %v", ack, err)
		}
	}
	b.silent(3)
	if s.count() != 0 || len(b.model.requests()) != 3 {
		t.Fatal("a stale press did something")
	}
	b.press("yes")
	b.wants(4, "second")
}

func TestConfirm_B22_ButtonOfAnotherChat(t *testing.T) {
	t.Parallel()
	b, s := newOrder(t)
	chat, bo := channeltest.Direct("bo")
	for _, button := range b.message(1).Buttons {
		if ack, err := b.fake.Press(b.ctx, chat, bo, button.ID); err != nil || ack.Outcome == channels.PressAccepted {
			t.Fatalf("%+v, %v", ack, err)
		}
	}
	b.silent(1)
	if s.count() != 0 {
		t.Fatal("a button worked in another chat")
	}
	b.press("yes")
	b.wants(2, "done")
}

func TestConfirm_B23_ButtonsWithoutEdits(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, yaml string
		want       []string // said after a press and a stale one
	}{
		{"as it comes", "", []string{"done", expired}},
		{"no notice", "confirm: {expired_notice: false}", []string{"done"}},
		{"answered notice", "confirm: {answered_notice: true}", []string{"Answer received: Yes.", "done", expired}},
		{"spanish", "bot: {lang: es}\nconfirm: {answered_notice: true}", []string{"Respuesta recibida: Sí.", "done", "Esa confirmación ya no está activa."}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, s := newOrder(t, withCaps(channeltest.ButtonsOnly()), withYAML(c.yaml))
			button := b.message(1).Buttons[0].ID
			press := func() {
				if _, err := b.fake.Press(b.ctx, b.chat, b.user, button); err != nil {
					t.Fatal(err)
				}
			}
			press()
			b.message(len(c.want) - strings.Count(strings.Join(c.want, "\n"), "activ") + 1)
			b.settled()
			press()
			b.settled()
			same(t, c.want, b.fake.Texts(b.chat.ID)[1:])
			if s.count() != 1 {
				t.Fatalf("ran %d times", s.count())
			}
		})
	}
}

func TestConfirm_B23_TypedAnswersGetNoNotice(t *testing.T) {
	t.Parallel()
	b, _ := newOrder(t, withCaps(channeltest.ButtonsOnly()), withYAML("confirm: {answered_notice: true}"))
	b.say("yes")
	b.wants(2, "done")
	b.silent(2)
}

func TestConfirm_B23_NoNoticesWhereButtonsAreEditedAway(t *testing.T) {
	t.Parallel()
	b, _ := newOrder(t, withYAML("confirm: {answered_notice: true}"))
	button := b.message(1).Buttons[0].ID
	b.press("yes")
	b.wants(2, "done")
	if _, err := b.fake.Press(b.ctx, b.chat, b.user, button); err != nil {
		t.Fatal(err)
	}
	b.silent(2)
}

func TestConfirm_B24_TextOnly(t *testing.T) {
	t.Parallel()
	b, s := newOrder(t, withCaps(channeltest.TextOnly()), withYAML("confirm: {answered_notice: true}"))
	if m := b.message(1); m.Text != questionTyped || len(m.Buttons) != 0 {
		t.Fatalf("%q %v", m.Text, m.Buttons)
	}
	b.say("si")
	b.wants(2, "done")
	b.silent(2)
	// A late answer is ordinary text.
	b.model.then(says("yes what?"))
	b.say("yes")
	b.wants(3, "yes what?")
	if s.count() != 1 {
		t.Fatalf("ran %d times", s.count())
	}
}

func TestConfirm_B25_WithoutButtons(t *testing.T) {
	t.Parallel()
	b, s := newOrder(t, withYAML("confirm: {buttons: false}"))
	if m := b.message(1); m.Text != questionTyped || len(m.Buttons) != 0 {
		t.Fatalf("%q %v", m.Text, m.Buttons)
	}
	b.say("yes")
	b.wants(2, "done")
	b.settled()
	if m := b.message(1); m.Edits != 0 || s.count() != 1 {
		t.Fatalf("%d edits, ran %d times", m.Edits, s.count())
	}
}
