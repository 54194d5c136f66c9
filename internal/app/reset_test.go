package app

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/tool"
)

const (
	resetText  = "Done. I have forgotten this conversation; we can start over."
	cancelText = "Cancelled."
)

func TestConfirm_B5_ResetEndsTheQuestion(t *testing.T) {
	t.Parallel()
	b, s := newOrder(t)
	old := b.message(1).Buttons[0].ID
	b.say("/reset")
	b.wants(2, resetText)
	b.closed(1, question)
	if e := b.event(audit.ConfirmCancelled); e.Error != "reset" {
		t.Fatalf("event %+v", e)
	}
	// The edit left before the answer.
	var ops []channeltest.Op
	for _, e := range b.fake.Events() {
		if e.Op == channeltest.OpSend || e.Op == channeltest.OpEdit {
			ops = append(ops, e.Op)
		}
	}
	same(t, []channeltest.Op{channeltest.OpSend, channeltest.OpEdit, channeltest.OpSend}, ops)
	if ack, err := b.fake.Press(b.ctx, b.chat, b.user, old); err != nil || ack.Outcome != "stale" {
		t.Fatalf("%+v, %v", ack, err)
	}
	b.say("yes")
	b.wants(3, "done")
	same(t, []string{"user: yes"}, b.model.lines(2))
	if s.count() != 0 {
		t.Fatal("ran after the reset")
	}
}

func TestConfirm_B5_ResetWithdrawsAQueuedQuestion(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	b := newBed(t, withTools(placeOrder(returns(`1`))))
	b.fake.FailNext(channeltest.Failure{Op: channeltest.OpSend, Hold: release})
	b.model.then(says("hello"), calls("place_order", twoCoffees))
	b.say("hi")
	b.say("two coffees")
	b.parked()
	b.say("/reset")
	close(release)
	// A reply that was committed still goes out, the question doesn't.
	b.wants(2, resetText)
	b.silent(2)
	same(t, []string{"hello", resetText}, b.fake.Texts(b.chat.ID))
}

func TestConfirm_B5_ResetForgets(t *testing.T) {
	t.Parallel()
	b, _ := newOrder(t)
	b.press("yes")
	b.wants(2, "done")
	b.say("/reset")
	b.wants(3, resetText)
	b.model.then(calls("place_order", twoCoffees), says("again"))
	b.say("two coffees")
	b.wants(4, question) // no heads-up: the run is forgotten
	req := b.model.requests()[2]
	if len(req.Messages) != 1 || len(req.System) != 2 {
		t.Fatalf("the model still knows %+v", req)
	}
}

// TestConfirm_B5_ResetAbortsARunningTurn cuts the turn off at each of its
// stages.
func TestConfirm_B5_ResetAbortsARunningTurn(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"/reset", "/cancel"} {
		answer := map[string]string{"/reset": resetText, "/cancel": cancelText}[command]
		t.Run(command+" while the model writes", func(t *testing.T) {
			t.Parallel()
			aborted := make(chan struct{})
			b := newBed(t)
			b.model.then(func(ctx context.Context, _ llm.Request) (llm.Response, error) {
				<-ctx.Done()
				close(aborted)
				return llm.Response{Text: "too late", Stop: llm.StopEnd}, nil
			})
			b.say("hi")
			b.thinking()
			b.say(command)
			b.soon(aborted, "the model's context to end")
			b.wants(1, answer)
			b.silent(1)
		})
		t.Run(command+" while a tool runs after an approval", func(t *testing.T) {
			t.Parallel()
			aborted, begun := make(chan struct{}), make(chan struct{})
			s := &spy{do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				close(begun)
				<-ctx.Done()
				close(aborted)
				// It had done it all the same.
				return tool.Result{Value: json.RawMessage(`{"id":"P-1"}`), Writes: []tool.Write{{Scope: "bot", Key: "k", Value: json.RawMessage(`1`)}}}, nil
			}}
			b := newBed(t, withTools(placeOrder(s)))
			b.model.then(calls("place_order", twoCoffees), says("hello"))
			b.say("two coffees")
			b.asked(1)
			b.press("yes")
			b.soon(begun, "the tool to begin")
			b.say(command)
			b.soon(aborted, "the tool's context to end")
			b.wants(2, answer+" «Place order» was already under way and may have taken effect.")
			b.until("the late result is in the audit", func() bool { return slices.Contains(b.types(), audit.ToolResult) })
			b.silent(2)
			// It neither replied nor wrote: no value kept, and no run but that
			// of unknown outcome which /cancel itself remembers.
			var runs, values int
			b.row(`SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM kv)`, nil, &runs, &values)
			if want := map[string]int{"/cancel": 1}[command]; runs != want || values != 0 {
				t.Fatalf("the stale turn left %d runs and %d values", runs, values)
			}
			b.say("hi")
			b.wants(3, "hello")
			want := []string{"user: hi"}
			if command == "/cancel" {
				want = []string{"user: two coffees", "user: hi"}
			}
			same(t, want, b.model.lines(2))
		})
	}
}

// Of what /cancel came too late for nobody knows what came of it: the next
// question for the same says so, and the model is told. In Spanish, too.
func TestLedger_C1_CancelledWhileItRuns(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	s := &spy{do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		close(begun)
		<-ctx.Done()
		return tool.Result{Value: json.RawMessage(`{"id":"P-1"}`)}, nil
	}}
	b := newBed(t, withTools(placeOrder(s)), func(b *bed) { b.user.Lang = "es" })
	b.model.then(calls("place_order", twoCoffees), calls("place_order", twoCoffees))
	b.say("dos cafés")
	b.asked(1)
	b.press("yes")
	b.soon(begun, "the tool to begin")
	b.say("/cancel")
	b.wants(2, "Cancelado. «Place order» ya estaba en marcha y es posible que se haya hecho.")
	b.say("dos cafés")
	if got := b.asked(3).Text; !strings.HasPrefix(got, "Ojo: puede que ya haya hecho «Place order»") {
		t.Errorf("asked %q", got)
	}
	req := b.model.requests()[1]
	if note := strings.Join(req.System, "\n"); !strings.Contains(note, "- Place order (place_order)") || !strings.Contains(note, "resultado incierto") {
		t.Errorf("the model was told %q", note)
	}
}

func TestConfirm_B5_ResetDropsWhatWasAcceptedBefore(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	hold := make(chan struct{})
	defer close(hold)
	b.model.then(holds(hold, says("never")))
	b.model.always = func(_ context.Context, req llm.Request) (llm.Response, error) {
		return llm.Response{Text: "re " + lastText(req), Stop: llm.StopEnd}, nil
	}
	b.say("one")
	b.thinking()
	b.say("two")
	b.say("three")
	b.say("/reset")
	b.say("four")
	b.wants(2, "re four")
	b.silent(2)
	same(t, []string{"user: four"}, b.model.lines(2))
}

func TestConfirm_B5_CancelKeepsTheHistory(t *testing.T) {
	t.Parallel()
	b, s := newOrder(t)
	b.say("/cancel")
	b.wants(2, cancelText)
	b.closed(1, question)
	b.say("/cancel")
	b.wants(3, "There is nothing to cancel.")
	b.say("hello")
	b.wants(4, "done")
	same(t, []string{"user: two coffees", "user: hello"}, b.model.lines(2))
	if s.count() != 0 {
		t.Fatal("ran after it was cancelled")
	}
}

func TestConfirm_B5_ResetInAnotherChatChangesNothingHere(t *testing.T) {
	t.Parallel()
	b, s := newOrder(t)
	chat, bo := channeltest.Direct("bo")
	if _, err := b.fake.Say(b.ctx, chat, bo, "/reset"); err != nil {
		t.Fatal(err)
	}
	if m, err := b.fake.NthMessage(b.ctx, chat.ID, 1); err != nil || !strings.HasPrefix(m.Text, "Done.") {
		t.Fatalf("%q, %v", m.Text, err)
	}
	b.press("yes")
	b.wants(2, "done")
	if s.count() != 1 {
		t.Fatal("the question is gone")
	}
}
