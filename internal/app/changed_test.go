package app

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/tool"
)

// TestConfirm_B28_WhatWasApprovedIsWhatRuns changes the bot while its question
// about two coffees is open, by a restart or by reading the configuration
// again, and then says yes.
func TestConfirm_B28_WhatWasApprovedIsWhatRuns(t *testing.T) {
	t.Parallel()
	const changed = "tool_changed"
	cases := []struct {
		name   string
		change func(tl *tool.Tool) // nil takes the tool away
		yaml   string
		asks   string // the new question
		error  string // or what the model is told
		// restart has the same happen by a restart too.
		restart bool
	}{
		{name: "nothing", change: func(*tool.Tool) {}, restart: true},
		{name: "title", change: func(tl *tool.Tool) { tl.Title = "Order" }, asks: "About to: Order\n• 2 × coffee\nDo you confirm?", restart: true},
		{name: "price in the lines", change: func(tl *tool.Tool) {
			tl.Runner = asking{spy: tl.Runner.(*spy), lines: func() ([]string, error) { return []string{"Total: 9"}, nil }}
		}, asks: "About to: Place order\nTotal: 9\nDo you confirm?"},
		{name: "label", change: func(tl *tool.Tool) {
			tl.Labels = map[string]map[string]string{"product": {"coffee": "Decaf"}}
		}, asks: "About to: Place order\n• 2 × Decaf\nDo you confirm?"},
		{name: "code", change: func(tl *tool.Tool) { tl.Digest = "other code" }, asks: question},
		{name: "confirms no more", change: func(tl *tool.Tool) { tl.Confirm, tl.Title = false, "Order" }, asks: "About to: Order\n• 2 × coffee\nDo you confirm?"},
		{name: "words of the question", change: func(*tool.Tool) {}, yaml: `locale: {en: {ai: {tools: {confirmButtons: "Shall I {tool}?{args}"}}}}`, asks: "Shall I Place order?\n• 2 × coffee"},
		{name: "gone", error: changed, restart: true},
		{name: "schema", change: func(tl *tool.Tool) {
			tl.Schema = json.RawMessage(strings.Replace(itemsSchema, `"coffee",`, "", 1))
		}, error: changed},
		{name: "broken lines", change: func(tl *tool.Tool) {
			tl.Runner = asking{spy: tl.Runner.(*spy), lines: func() ([]string, error) { panic("no price") }}
		}, error: "confirmation_failed"},
	}
	for _, c := range cases {
		ways := []bool{true}
		if c.restart {
			ways = []bool{true, false}
		}
		for _, reload := range ways {
			t.Run(c.name+map[bool]string{true: " by a reload", false: " by a restart"}[reload], func(t *testing.T) {
				t.Parallel()
				b, s := newOrder(t)
				tl := placeOrder(s)
				b.tools, b.yaml = []tool.Tool{plain("other", returns(`1`))}, c.yaml
				if c.change != nil {
					c.change(&tl)
					b.tools = append(b.tools, tl)
				}
				if reload {
					b.reload()
				} else {
					b.restart()
				}
				b.press("yes")
				switch {
				case c.asks != "":
					b.wants(2, c.asks)
					b.closed(1, question+"\n→ Yes")
					if s.count() != 0 {
						t.Fatal("ran something that nobody had approved")
					}
					b.press("yes")
					b.wants(3, "done")
				default:
					b.wants(2, "done")
				}
				if c.error != "" {
					if got := field(t, one(t, b).Content, "error"); got != c.error || s.count() != 0 {
						t.Fatalf("the model was told %v, ran %d times", got, s.count())
					}
					b.sequence(audit.ToolCall, audit.ConfirmRequested, audit.ConfirmApproved, audit.ToolError)
					return
				}
				if s.count() != 1 {
					t.Fatalf("ran %d times", s.count())
				}
			})
		}
	}
}

func TestConfirm_B28_UnreadableTurnNeverRuns(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]string{
		"another version": `UPDATE turn SET version=99`,
		"no journal":      `UPDATE turn SET journal='{"calls":7}'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := newOrder(t)
			b.exec(query)
			b.press("yes")
			b.wants(2, sorry)
			b.silent(2)
			if s.count() != 0 {
				t.Fatal("an unreadable turn ran something")
			}
			// The chat goes on.
			b.say("hello?")
			b.wants(3, "done")
			same(t, []string{"user: two coffees", "user: hello?"}, b.model.lines(2))
		})
	}
}
