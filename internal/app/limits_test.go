package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/llm"
)

const (
	queueNotice = "You're writing faster than I can answer. Please wait for my replies, then send that again."
	rateNotice  = "That's a lot of messages at once. Please wait a moment and try again."
	tooLarge    = "That message is too long for me. Please send a shorter one."
)

// refused is why a message was not taken, "" where it was.
func refused(t *testing.T, err error) channels.RefusedReason {
	t.Helper()
	if err == nil {
		return ""
	}
	r, ok := errors.AsType[*channels.RefusedError](err)
	if !ok {
		t.Fatalf("not refused but failed: %v", err)
	}
	return r.Reason
}

// metric reads a counter of the bot.
func (b *bed) metric(name string, labels ...string) float64 {
	b.t.Helper()
	all, err := b.app.registry.Gatherer().Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, family := range all {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			match := 0
			for _, l := range m.GetLabel() {
				for i := 0; i < len(labels); i += 2 {
					if l.GetName() == labels[i] && l.GetValue() == labels[i+1] {
						match++
					}
				}
			}
			if match == len(labels)/2 {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return 0
}

// flood lets the bot think about one message and sends n more.
func (b *bed) flood(n int) (reasons []channels.RefusedReason, release chan struct{}) {
	b.t.Helper()
	release = make(chan struct{})
	b.model.then(holds(release, says("re 0")))
	b.model.always = func(_ context.Context, req llm.Request) (llm.Response, error) {
		return llm.Response{Text: "re " + lastText(req), Stop: llm.StopEnd}, nil
	}
	b.say("0")
	b.thinking()
	for i := range n {
		reasons = append(reasons, refused(b.t, b.deliver(channels.Inbound{Text: fmt.Sprint(i + 1)})))
	}
	return reasons, release
}

func TestDurable_G6_QueueOnAPlatform(t *testing.T) {
	t.Parallel()
	b := newBed(t, withYAML("limits: {queue_per_chat: 3}"))
	reasons, release := b.flood(6)
	same(t, make([]channels.RefusedReason, 6), reasons) // all are taken
	b.wants(1, queueNotice)
	// Commands meet no limit.
	b.say("/help")
	b.message(2)
	// Nor do other chats.
	chat, bo := channeltest.Direct("bo")
	if _, err := b.fake.Say(b.ctx, chat, bo, "hi"); err != nil {
		t.Fatal(err)
	}
	if m, err := b.fake.NthMessage(b.ctx, chat.ID, 1); err != nil || m.Text != "re hi" {
		t.Fatalf("%q, %v", m.Text, err)
	}
	close(release)
	b.message(5)
	b.silent(5)
	same(t, []string{"re 0", "re 1", "re 2"}, b.fake.Texts(b.chat.ID)[2:])
	if got := b.metric("parley_inbound_messages_total", "channel", "fake", "outcome", "over_queue"); got != 4 {
		t.Fatalf("%v messages counted as over the queue, want 4", got)
	}
}

func TestDurable_G6_QueueWhereTheSenderSeesRefusals(t *testing.T) {
	t.Parallel()
	b := newBed(t, withCaps(channeltest.Idempotent()), withYAML("limits: {queue_per_chat: 3}"))
	reasons, release := b.flood(4)
	same(t, []channels.RefusedReason{"", "", channels.RefusedQueueFull, channels.RefusedQueueFull}, reasons)
	close(release)
	b.message(3)
	b.silent(3)
	// What was refused may come again.
	b.hears(channels.Inbound{ID: "made-4", Text: "4"})
	b.wants(4, "re 4")
}

func TestDurable_G6_AnswersMeetNoLimit(t *testing.T) {
	t.Parallel()
	b, s := newOrder(t, withYAML("limits: {queue_per_chat: 1, per_user: 1/1m}"))
	// The queue is full with the turn that waits, and the rate is used up.
	b.say("yes")
	b.wants(2, "done")
	b.silent(2)
	if s.count() != 1 {
		t.Fatal("the answer met a limit")
	}
}

func TestDurable_G6_PressesMeetNoLimit(t *testing.T) {
	t.Parallel()
	b, s := newOrder(t, withYAML("limits: {queue_per_chat: 1, per_user: 1/1m}"))
	same(t, channels.PressAck{Outcome: channels.PressAccepted}, b.press("yes"))
	b.wants(2, "done")
	if s.count() != 1 {
		t.Fatal("the press met a limit")
	}
}

func TestDurable_G6_PerUser(t *testing.T) {
	t.Parallel()
	t.Run("notice", func(t *testing.T) {
		t.Parallel()
		b := newBed(t, withYAML("limits: {per_user: 2/1m}"))
		b.model.always = says("hello")
		for i := range 5 {
			b.say(fmt.Sprint(i))
			b.settled()
		}
		b.say("/help")
		b.settled()
		texts := b.fake.Texts(b.chat.ID)
		if len(texts) != 4 || texts[2] != rateNotice || !strings.HasPrefix(texts[3], "Write to me") {
			t.Fatalf("the bot said %q", texts)
		}
		b.clock.advance(time.Minute)
		b.say("hi")
		b.wants(5, "hello")
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		b := newBed(t, withCaps(channeltest.Idempotent()), withYAML("limits: {per_user: 2/1m}"))
		b.model.always = says("hello")
		var got []channels.RefusedReason
		for i := range 4 {
			got = append(got, refused(t, b.deliver(channels.Inbound{Text: fmt.Sprint(i)})))
		}
		same(t, []channels.RefusedReason{"", "", channels.RefusedRate, channels.RefusedRate}, got)
		b.message(2)
		b.silent(2)
	})
}

func TestDurable_G6_MessageBytes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ñ", 101)
	t.Run("notice", func(t *testing.T) {
		t.Parallel()
		b := newBed(t, withYAML("limits: {message_bytes: 200}"))
		b.say(long)
		b.wants(1, tooLarge)
		if len(b.model.requests()) != 0 {
			t.Fatal("the model was asked")
		}
		b.model.then(says("fits"))
		b.say(strings.Repeat("ñ", 100))
		b.wants(2, "fits")
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		b := newBed(t, withCaps(channeltest.Idempotent()), withYAML("limits: {message_bytes: 200}"))
		if got := refused(t, b.deliver(channels.Inbound{Text: long})); got != channels.RefusedTooLarge {
			t.Fatalf("refused as %q", got)
		}
		b.silent(0)
	})
}

func TestDurable_G6_ATooLongAnswerLeavesTheQuestionOpen(t *testing.T) {
	t.Parallel()
	b, s := newOrder(t, withYAML("limits: {message_bytes: 200}"))
	b.say("yes " + strings.Repeat("please ", 50))
	b.wants(2, tooLarge)
	b.sequence(audit.ToolCall, audit.ConfirmRequested)
	b.say("yes")
	b.wants(3, "done")
	if s.count() != 1 {
		t.Fatal("did not run")
	}
}

func TestDurable_G6_AllowList(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(b *bed) { b.allow = []string{"user-bo"} })
	b.say("hi")
	b.say("/help")
	b.silent(0)
	chat, bo := channeltest.Direct("bo")
	b.model.then(says("hi Bo"))
	if _, err := b.fake.Say(b.ctx, chat, bo, "hi"); err != nil {
		t.Fatal(err)
	}
	if m, err := b.fake.NthMessage(b.ctx, chat.ID, 1); err != nil || m.Text != "hi Bo" {
		t.Fatalf("%q, %v", m.Text, err)
	}
}
