package app

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/tool"
)

func TestDurable_G1_TheSameMessageAgain(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.model.always = says("once")
	in := channels.Inbound{ID: "m-1", Text: "hi"}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			c := in
			c.Kind, c.Chat, c.From = channels.KindMessage, b.chat, b.user
			if err := b.fake.Deliver(b.ctx, c); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	b.wants(1, "once")
	b.silent(1)
	b.crash()
	b.hears(in)
	b.hears(channels.Inbound{ID: "m-2", Text: "/help"})
	b.message(2)
	b.hears(channels.Inbound{ID: "m-2", Text: "/help"})
	b.silent(2)
	if n := len(b.model.requests()); n != 1 {
		t.Fatalf("%d turns", n)
	}
}

func TestDurable_G1_AcceptedMeansCommitted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	hold := make(chan struct{})
	defer close(hold)
	b.model.then(holds(hold, says("never")), says("one"), says("two"))
	b.say("1")
	b.thinking()
	b.say("2")
	b.crash() // what was accepted is answered, in order
	b.wants(2, "two")
	same(t, []string{"one", "two"}, b.fake.Texts(b.chat.ID))
	same(t, []string{"user: 1", "assistant: one", "user: 2"}, b.model.lines(3))
}

func TestDurable_G2_ChatsDoNotDelayEachOther(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s, begun := stuck(release, `1`)
	b := newBed(t, withTools(plain("slow", s)))
	b.model.then(calls("slow", ""))
	b.say("slow one")
	b.soon(begun, "the tool to begin")
	b.say("and then?") // waits in its chat
	b.model.always = says("at once")
	for i := range 5 {
		chat, who := channeltest.Direct(fmt.Sprint("other", i))
		if _, err := b.fake.Say(b.ctx, chat, who, "hi"); err != nil {
			t.Fatal(err)
		}
		if m, err := b.fake.NthMessage(b.ctx, chat.ID, 1); err != nil || m.Text != "at once" {
			t.Fatalf("%q, %v", m.Text, err)
		}
	}
	if got := b.fake.Texts(b.chat.ID); len(got) != 0 {
		t.Fatalf("the slow chat said %q", got)
	}
	close(release)
	b.message(2)
	b.silent(2)
}

// TestDurable_G3_KilledAtAnyCommit kills the bot before and after each commit
// of a turn with a plain call, a confirmed one and a question, and goes on
// with what is on the disk.
func TestDurable_G3_KilledAtAnyCommit(t *testing.T) {
	t.Parallel()
	for _, phase := range []string{"before", "after"} {
		for n := int64(1); n <= 14; n++ {
			t.Run(fmt.Sprint(phase, n), func(t *testing.T) {
				t.Parallel()
				killedAt(t, n, phase)
			})
		}
	}
}

func killedAt(t *testing.T, n int64, phase string) {
	ran := returns(`{"id":"P-1"}`)
	b := newBed(t, withCaps(channeltest.Idempotent()), withTools(plain("look", returns(`"menu"`)), placeOrder(ran)))
	b.model.always = lookThenOrder
	in := channels.Inbound{ID: "m-1", Text: "coffee"}
	b.crashAt(n, phase)
	k := &killing{bed: b, killed: b.commits.crashed}
	k.again(func() error { return b.deliver(in) })
	k.until(func() bool { return len(b.fake.Texts(b.chat.ID)) >= 1 && b.idle(b.chat) })
	press := channels.Inbound{Kind: channels.KindPress, ID: "p-1", Button: b.message(1).Buttons[0].ID}
	k.again(func() error { return b.deliver(press) })
	k.until(func() bool { return len(b.fake.Texts(b.chat.ID)) >= 2 && b.idle(b.chat) })
	k.end()
	if m := b.message(2); m.Text != "ordered P-1" && m.Text != "unsure" {
		t.Fatalf("the bot said %q", b.fake.Texts(b.chat.ID))
	}
	b.silent(2)
	if b.message(2).Text == "ordered P-1" && ran.count() != 1 || ran.count() > 1 {
		t.Fatalf("ran %d times, and the bot said %q", ran.count(), b.message(2).Text)
	}
	b.closed(1, question+"\n→ Yes")
	ends := 0
	for _, e := range b.events() {
		if e.Tool == "place_order" && (e.Type == audit.ToolResult || e.Type == audit.OutcomeUnknown) {
			ends++
		}
	}
	if ends != 1 {
		t.Fatalf("the order ended %d times: %v", ends, b.types())
	}
}

// killing goes on with a bot that is killed once at some time.
type killing struct {
	*bed
	killed <-chan struct{}
	over   bool
}

// look starts the bot again where it was killed.
func (k *killing) look() bool {
	select {
	case <-k.killed:
		if !k.over {
			k.over = true
			k.dies()
			k.start()
			return true
		}
	default:
	}
	return false
}

// again has the platform repeat what the bot was killed over.
func (k *killing) again(do func() error) {
	k.t.Helper()
	for {
		err := do()
		if revived := k.look(); err == nil {
			return
		} else if !revived {
			k.t.Fatal(err)
		}
	}
}

// until waits until cond holds, whether the bot is killed before or not.
func (k *killing) until(cond func() bool) {
	k.t.Helper()
	for {
		next := k.commits.next()
		if k.look() {
			continue
		}
		if cond() {
			return
		}
		killed := k.killed
		if k.over {
			killed = nil
		}
		select {
		case <-next:
		case <-killed:
		case <-k.ctx.Done():
			k.t.Fatalf("killed: %v; the bot said %q\n%s", k.over, k.fake.Texts(k.chat.ID), k.logs)
		}
	}
}

// end is for a turn that took fewer commits than it was to be killed after.
func (k *killing) end() {
	k.t.Helper()
	if !k.over && k.app.st.Ping(k.ctx) != nil {
		k.look()
	}
	k.settled()
}

// lookThenOrder is a model that knows by its transcript what comes next.
func lookThenOrder(_ context.Context, req llm.Request) (llm.Response, error) {
	last := req.Messages[len(req.Messages)-1]
	call := func(name, args string) (llm.Response, error) {
		return llm.Response{Stop: llm.StopCalls, Calls: []llm.Call{{ID: "a", Name: name, Args: args}}}, nil
	}
	say := func(text string) (llm.Response, error) { return llm.Response{Text: text, Stop: llm.StopEnd}, nil }
	switch {
	case last.Role == llm.RoleUser:
		return call("look", "")
	case last.Results[0].Name == "look":
		return call("place_order", twoCoffees)
	case last.Results[0].Failed:
		return say("unsure")
	default:
		return say("ordered P-1")
	}
}

func TestDurable_G3_QuestionOutlivesRestarts(t *testing.T) {
	t.Parallel()
	b, s := newOrder(t)
	b.restart()
	b.crash()
	b.settled()
	b.press("yes")
	b.wants(2, "done")
	b.closed(1, question+"\n→ Yes")
	if s.count() != 1 || len(b.model.requests()) != 2 {
		t.Fatalf("ran %d times, %d requests", s.count(), len(b.model.requests()))
	}
}

func TestDurable_G3_TimeRunsWhileTheBotIsDown(t *testing.T) {
	t.Parallel()
	b, s := newOrder(t)
	b.die()
	b.clock.advance(2 * time.Minute)
	b.start()
	b.until("the question is over", func() bool { return len(b.events()) == 3 })
	b.closed(1, question)
	b.event(audit.ConfirmCancelled)
	if s.count() != 0 {
		t.Fatal("ran unasked")
	}
}

func TestDurable_G4_AfterACrash(t *testing.T) {
	t.Parallel()
	for _, effect := range []tool.Effect{tool.Read, tool.Idempotent, tool.Unsafe, ""} {
		t.Run("effect "+string(effect), func(t *testing.T) {
			t.Parallel()
			begun := make(chan struct{}, 2)
			var mu sync.Mutex
			hang := true
			s := &spy{do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				begun <- struct{}{}
				mu.Lock()
				h := hang
				mu.Unlock()
				if h {
					<-ctx.Done()
					return tool.Stopped(ctx, time.Second), nil
				}
				return tool.Result{Value: json.RawMessage(`{"id":"P-1"}`)}, nil
			}}
			tl := placeOrder(s)
			tl.Effect = effect
			b := newBed(t, withTools(tl))
			b.model.then(calls("place_order", twoCoffees), says("over"))
			b.say("two coffees")
			b.asked(1)
			b.press("yes")
			b.soon(begun, "the tool to begin")
			first := s.last().ID
			b.die()
			mu.Lock()
			hang = false
			mu.Unlock()
			b.start()
			b.wants(2, "over")
			r := one(t, b)
			if effect == tool.Read || effect == tool.Idempotent {
				if s.count() != 2 || s.last().ID != first || r.Content != `{"id":"P-1"}` {
					t.Fatalf("ran %d times, as %s after %s; the model was told %s", s.count(), s.last().ID, first, r.Content)
				}
				b.sequence(audit.ToolCall, audit.ConfirmRequested, audit.ConfirmApproved, audit.ToolResult)
				return
			}
			if s.count() != 1 || field(t, r.Content, "executed") != "unknown" || !r.Failed {
				t.Fatalf("ran %d times; the model was told %s", s.count(), r.Content)
			}
			b.sequence(audit.ToolCall, audit.ConfirmRequested, audit.ConfirmApproved, audit.OutcomeUnknown)
		})
	}
}

func TestDurable_G4_WhatWasUnsafeWhenItBeganIsNotRepeated(t *testing.T) {
	t.Parallel()
	s, begun := stuck(nil, `1`)
	b := newBed(t, withTools(placeOrder(s)))
	b.model.then(calls("place_order", twoCoffees), says("over"))
	b.say("two coffees")
	b.asked(1)
	b.press("yes")
	b.soon(begun, "the tool to begin")
	b.die()
	b.tools[0].Effect = tool.Idempotent
	b.start()
	b.wants(2, "over")
	if s.count() != 1 || field(t, one(t, b).Content, "executed") != "unknown" {
		t.Fatalf("ran %d times; the model was told %s", s.count(), one(t, b).Content)
	}
}

func TestDurable_G4_Timeouts(t *testing.T) {
	t.Parallel()
	for _, effect := range []tool.Effect{tool.Read, tool.Idempotent, tool.Unsafe} {
		t.Run(string(effect), func(t *testing.T) {
			t.Parallel()
			s, _ := stuck(nil, `1`)
			tl := plain("slow", s)
			own := 10 * time.Millisecond
			tl.Timeout, tl.Effect = &own, effect
			b := newBed(t, withTools(tl))
			b.model.then(calls("slow", ""), says("over"))
			b.say("go")
			b.wants(1, "over")
			r := one(t, b)
			unknown := field(t, r.Content, "executed") == "unknown"
			if field(t, r.Content, "error") != "timeout" || unknown != (effect == tool.Unsafe) {
				t.Fatalf("the model was told %s", r.Content)
			}
		})
	}
}

func TestDurable_G8_WorkThatIsCutShortThreeTimesFails(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	hold := make(chan struct{})
	defer close(hold)
	b.model.always = holds(hold, says("never"))
	b.say("poison")
	b.say("next")
	for range 3 {
		b.thinking()
		b.die()
		b.start()
	}
	b.wants(1, sorry)
	rows, err := b.app.st.ListChats(b.ctx, "", 10)
	if err != nil || len(rows) != 1 || rows[0].Failed == "" {
		t.Fatalf("%+v, %v", rows, err)
	}
	// The next one isn't to blame.
	b.thinking()
	b.until("the answer is known to be sent", func() bool {
		var open int
		b.row(`SELECT count(*) FROM chat WHERE sent_seq<out_seq`, nil, &open)
		return open == 0
	})
	b.die()
	b.model.mu.Lock()
	b.model.always = says("hello")
	b.model.mu.Unlock()
	b.start()
	b.wants(2, "hello")
	lines := b.model.lines(len(b.model.requests()))
	same(t, []string{"user: poison", "user: next"}, lines)
}

func TestDurable_G8_CommittedStepsSetTheCountBack(t *testing.T) {
	t.Parallel()
	b := newBed(t, withTools(plain("look", returns(`1`))), withYAML("loop: {max_steps: 20}"))
	hold := make(chan struct{})
	defer close(hold)
	// Each start gets one step further before it is killed.
	for range 4 {
		b.model.then(calls("look", ""), holds(hold, says("never")))
	}
	b.model.always = says("through")
	b.say("long work")
	for range 4 {
		b.thinking()
		b.thinking()
		b.die()
		b.start()
	}
	b.wants(1, "through")
}

// A process that doesn't have the channel, such as parley chat, leaves its
// messages to one that has: there nobody could be asked, nor answered.
func TestDurable_G3_AMessageWaitsForItsChannel(t *testing.T) {
	t.Parallel()
	b := newBed(t, withTools(placeOrder(returns(`{"id":"P-1"}`))))
	if err := b.app.dispatcher.Stop(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.model.then(calls("place_order", twoCoffees), says("done"))
	b.say("two coffees")
	b.stop()
	b.without, b.apart = true, true
	b.start()
	if lanes, err := b.app.st.Ready(b.ctx, 10); err != nil || len(lanes) > 0 {
		t.Errorf("it would work on %v, %v", lanes, err)
	}
	b.app.dispatcher.Wake("fake:ana")
	b.stop()
	if n := len(b.model.requests()); n != 0 {
		t.Fatalf("the model was asked %d times", n)
	}
	b.without, b.apart = false, false
	b.start()
	b.message(1)
	b.press("yes")
	b.wants(2, "done")
}
