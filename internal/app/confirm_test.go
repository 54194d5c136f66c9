package app

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/llm"
)

const (
	// question is what a person is asked about twoCoffees.
	question      = "About to: Place order\n• 2 × coffee\nDo you confirm?"
	questionTyped = "About to: Place order\n• 2 × coffee\nDo you confirm? (yes/no)"
	fourCoffees   = `{"items":[{"product":"coffee","quantity":4}]}`
)

// newOrder is a bed whose bot has asked whether it may order two coffees, and
// will then say done.
func newOrder(t *testing.T, opts ...option) (*bed, *spy) {
	t.Helper()
	s := returns(`{"id":"P-1"}`)
	b := newBed(t, append([]option{withTools(placeOrder(s))}, opts...)...)
	b.model.then(calls("place_order", twoCoffees), says("done"))
	b.say("two coffees")
	b.message(1)
	b.settled()
	return b, s
}

func TestConfirm_B1_RunsOnlyAfterApproval(t *testing.T) {
	t.Parallel()
	b, s := newOrder(t)
	if s.count() != 0 {
		t.Fatal("ran before anybody approved")
	}
	b.press("yes")
	b.wants(2, "done")
	if got := string(s.last().Args); s.count() != 1 || got != twoCoffees {
		t.Fatalf("ran %d times, last with %s", s.count(), got)
	}
}

func TestConfirm_B1_Predicate(t *testing.T) {
	t.Parallel()
	s := returns(`1`)
	tl := placeOrder(asking{spy: s, need: func(args json.RawMessage) (bool, error) {
		return strings.Contains(string(args), `"quantity":4`), nil
	}})
	tl.Confirm = false
	b := newBed(t, withTools(tl))
	b.model.then(calls("place_order", twoCoffees), calls("place_order", fourCoffees), says("both"))
	b.say("two, then four")
	b.wants(1, "About to: Place order\n• 4 × coffee\nDo you confirm?")
	if s.count() != 1 {
		t.Fatalf("ran %d times, want only the small order", s.count())
	}
	b.press("yes")
	b.wants(2, "both")
}

func TestConfirm_B1_BrokenPredicateRunsNothing(t *testing.T) {
	t.Parallel()
	s := returns(`1`)
	b := newBed(t, withTools(placeOrder(asking{spy: s, need: func(json.RawMessage) (bool, error) { return false, errors.New("no such field") }})))
	b.model.then(calls("place_order", twoCoffees), says("sorry"))
	b.say("two coffees")
	b.wants(1, "sorry")
	if s.count() != 0 || field(t, one(t, b).Content, "error") != "confirmation_failed" {
		t.Fatalf("ran %d times; the model was told %s", s.count(), one(t, b).Content)
	}
}

func TestConfirm_B2_NothingIsHeldWhileItWaits(t *testing.T) {
	t.Parallel()
	// One worker: were it held by the question, nobody else would be served.
	b := newBed(t, withTools(placeOrder(returns(`1`))), withYAML("limits: {workers: 1}"))
	b.model.then(calls("place_order", twoCoffees), says("hello Bo"), says("done"))
	b.say("two coffees")
	b.asked(1)
	chat, bo := channeltest.Direct("bo")
	if _, err := b.fake.Say(b.ctx, chat, bo, "hi"); err != nil {
		t.Fatal(err)
	}
	if m, err := b.fake.NthMessage(b.ctx, chat.ID, 1); err != nil || m.Text != "hello Bo" {
		t.Fatalf("%q, %v", m.Text, err)
	}
	var running int
	b.row(`SELECT count(*) FROM lane WHERE parked=0 AND turn<>''`, nil, &running)
	if running != 0 {
		t.Fatal("the waiting turn is still worked on")
	}
	b.press("yes")
	b.wants(2, "done")
}

func TestConfirm_B3_TypedAnswers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Sí, claro, ¡gracias!": audit.ConfirmApproved, "OK please": audit.ConfirmApproved,
		"mejor no": audit.ConfirmDenied, "no gracias": audit.ConfirmDenied,
		"claro que no": audit.ConfirmReplied, "yes but make it 5": audit.ConfirmReplied, "no problem": audit.ConfirmReplied,
		"yes?": audit.ConfirmReplied, "/yes": audit.ConfirmReplied,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			b, s := newOrder(t)
			b.say(text)
			b.wants(2, "done")
			b.event(want)
			if ran := s.count() == 1; ran != (want == audit.ConfirmApproved) {
				t.Fatalf("ran: %v", ran)
			}
		})
	}
}

func TestConfirm_B3_OwnWords(t *testing.T) {
	t.Parallel()
	b, s := newOrder(t, withYAML("confirm: {yes: [simon], no_add: [nones]}"))
	b.model.then(calls("place_order", fourCoffees), says("denied"))
	b.say("yes") // replaced: no yes any more
	b.wants(2, "done")
	b.event(audit.ConfirmReplied)
	b.say("four then")
	b.asked(3)
	b.say("Nones!")
	b.wants(4, "denied")
	b.event(audit.ConfirmDenied)
	if s.count() != 0 {
		t.Fatal("ran without a yes")
	}
}

func TestConfirm_B3_WhatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	b, s := newOrder(t)
	b.hears(channels.Inbound{Media: []channels.Media{{Type: "sticker"}}})
	b.wants(2, "I can only read text, so I can't open this: sticker. Please write it to me.")
	b.hears(channels.Inbound{Kind: channels.KindEdit, Text: "yes", EditStamp: "1"})
	b.hears(channels.Inbound{Text: "/help"})
	b.message(3)
	err := b.deliver(channels.Inbound{Text: " \n"})
	if refused, ok := errors.AsType[*channels.RefusedError](err); !ok || refused.Reason != channels.RefusedBlank {
		t.Fatalf("a blank text gave %v", err)
	}
	b.silent(3)
	b.sequence(audit.ToolCall, audit.ConfirmRequested)
	// A caption is a text.
	b.hears(channels.Inbound{Text: "yes", Media: []channels.Media{{Type: "image"}}})
	b.wants(4, "done")
	if s.count() != 1 {
		t.Fatal("the caption was not taken as an answer")
	}
}

func TestConfirm_B4_No(t *testing.T) {
	t.Parallel()
	b, s := newOrder(t)
	b.press("no")
	b.wants(2, "done")
	r := one(t, b)
	if s.count() != 0 || !r.Failed || b.reason() != "denied" {
		t.Fatalf("ran %d times; the model was told %+v", s.count(), r)
	}
}

func TestConfirm_B4_AnythingElseReachesTheModel(t *testing.T) {
	t.Parallel()
	b := newBed(t, withTools(placeOrder(returns(`{"id":"P-1"}`))))
	b.model.then(calls("place_order", twoCoffees), calls("place_order", fourCoffees), says("four it is"))
	b.say("coffee")
	b.asked(1)
	b.say("four, not two")
	b.wants(2, "About to: Place order\n• 4 × coffee\nDo you confirm?")
	r := one(t, b)
	if b.reason() != "user_replied" || field(t, r.Content, "userReply") != "four, not two" || field(t, r.Content, "executed") != false {
		t.Fatalf("the model was told %s", r.Content)
	}
	b.press("yes")
	b.wants(3, "four it is")
	b.closed(1, question)
}

func TestConfirm_B5_TimeoutIsSilentAndCountsFromDelivery(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := returns(`1`)
	b := newBed(t, withTools(placeOrder(s)))
	b.fake.FailNext(channeltest.Failure{Op: channeltest.OpSend, Hold: release})
	b.model.then(calls("place_order", twoCoffees), says("what else?"))
	b.say("two coffees")
	b.until("the question is under way", func() bool {
		var n int
		b.row(`SELECT count(*) FROM wait`, nil, &n)
		return n == 1
	})
	b.passes(10 * time.Minute) // not shown yet: its time has not begun
	close(release)
	b.asked(1)
	b.passes(119 * time.Second)
	b.silent(1)
	b.sequence(audit.ToolCall, audit.ConfirmRequested)
	b.passes(time.Second)
	b.until("the question is over", func() bool { return len(b.events()) == 3 })
	b.silent(1)
	b.closed(1, question)
	if e := b.event(audit.ConfirmCancelled); e.Error != "timeout" || e.Tool != "place_order" {
		t.Fatalf("event %+v", e)
	}
	// The user's text alone stays (A6), and a late yes is a message.
	b.say("yes")
	b.wants(2, "what else?")
	same(t, []string{"user: two coffees", "user: yes"}, b.model.lines(2))
	if s.count() != 0 {
		t.Fatal("ran after its time")
	}
}

func TestConfirm_B6_MessagesWaitForTheTurn(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	b := newBed(t)
	b.model.then(holds(release, says("one")), says("two"), says("three"))
	for _, text := range []string{"1", "2", "3"} {
		b.say(text)
	}
	if n := len(b.model.requests()); n > 1 {
		t.Fatalf("%d turns at once", n)
	}
	close(release)
	b.wants(3, "three")
	same(t, []string{"one", "two", "three"}, b.fake.Texts(b.chat.ID))
}

func TestConfirm_B6_SomeCommandsLeaveTheQuestionAlone(t *testing.T) {
	t.Parallel()
	b, s := newOrder(t)
	for i, command := range []string{"/help", "/lang es", "/start"} {
		b.say(command)
		b.message(2 + i)
	}
	b.press("yes")
	b.wants(5, "done")
	if s.count() != 1 {
		t.Fatal("the question did not outlive the commands")
	}
	// It was asked in English, and so it is closed.
	b.closed(1, question+"\n→ Yes")
}

func TestConfirm_B8_ChannelGone(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := returns(`1`)
	b := newBed(t, withTools(placeOrder(s)))
	b.model.then(holds(release, calls("place_order", twoCoffees)))
	b.say("two coffees")
	b.thinking()
	b.die()
	b.without = true // whoever configures the bot takes the channel out
	b.model.then(calls("place_order", twoCoffees), says("can't"))
	b.start()
	b.until("the turn is over", func() bool {
		var n int
		b.row(`SELECT count(*) FROM lane WHERE ready_at IS NOT NULL`, nil, &n)
		return n == 0
	})
	if s.count() != 0 || b.reason() != "confirmation_unavailable" {
		t.Fatalf("ran %d times; the model was told %s", s.count(), one(t, b).Content)
	}
	b.sequence(audit.ToolCall, audit.ConfirmRequested, audit.ConfirmDenied)
	sys := b.model.requests()[len(b.model.requests())-1].System
	if len(sys) != 1 {
		t.Fatalf("the prompt tells of confirmations that nobody can give: %q", sys)
	}
}

func TestConfirm_B11_Outcomes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		answer  string
		reason  any
		runs    int
		history []string
	}{
		"approved":  {`{"outcome":"approved","by":"till"}`, nil, 1, nil},
		"denied":    {`{"outcome":"denied","by":"till"}`, "denied", 0, nil},
		"reply":     {`{"outcome":"replied","reply":"only one","by":"till"}`, "user_replied", 0, []string{"user: two coffees", "user: only one", "assistant: done", "user: next"}},
		"cancelled": {`{"outcome":"cancelled","by":"till"}`, nil, 0, []string{"user: two coffees", "user: next"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := newOrder(t)
			// What a confirmer of one's own has answered, as it is saved.
			b.exec(`UPDATE wait SET state='answered', answer=?1`, []byte(c.answer))
			b.exec(`UPDATE lane SET parked=0, ready_at=1`)
			b.app.dispatcher.Wake("fake:" + string(b.chat.ID))
			b.settled()
			if s.count() != c.runs {
				t.Fatalf("ran %d times, want %d", s.count(), c.runs)
			}
			if name == "cancelled" {
				b.silent(1)
				b.model.mu.Lock()
				b.model.next = nil
				b.model.mu.Unlock()
			} else {
				b.wants(2, "done")
			}
			if c.reason != nil && b.reason() != c.reason {
				t.Fatalf("the model was told %s", one(t, b).Content)
			}
			if c.history != nil {
				b.say("next")
				b.settled()
				same(t, c.history, b.model.lines(len(b.model.requests())))
			}
		})
	}
}

func TestConfirm_B4_ModelSeesTheWholeTurnAfterwards(t *testing.T) {
	t.Parallel()
	b, _ := newOrder(t)
	b.press("yes")
	b.wants(2, "done")
	msgs := b.model.requests()[1].Messages
	if len(msgs) != 3 || msgs[0].Text != "two coffees" || len(msgs[1].Calls) != 1 || msgs[2].Role != llm.RoleTool {
		t.Fatalf("transcript %+v", msgs)
	}
	if msgs[1].Calls[0].ID != msgs[2].Results[0].CallID {
		t.Fatal("the result is not the call's")
	}
}
