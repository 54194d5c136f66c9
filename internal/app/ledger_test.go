package app

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/tool"
)

// again has the model order args once more and returns what is then asked.
func (b *bed) again(args string) string {
	b.t.Helper()
	b.settled()
	n := len(b.fake.Texts(b.chat.ID))
	b.model.then(calls("place_order", args), says("done"))
	b.say("again")
	return b.message(n + 1).Text
}

func TestLedger_C1_RepeatIsAnnounced(t *testing.T) {
	t.Parallel()
	const headsUp = "Heads-up: I already did «Place order» a moment ago (result: "
	b, s := newOrder(t)
	b.press("yes")
	b.wants(2, "done")
	b.restart() // it is saved
	got := b.again(`{ "items": [ {"quantity": 2.0, "product": "coffee"} ] }`)
	if !strings.HasPrefix(got, headsUp) || !strings.HasSuffix(got, "Confirming will do it again.\nAbout to: Place order\n• 2.0 × coffee\nDo you confirm?") || !strings.Contains(got, "P-1") {
		t.Fatalf("asked %q", got)
	}
	b.press("no")
	b.message(4)
	// Other arguments are a new action.
	if got := b.again(fourCoffees); strings.Contains(got, "Heads-up") {
		t.Fatalf("asked %q", got)
	}
	b.press("no")
	b.message(6)
	b.clock.advance(31 * time.Minute)
	if got := b.again(twoCoffees); got != question {
		t.Fatalf("after half an hour: %q", got)
	}
	if s.count() != 1 {
		t.Fatalf("ran %d times", s.count())
	}
}

func TestLedger_C1_DeniedLeavesNothing(t *testing.T) {
	t.Parallel()
	b, _ := newOrder(t)
	b.press("no")
	b.wants(2, "done")
	if got := b.again(twoCoffees); got != question {
		t.Fatalf("asked %q", got)
	}
}

func TestLedger_C1_Spanish(t *testing.T) {
	t.Parallel()
	b, _ := newOrder(t, withYAML("bot: {lang: es}"))
	b.press("yes")
	b.message(2)
	if got := b.again(twoCoffees); !strings.HasPrefix(got, "Ojo: ya hice «Place order» hace un momento (resultado: ") || !strings.Contains(got, "Si confirmas, se hará otra vez.\nVoy a: ") {
		t.Fatalf("asked %q", got)
	}
}

func TestLedger_C1_UnknownOutcome(t *testing.T) {
	t.Parallel()
	s := &spy{do: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Value: json.RawMessage(`{"error":"connection lost"}`), Failed: true, Unknown: true}, nil
	}}
	b := newBed(t, withTools(placeOrder(s)))
	b.model.then(calls("place_order", twoCoffees), says("unsure"))
	b.say("two coffees")
	b.asked(1)
	b.press("yes")
	b.wants(2, "unsure")
	if r := one(t, b); field(t, r.Content, "executed") != "unknown" || field(t, r.Content, "error") != "connection lost" {
		t.Fatalf("the model was told %s", r.Content)
	}
	if got := b.again(twoCoffees); !strings.HasPrefix(got, "Heads-up: I may already have done «Place order»") {
		t.Fatalf("asked %q", got)
	}
	// C2: uncertain ones are told as such.
	if sys := b.model.requests()[2].System; !strings.Contains(sys[len(sys)-1], "outcome uncertain") {
		t.Fatalf("prompt %q", sys)
	}
}

func TestLedger_C2_DoneNote(t *testing.T) {
	t.Parallel()
	b, _ := newOrder(t)
	b.press("yes")
	b.wants(2, "done")
	b.clock.advance(5 * time.Minute)
	b.say("and now?")
	b.message(3)
	sys := b.model.requests()[2].System
	note := sys[len(sys)-1]
	if !strings.Contains(note, "- Place order (place_order), 5 minutes ago\n  • 2 × coffee") || strings.Contains(note, "P-1") {
		t.Fatalf("note %q", note)
	}
	// In the turn that did it the transcript tells.
	for _, part := range b.model.requests()[1].System {
		if strings.Contains(part, "Already done") {
			t.Fatalf("prompt %q", part)
		}
	}
}

func TestLedger_C3_Dedupe(t *testing.T) {
	t.Parallel()
	for _, confirm := range []bool{true, false} {
		t.Run(map[bool]string{true: "confirming", false: "without confirmation"}[confirm], func(t *testing.T) {
			t.Parallel()
			s := returns(`{"id":"P-1"}`)
			tl := deduped(placeOrder(s))
			tl.Confirm = confirm
			b := newBed(t, withTools(tl))
			n := 1
			order := func() {
				b.model.then(calls("place_order", twoCoffees), says("done"))
				b.say("two coffees")
				if m := b.message(n); len(m.Buttons) == 2 {
					b.settled()
					b.press("yes")
					n++
				}
				b.wants(n, "done")
				n++
				b.settled()
			}
			order()
			b.clock.advance(42 * time.Second)
			b.restart() // secondsAgo counts from the saved end
			order()
			r := one(t, b)
			prev, _ := field(t, r.Content, "previous").(map[string]any)
			if ago, _ := prev["secondsAgo"].(float64); b.reason() != "duplicate" || ago < 42 || ago > 50 || s.count() != 1 {
				t.Fatalf("the model was told %s, ran %d times", r.Content, s.count())
			}
			same(t, map[string]any{"id": "P-1"}, prev["result"])
			if b.event(audit.ToolDuplicate).Tool != "place_order" {
				t.Fatal("no event of it")
			}
			b.clock.advance(time.Minute) // the window is over
			order()
			if s.count() != 2 {
				t.Fatalf("ran %d times, want 2", s.count())
			}
		})
	}
}

func TestLedger_C3_UnknownIsADuplicateToo(t *testing.T) {
	t.Parallel()
	s := &spy{do: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Value: json.RawMessage(`{"error":"lost"}`), Failed: true, Unknown: true}, nil
	}}
	tl := deduped(placeOrder(s))
	tl.Confirm = false
	b := newBed(t, withTools(tl))
	b.model.then(calls("place_order", twoCoffees), calls("place_order", twoCoffees), says("unsure"))
	b.say("two coffees")
	b.wants(1, "unsure")
	prev, _ := field(t, one(t, b).Content, "previous").(map[string]any)
	if b.reason() != "duplicate" || prev["outcome"] != "unknown" || s.count() != 1 {
		t.Fatalf("the model was told %s, ran %d times", one(t, b).Content, s.count())
	}
}

func TestLedger_C4_AResultWithAnErrorDidNothing(t *testing.T) {
	t.Parallel()
	s := returns(`{"error":"sold out"}`)
	b := newBed(t, withTools(deduped(placeOrder(s))))
	b.model.then(calls("place_order", twoCoffees), says("sold out"))
	b.say("two coffees")
	b.asked(1)
	b.press("yes")
	b.wants(2, "sold out")
	if got := b.again(twoCoffees); got != question {
		t.Fatalf("asked %q", got)
	}
	if sys := b.model.requests()[2].System; len(sys) != 2 {
		t.Fatalf("prompt %q", sys)
	}
	// Nor is it told as done where the model then fails (A13).
	b.model.mu.Lock()
	b.model.next = []answer{fails(llm.Overloaded)}
	b.model.mu.Unlock()
	b.press("yes")
	b.wants(4, sorry)
}

func TestLedger_C5_SameArguments(t *testing.T) {
	t.Parallel()
	s := returns(`1`)
	tl := deduped(placeOrder(s))
	tl.Confirm = false
	tl.Schema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"string"}}}`)
	b := newBed(t, withTools(tl))
	same5 := []string{`{"a":1,"b":"x"}`, `{"b":"x","a":1.0}`, ` {"a":10e-1, "b":"\u0078"}`}
	for _, args := range append(same5, `{"a":1.5,"b":"x"}`, `{"a":1,"b":"X"}`) {
		b.model.then(calls("place_order", args))
	}
	b.model.then(says("done"))
	b.yaml += "\nloop: {max_steps: 10}"
	b.restart()
	b.say("go")
	b.wants(1, "done")
	if s.count() != 3 {
		t.Fatalf("ran %d times, want 3", s.count())
	}
}
