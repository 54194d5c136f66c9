package app

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/tool"
)

// stops stops the bot and waits for it, with what is done meanwhile.
func (b *bed) stops(meanwhile func()) {
	b.t.Helper()
	stopped := make(chan error, 1)
	a := b.app
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		stopped <- a.Stop(ctx)
	}()
	meanwhile()
	if err := <-stopped; err != nil {
		b.t.Fatal(err)
	}
	b.app = nil
}

func TestDurable_G7_RunningTurnsAreFinishedAndSent(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s, begun := stuck(release, `1`)
	b := newBed(t, withTools(plain("slow", s)))
	b.model.then(calls("slow", ""), says("finished"))
	b.say("go")
	b.soon(begun, "the tool to begin")
	b.stops(func() { close(release) })
	same(t, []string{"finished"}, b.fake.Texts(b.chat.ID))
	b.start()
	b.silent(1)
}

func TestDurable_G7_WhatTakesTooLongIsPutAside(t *testing.T) {
	t.Parallel()
	for _, effect := range []tool.Effect{tool.Idempotent, tool.Unsafe} {
		t.Run(string(effect), func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			s, begun := stuck(release, `"ok"`)
			tl := plain("slow", s)
			tl.Effect = effect
			b := newBed(t, withTools(tl))
			b.model.then(calls("slow", ""), says("over"))
			b.say("go")
			b.soon(begun, "the tool to begin")
			b.say("next")
			over, cancel := context.WithCancel(b.ctx)
			cancel() // no grace at all
			if err := b.app.Stop(over); err != nil {
				t.Fatal(err)
			}
			close(release)
			b.model.always = says("hello")
			b.app = nil
			b.start()
			b.wants(2, "hello")
			results := b.model.requests()[1].Messages[2].Results
			if effect == tool.Unsafe {
				if s.count() != 1 || field(t, results[0].Content, "executed") != "unknown" {
					t.Fatalf("ran %d times; the model was told %+v", s.count(), results)
				}
				b.event(audit.OutcomeUnknown)
				return
			}
			if s.count() != 2 || s.runs[0].ID != s.runs[1].ID || results[0].Content != "ok" {
				t.Fatalf("ran %d times; the model was told %+v", s.count(), results)
			}
		})
	}
}

func TestDurable_G7_MessagesWhileStoppingAreNotLost(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s, begun := stuck(release, `1`)
	b := newBed(t, withTools(plain("slow", s)))
	b.model.then(calls("slow", ""), says("one"))
	b.model.always = says("two")
	b.say("1")
	b.soon(begun, "the tool to begin")
	taken := false
	b.stops(func() {
		// Taken or not, the platform is told the truth.
		taken = b.deliver(channels.Inbound{ID: "late", Text: "2"}) == nil
		close(release)
	})
	b.start()
	if !taken {
		b.hears(channels.Inbound{ID: "late", Text: "2"})
	}
	b.wants(2, "two")
	b.silent(2)
	same(t, []string{"one", "two"}, b.fake.Texts(b.chat.ID))
}

func TestDurable_G7_StopTwice(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for range 2 {
		if err := b.app.Stop(b.ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDurable_G9_StoreThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	db := newAway()
	begun, release := make(chan struct{}), make(chan struct{})
	s := &spy{do: func(context.Context, tool.Call) (tool.Result, error) {
		close(begun)
		<-release
		return tool.Result{Value: json.RawMessage(`{"id":"P-1"}`)}, nil
	}}
	b := newBed(t, withTools(placeOrder(s)), withAway(db))
	b.model.then(calls("place_order", twoCoffees), says("done"))
	b.say("two coffees")
	b.asked(1)
	b.press("yes")
	b.soon(begun, "the tool to begin")

	db.shut.Store(true)
	if r := b.app.ready(b.ctx); r.Ready || r.Store == "ok" {
		t.Fatalf("ready: %+v", r)
	}
	<-db.refused
	// Nothing is taken, and the platform is told to come again.
	if got := refused(t, b.deliver(channels.Inbound{ID: "later", Text: "hi"})); got != channels.RefusedUnavailable {
		t.Fatalf("refused as %q", got)
	}
	<-db.refused
	close(release)
	b.soon(db.refused, "the result to be refused")
	db.shut.Store(false)
	b.wants(2, "done")
	if s.count() != 1 || one(t, b).Content != `{"id":"P-1"}` {
		t.Fatalf("ran %d times; the model was told %s", s.count(), one(t, b).Content)
	}
	if r := b.app.ready(b.ctx); !r.Ready {
		t.Fatalf("not ready: %+v", r)
	}
	b.model.then(says("hello"))
	b.hears(channels.Inbound{ID: "later", Text: "hi"})
	b.wants(3, "hello")
	b.sequence(audit.ToolCall, audit.ConfirmRequested, audit.ConfirmApproved, audit.ToolResult)
}
