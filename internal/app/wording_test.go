package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/internal/audit"
)

func TestConfirm_B7_SystemNote(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, yaml string
		tools      []option
		want       []string // prefixes of the prompt's parts
	}{
		{"confirming tool", "", nil, []string{"Write to the user in English", "The system itself asks the user to confirm these tools before they run: "}},
		{"own note", "confirm: {system_note: Only the till asks.}", nil, []string{"Write to the user in English", "Only the till asks."}},
		{"off", "confirm: {system_note: false}", nil, []string{"Write to the user in English"}},
		{"spanish", "bot: {lang: es}", nil, []string{"Escríbele al usuario en español", "El propio sistema le pide al usuario"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, withTools(placeOrder(returns(`1`)), plain("look", returns(`1`))), withYAML(c.yaml))
			b.say("hi")
			b.message(1)
			got := b.model.requests()[0].System
			if len(got) != len(c.want) {
				t.Fatalf("prompt %q", got)
			}
			for i, p := range c.want {
				if !strings.HasPrefix(got[i], p) {
					t.Fatalf("part %d is %q, want %q…", i, got[i], p)
				}
			}
			if len(got) > 1 && strings.Contains(got[1], "look") {
				t.Fatal("the note names a tool that asks nobody")
			}
		})
	}
	t.Run("no confirming tool", func(t *testing.T) {
		t.Parallel()
		b := newBed(t, withTools(plain("look", returns(`1`))))
		b.say("hi")
		b.message(1)
		if got := b.model.requests()[0].System; len(got) != 1 {
			t.Fatalf("prompt %q", got)
		}
	})
	t.Run("false leaves the done note out too", func(t *testing.T) {
		t.Parallel()
		b, _ := newOrder(t, withYAML("confirm: {system_note: false}"))
		b.press("yes")
		b.message(2)
		b.say("and now?")
		b.message(3)
		if got := b.model.requests()[2].System; len(got) != 1 {
			t.Fatalf("prompt %q", got)
		}
	})
}

func TestConfirm_B9_SplitQuestionHasItsButtonsLast(t *testing.T) {
	t.Parallel()
	caps := channeltest.Rich()
	caps.Caps.Buttons.TextMax = 120
	s := returns(`1`)
	b := newBed(t, withCaps(caps), withTools(placeOrder(s)))
	var items []string
	for i := range 8 {
		items = append(items, fmt.Sprintf(`{"product":"croissant","quantity":%d}`, i+1))
	}
	b.model.then(calls("place_order", `{"items":[`+strings.Join(items, ",")+`]}`), says("done"))
	b.say("many")
	b.message(1)
	b.settled()
	all := b.fake.Messages(b.chat.ID)
	if len(all) < 2 {
		t.Fatalf("one message: %q", all[0].Text)
	}
	var whole []string
	for i, m := range all {
		whole = append(whole, m.Text)
		if last := i == len(all)-1; (len(m.Buttons) == 2) != last {
			t.Fatalf("message %d of %d has %d buttons", i+1, len(all), len(m.Buttons))
		}
	}
	for i := range 8 {
		if !strings.Contains(strings.Join(whole, "\n"), fmt.Sprintf("• %d × croissant", i+1)) {
			t.Fatalf("item %d is missing from %q", i+1, whole)
		}
	}
	last := all[len(all)-1].Text
	b.press("yes")
	b.wants(len(all)+1, "done")
	b.closed(len(all), last+"\n→ Yes")
}

func TestConfirm_B9_TooLongAsksNobody(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"a value over 1,000 characters": `{"note":"` + strings.Repeat("x", 1001) + `"}`,
		"more than four messages":       `{"list":["` + strings.Repeat(strings.Repeat("y", 900)+`","`, 20) + `z"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := returns(`1`)
			tl := placeOrder(s)
			tl.Schema = json.RawMessage(`{"type":"object"}`)
			b := newBed(t, withTools(tl))
			b.model.then(calls("place_order", args), says("too much"))
			b.say("go")
			b.wants(1, "too much")
			if got := field(t, one(t, b).Content, "error"); got != "too_long_to_confirm" || s.count() != 0 {
				t.Fatalf("the model was told %v, ran %d times", got, s.count())
			}
			b.sequence(audit.ToolCall, audit.ToolError)
		})
	}
}

func TestConfirm_B10_WordsOfTheTool(t *testing.T) {
	t.Parallel()
	own := func(text string, err error) func() (string, error) {
		return func() (string, error) { return text, err }
	}
	lines := func(err error, l ...string) func() ([]string, error) {
		return func() ([]string, error) { return l, err }
	}
	cases := []struct {
		name   string
		runner asking
		labels map[string]map[string]string
		want   string // "" for nobody is asked
	}{
		{"labels", asking{}, map[string]map[string]string{"product": {"coffee": "Best coffee"}}, "About to: Place order\n• 2 × Best coffee\nDo you confirm?"},
		{"lines", asking{lines: lines(nil, "2 coffees", "Total: $ 9.00")}, nil, "About to: Place order\n2 coffees\nTotal: $ 9.00\nDo you confirm?"},
		{"no lines", asking{lines: lines(nil)}, nil, "About to: Place order\nDo you confirm?"},
		{"message", asking{message: own("Really, two coffees?", nil)}, nil, "Really, two coffees?"},
		{"broken lines", asking{lines: lines(errors.New("no price"))}, nil, ""},
		{"broken message", asking{message: own("", errors.New("no price"))}, nil, ""},
		{"blank message", asking{message: own(" ", nil)}, nil, ""},
		{"panic", asking{message: func() (string, error) { panic("boom") }}, nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.runner.spy = returns(`1`)
			tl := placeOrder(c.runner)
			tl.Labels = c.labels
			b := newBed(t, withTools(tl))
			b.model.then(calls("place_order", twoCoffees), says("over"))
			b.say("go")
			if c.want == "" {
				b.wants(1, "over")
				if c.runner.count() != 0 || field(t, one(t, b).Content, "error") != "confirmation_failed" {
					t.Fatalf("ran %d times; the model was told %s", c.runner.count(), one(t, b).Content)
				}
				return
			}
			b.wants(1, c.want)
			b.press("yes")
			b.wants(2, "over")
			if got := string(c.runner.last().Args); got != twoCoffees {
				t.Fatalf("the handler got %s", got)
			}
		})
	}
}
