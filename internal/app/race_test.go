package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/tool"
)

// orderOnce is a model that orders where a person asks for coffee, and else
// says what it was told.
func orderOnce(_ context.Context, req llm.Request) (llm.Response, error) {
	last := req.Messages[len(req.Messages)-1]
	if last.Role == llm.RoleUser && strings.HasPrefix(last.Text, "coffee") {
		return llm.Response{Stop: llm.StopCalls, Calls: []llm.Call{{ID: "a", Name: "place_order", Args: twoCoffees}}}, nil
	}
	return llm.Response{Text: "said", Stop: llm.StopEnd}, nil
}

// asks puts one question to each of n people.
func (b *bed) asks(n int) (people []channels.User, chats []channels.Chat) {
	b.t.Helper()
	b.model.always = orderOnce
	for i := range n {
		chat, who := channeltest.Direct(fmt.Sprint("p", i))
		chats, people = append(chats, chat), append(people, who)
		if _, err := b.fake.Say(b.ctx, chat, who, "coffee"); err != nil {
			b.t.Fatal(err)
		}
	}
	for _, chat := range chats {
		if _, err := b.fake.NthMessage(b.ctx, chat.ID, 1); err != nil {
			b.t.Fatal(err)
		}
	}
	b.quiet()
	return people, chats
}

// quiet waits until no chat of the bot has anything to do.
func (b *bed) quiet() {
	b.t.Helper()
	b.until("all chats are quiet", func() bool {
		var busy int
		b.row(`SELECT (SELECT count(*) FROM lane WHERE ready_at IS NOT NULL) + (SELECT count(*) FROM chat WHERE sent_seq<out_seq)`, nil, &busy)
		return busy == 0
	})
}

// TestConfirm_B26_RacesResolveOnce lets a double press, a press of the other
// button, a typed answer and the timeout race in 100 chats.
func TestConfirm_B26_RacesResolveOnce(t *testing.T) {
	t.Parallel()
	const rounds = 100
	var ran sync.Map
	s := &spy{do: func(_ context.Context, c tool.Call) (tool.Result, error) {
		if _, twice := ran.LoadOrStore(c.Identity.ChatKey, true); twice {
			t.Errorf("%s ran twice", c.Identity.ChatKey)
		}
		return tool.Result{}, nil
	}}
	b := newBed(t, withTools(placeOrder(s)), withYAML("limits: {per_user: 1000/1m}"))
	people, chats := b.asks(rounds)

	accepted := make([]atomic.Int32, rounds)
	var all sync.WaitGroup
	start := make(chan struct{})
	for i, chat := range chats {
		for _, button := range b.fake.Messages(chat.ID)[0].Buttons {
			in := channels.Inbound{Kind: channels.KindPress, Chat: chat, From: people[i], Button: button.ID}
			for twice := range 2 {
				in.ID = channels.MessageID(fmt.Sprint("press-", button.Value, twice))
				all.Go(func() {
					<-start
					ack, err := b.fake.Press(b.ctx, in.Chat, in.From, in.Button)
					if err != nil {
						t.Error(err)
					}
					if ack.Outcome == channels.PressAccepted {
						accepted[i].Add(1)
					}
				})
			}
		}
		all.Go(func() {
			<-start
			if _, err := b.fake.Say(b.ctx, chat, people[i], "yes"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Go(func() {
		<-start
		b.passes(2 * time.Minute)
	})
	close(start)
	all.Wait()
	b.passes(2 * time.Minute)
	b.until("every question is over", func() bool {
		var n int
		b.row(`SELECT count(*) FROM wait WHERE state='pending'`, nil, &n)
		return n == 0
	})
	b.quiet()

	ends := map[string][]audit.Event{}
	for _, e := range b.events() {
		if strings.HasPrefix(e.Type, "tool.confirm.") && e.Type != audit.ConfirmRequested {
			ends[e.ChatKey] = append(ends[e.ChatKey], e)
		}
	}
	for i, chat := range chats {
		key := "fake:" + string(chat.ID)
		if len(ends[key]) != 1 {
			t.Errorf("%s: the question ended %d times", key, len(ends[key]))
			continue
		}
		_, did := ran.Load(key)
		end := ends[key][0].Type
		if did != (end == audit.ConfirmApproved) {
			t.Errorf("%s: %s, and the tool ran: %v", key, end, did)
		}
		if n := accepted[i].Load(); n > 1 || n == 1 && end != audit.ConfirmApproved && end != audit.ConfirmDenied {
			t.Errorf("%s: %s, and %d presses were accepted", key, end, n)
		}
		want := question
		switch end {
		case audit.ConfirmApproved:
			want += "\n→ Yes"
		case audit.ConfirmDenied:
			want += "\n→ No"
		}
		if m := b.fake.Messages(chat.ID)[0]; m.Text != want || len(m.Buttons) > 0 || m.Edits != 1 {
			t.Errorf("%s: %s reads %q after %d edits", key, end, m.Text, m.Edits)
		}
	}
}

func TestConfirm_B26_TheSamePressDeliveredTwice(t *testing.T) {
	t.Parallel()
	b, s := newOrder(t)
	in := channels.Inbound{Kind: channels.KindPress, ID: "once", Chat: b.chat, From: b.user, Button: b.message(1).Buttons[0].ID}
	// A platform that lost our acknowledgement delivers again.
	b.hears(in)
	b.wants(2, "done")
	b.hears(in)
	b.silent(2)
	yes := channels.PressAck{Outcome: channels.PressAccepted}
	same(t, []channels.PressAck{yes, yes}, b.acks())
	if s.count() != 1 {
		t.Fatalf("ran %d times", s.count())
	}
}

func TestConfirm_B26_AnAnswerInTimeWinsHoweverLongItTakes(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s, begun := stuck(release, `{"id":"P-1"}`)
	b := newBed(t, withTools(placeOrder(s)))
	b.model.then(calls("place_order", twoCoffees), says("done"))
	b.say("two coffees")
	b.asked(1)
	b.press("yes")
	b.soon(begun, "the tool to begin")
	b.passes(time.Hour)
	close(release)
	b.wants(2, "done")
	b.sequence(audit.ToolCall, audit.ConfirmRequested, audit.ConfirmApproved, audit.ToolResult)
}

func TestConfirm_B26_AfterTheExpiryNothingCounts(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"press", "text"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			b, s := newOrder(t)
			b.model.mu.Lock()
			b.model.next = nil
			b.model.always = says("said")
			b.model.mu.Unlock()
			// The time is over, and nobody has noticed yet.
			b.clock.advance(2 * time.Minute)
			if how == "press" {
				same(t, channels.PressAck{Outcome: channels.PressStale}, b.press("yes"))
			} else {
				b.say("yes")
			}
			b.app.dispatcher.Deadline(time.Now())
			b.until("the question is over", func() bool { return slices.Contains(b.types(), audit.ConfirmCancelled) })
			b.settled()
			if how == "text" {
				b.wants(2, "said") // it was a message like any other
			}
			if s.count() != 0 {
				t.Fatal("an answer that came too late counted")
			}
			b.event(audit.ConfirmCancelled)
		})
	}
}
