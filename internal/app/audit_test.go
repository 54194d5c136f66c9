package app

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/tool"
)

// TestAudit_D1_Sequences has the exact events of each way that a call can go.
func TestAudit_D1_Sequences(t *testing.T) {
	t.Parallel()
	own := 10 * time.Millisecond
	slow := func(e tool.Effect) tool.Tool {
		tl := plain("slow", &spy{do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Stopped(ctx, own), nil
		}})
		tl.Timeout, tl.Effect = &own, e
		return tl
	}
	fail := plain("fail", &spy{do: func(context.Context, tool.Call) (tool.Result, error) { return tool.Fail("no", nil), nil }})
	dup := deduped(plain("dup", returns(`1`)))
	lost := plain("lost", &spy{do: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Value: json.RawMessage(`{"error":"lost"}`), Failed: true, Unknown: true}, nil
	}})
	lost.Effect = tool.Unsafe
	const call, asked = audit.ToolCall, audit.ConfirmRequested
	answer := func(text string) func(b *bed) {
		return func(b *bed) {
			b.message(1)
			b.settled()
			b.say(text)
		}
	}
	cases := []struct {
		name  string
		tools []tool.Tool
		calls []string
		then  func(b *bed)
		want  []string
	}{
		{"result", []tool.Tool{plain("ok", returns(`1`))}, []string{"ok", ""}, nil, []string{call, audit.ToolResult}},
		{"error", []tool.Tool{fail}, []string{"fail", ""}, nil, []string{call, audit.ToolError}},
		{"timeout", []tool.Tool{slow(tool.Read)}, []string{"slow", ""}, nil, []string{call, audit.ToolTimeout}},
		{"timeout of an effect", []tool.Tool{slow(tool.Unsafe)}, []string{"slow", ""}, nil, []string{call, audit.ToolTimeout}},
		{"outcome unknown", []tool.Tool{lost}, []string{"lost", ""}, nil, []string{call, audit.OutcomeUnknown}},
		{"unknown tool", []tool.Tool{fail}, []string{"none", ""}, nil, []string{audit.ToolUnknown}},
		{"invalid", []tool.Tool{placeOrder(returns(`1`))}, []string{"place_order", "{}"}, nil, []string{audit.ToolInvalidArgs}},
		{"duplicate", []tool.Tool{dup}, []string{"dup", "", "dup", ""}, nil, []string{call, audit.ToolResult, audit.ToolDuplicate}},
		{"approved", []tool.Tool{placeOrder(returns(`1`))}, []string{"place_order", twoCoffees}, answer("yes"), []string{call, asked, audit.ConfirmApproved, audit.ToolResult}},
		{"denied", []tool.Tool{placeOrder(returns(`1`))}, []string{"place_order", twoCoffees}, answer("no"), []string{call, asked, audit.ConfirmDenied}},
		{"replied", []tool.Tool{placeOrder(returns(`1`))}, []string{"place_order", twoCoffees}, answer("hm"), []string{call, asked, audit.ConfirmReplied}},
		{"one after the other", []tool.Tool{placeOrder(returns(`1`)), plain("ok", returns(`1`))}, []string{"ok", "", "place_order", twoCoffees, "ok", ""}, answer("yes"),
			[]string{call, audit.ToolResult, call, asked, audit.ConfirmApproved, audit.ToolResult, call, audit.ToolResult}},
		{"reply skips the rest", []tool.Tool{placeOrder(returns(`1`)), plain("ok", returns(`1`))}, []string{"place_order", twoCoffees, "ok", ""}, answer("hm"), []string{call, asked, audit.ConfirmReplied}},
		{"resumed steps", []tool.Tool{placeOrder(returns(`1`))}, []string{"place_order", twoCoffees}, func(b *bed) {
			b.asked(1)
			b.crash()
			b.press("yes")
		}, []string{call, asked, audit.ConfirmApproved, audit.ToolResult}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, withTools(c.tools...))
			b.model.then(calls(c.calls...), says("over"))
			b.say("go")
			if c.then != nil {
				c.then(b)
			}
			b.until("the turn is over", func() bool {
				all := b.fake.Texts(b.chat.ID)
				return len(all) > 0 && all[len(all)-1] == "over"
			})
			b.sequence(c.want...)
		})
	}
}

func TestAudit_D1_Fields(t *testing.T) {
	t.Parallel()
	b := newBed(t, withTools(placeOrder(returns(`1`)), plain("look", returns(`2`))))
	before := time.Now()
	b.model.then(calls("look", ""), calls("place_order", twoCoffees), says("done"))
	b.say("go")
	b.message(1)
	b.settled()
	b.press("yes")
	b.wants(2, "done")
	all := b.events()
	turn := all[0].Turn
	for i, e := range all {
		step, name, args := 1, "look", `{}`
		if i >= 2 {
			step, name, args = 2, "place_order", twoCoffees
		}
		want := audit.Event{At: e.At, Type: e.Type, Step: step, Turn: turn, Tool: name, CallID: turn + map[int]string{1: ".1.1", 2: ".2.1"}[step], ChatKey: "fake:chat-ana", DurationMs: e.DurationMs}
		if e.Type == audit.ConfirmApproved {
			want.Actor = "user-ana"
		} else {
			want.Args = json.RawMessage(args)
		}
		if diff := cmp.Diff(want, e); diff != "" {
			t.Errorf("event %d (-want +got):\n%s", i, diff)
		}
		if at := time.UnixMilli(e.At); at.Before(before.Add(-time.Second)) || at.After(time.Now()) {
			t.Errorf("event %d is of %s", i, at)
		}
	}
}

func TestAudit_D1_KeyOfANarrowSession(t *testing.T) {
	t.Parallel()
	b, _, _ := newGroup(t, false)
	b.press("yes")
	b.wants(2, "done")
	for _, e := range b.events() {
		if e.ChatKey != "fake:the-crowd:ana" {
			t.Errorf("%s of %q", e.Type, e.ChatKey)
		}
	}
}

func TestAudit_D2_File(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "logs", "audit.jsonl")
	tl := placeOrder(returns(`{"id":"P-1"}`))
	tl.Schema = json.RawMessage(`{"type":"object","properties":{"card":{"type":"string"},"n":{"type":"integer"}}}`)
	b := newBed(t, withTools(tl), withYAML("audit: {file: "+file+", redact: [args.card]}"))
	b.model.then(calls("place_order", `{"card":"4111-secret","n":2}`), says("done"))
	b.say("pay")
	b.asked(1)
	b.press("yes")
	b.wants(2, "done")
	b.settled()
	b.restart() // what it had not written is written now, and nothing twice
	b.until("the file has all", func() bool {
		var at int64
		b.row(`SELECT coalesce(max(id),0) FROM cursor`, nil, &at)
		return at == 4
	})
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var types []string
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if strings.Contains(sc.Text(), "4111") {
			t.Errorf("the card is in %s", sc.Text())
		}
		var e struct {
			Type string         `json:"type"`
			Args map[string]any `json:"args"`
		}
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		types = append(types, e.Type)
		if e.Args != nil && (e.Args["card"] != "***" || e.Args["n"] != 2.0) {
			t.Errorf("arguments %v", e.Args)
		}
	}
	same(t, b.types(), types)
}

func TestAudit_D2_LogHasMetadataOnly(t *testing.T) {
	t.Parallel()
	tl := placeOrder(returns(`{"id":"RESULT-CANARY"}`))
	tl.Schema = json.RawMessage(`{"type":"object","properties":{"card":{"type":"string"}}}`)
	b := newBed(t, withTools(tl))
	b.model.then(calls("place_order", `{"card":"ARGS-CANARY"}`), calls("place_order", `{"card":`), calls("none", `{"x":"ARGS-CANARY"}`), says("REPLY-CANARY"), fails(llm.BadRequest))
	b.say("TEXT-CANARY")
	b.asked(1)
	b.press("yes")
	b.wants(2, "REPLY-CANARY")
	b.say("TEXT-CANARY again")
	b.wants(3, sorry)
	if log := b.logs.String(); log == "" || strings.Contains(log, "CANARY") {
		t.Fatalf("the log has what people or models wrote:\n%s", log)
	}
}
