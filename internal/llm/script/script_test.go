package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/llm/script"
)

func load(t testing.TB, doc string) *script.Provider {
	t.Helper()
	p, err := script.New([]byte(doc), "dir/model.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func shop(t testing.TB) *script.Provider {
	t.Helper()
	doc, err := os.ReadFile("testdata/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return load(t, string(doc))
}

func says(text string) llm.Message { return llm.Message{Role: llm.RoleUser, Text: text} }

func calls(name, args string) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "1", Name: name, Args: args}}}
}

func returns(name, content string) llm.Message {
	return llm.Message{Role: llm.RoleTool, Results: []llm.Result{{CallID: "1", Name: name, Content: content}}}
}

func replies(name, text string) llm.Message {
	raw, _ := json.Marshal(map[string]any{"executed": false, "reason": "user_replied", "userReply": text})
	return returns(name, string(raw))
}

// answer is a response on one line: its text, then NAME(ARGS) of the calls.
func answer(t *testing.T, p *script.Provider, messages ...llm.Message) string {
	t.Helper()
	got, err := p.Generate(t.Context(), llm.Request{System: []string{"Persona.", "The chat's language is Spanish."}, Messages: messages}, nil)
	if err != nil {
		t.Fatal(err)
	}
	parts := []string{}
	if got.Text != "" {
		parts = append(parts, got.Text)
	}
	for _, c := range got.Calls {
		parts = append(parts, c.Name+"("+c.Args+")")
	}
	return strings.Join(parts, " ")
}

const orders = `[{"id": 7, "items": [{"quantity": 1, "product": "coffee"}]}, {"id": 12345678901234567890, "items": [{"quantity": 2, "product": "rye_bread"}, {"quantity": 3, "product": "croissant"}]}]`

func TestScript_I2_UnderstandsNaturalTyping(t *testing.T) {
	t.Parallel()
	p := shop(t)
	asked := says("change it to 3")
	for name, tc := range map[string]struct {
		messages []llm.Message
		want     string
	}{
		"an order":      {[]llm.Message{says("I'd like to order 2 croissants, please")}, `place_order({"items":[{"product":"croissant","quantity":2}]})`},
		"smart quotes":  {[]llm.Message{says("I’d like 2 croissants")}, `place_order({"items":[{"product":"croissant","quantity":2}]})`},
		"short":         {[]llm.Message{says("2 coffee")}, `place_order({"items":[{"product":"coffee","quantity":2}]})`},
		"in words":      {[]llm.Message{says("Two COFFEES and a croissant")}, `place_order({"items":[{"product":"coffee","quantity":2},{"product":"croissant","quantity":1}]})`},
		"Spanish":       {[]llm.Message{says("quiero 2 cafés y un croissant")}, `place_order({"items":[{"product":"coffee","quantity":2},{"product":"croissant","quantity":1}]})`},
		"apart accents": {[]llm.Message{says("dos cafe\u0301s y tres cruasa\u0301n")}, `place_order({"items":[{"product":"coffee","quantity":2},{"product":"croissant","quantity":3}]})`},
		"asked back":    {[]llm.Message{says("what did I order?")}, `my_orders({})`},
		"Spanish asked": {[]llm.Message{says("¿Qué pedí?")}, `my_orders({})`},
		"list":          {[]llm.Message{says("list my orders")}, `my_orders({})`},
		"listed": {[]llm.Message{says("list my orders"), calls("my_orders", "{}"), returns("my_orders", orders)},
			"Your orders:\n1. #7: 1 × coffee\n2. #12345678901234567890: 2 × rye bread, 3 × croissant"},
		"listed in Spanish": {[]llm.Message{says("¿qué pedí?"), calls("my_orders", "{}"), returns("my_orders", orders)},
			"Tus pedidos:\n1. n.º 7: 1 × coffee\n2. n.º 12345678901234567890: 2 × rye bread, 3 × croissant"},
		"none":    {[]llm.Message{says("list my orders"), calls("my_orders", "{}"), returns("my_orders", "[ ]")}, "You have no orders yet."},
		"change":  {[]llm.Message{asked}, `my_orders({})`},
		"changed": {[]llm.Message{asked, calls("my_orders", "{}"), returns("my_orders", orders)}, `update_order({"id":12345678901234567890,"quantity":3})`},
		"change what": {[]llm.Message{says("change the coffee to four"), calls("my_orders", "{}"), returns("my_orders", orders)},
			`update_order({"id":12345678901234567890,"product":"coffee","quantity":4})`},
		"cancel":       {[]llm.Message{says("cancel my order")}, `my_orders({})`},
		"cancelled":    {[]llm.Message{says("cancel my order"), calls("my_orders", "{}"), returns("my_orders", orders)}, `cancel_order({"id":12345678901234567890})`},
		"cancel which": {[]llm.Message{says("cancela el pedido #7"), calls("my_orders", "{}"), returns("my_orders", orders)}, `cancel_order({"id":7})`},
		"done":         {[]llm.Message{says("2 coffee"), calls("place_order", "{}"), returns("place_order", `{"id":"ord_1"}`)}, "Hecho, pedido ord_1."},
		"yes but": {[]llm.Message{says("2 coffee"), calls("place_order", `{"items":[{"product":"coffee","quantity":2}]}`), replies("place_order", "yes but make it 5")},
			`place_order({"items":[{"product":"coffee","quantity":5}]})`},
		"no, something else": {[]llm.Message{says("2 coffee"), calls("place_order", `{}`), replies("place_order", "no, better a croissant")},
			`place_order({"items":[{"product":"croissant","quantity":1}]})`},
		"a reply that is neither": {[]llm.Message{says("2 coffee"), calls("place_order", `{}`), replies("place_order", "what is the weather?")}, "All right, I left it as it was."},
		"language by the prompt":  {[]llm.Message{says("?")}, "Tengo café, cruasanes y pan de centeno."},
		"language by the text":    {[]llm.Message{says("hello")}, "Hello! What can I get you?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, answer(t, p, tc.messages...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestScript_I2_RulesAndConditions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rules    string
		messages []llm.Message
		want     string
	}{
		"first wins":            {`[{when: {text: a}, say: one}, {when: {text: a}, say: two}]`, []llm.Message{says("a")}, "one"},
		"case and accents":      {`[{when: {text: "^PEDÍ (.*) año$"}, say: "{1}"}]`, []llm.Message{says("pedi el Ñandú ano")}, "el Ñandú"},
		"named group":           {`[{when: {text: "i am (?P<who>\\w+)"}, say: "hi {who}"}]`, []llm.Message{says("I am Zoë")}, "hi Zoë"},
		"an empty group":        {`[{when: {text: "a(b)?(c)"}, say: "<{1}{2}>"}]`, []llm.Message{says("ac")}, "<c>"},
		"groups of the result":  {`[{when: {tool: t, text: "x", result: "id (\\d+)"}, say: "{1}"}]`, []llm.Message{says("x"), calls("t", "{}"), returns("t", "ID 42")}, "42"},
		"text means a person":   {`[{when: {text: x}, call: {tool: t}}, {say: done}]`, []llm.Message{says("x"), calls("t", "{}"), returns("t", "ok")}, "done"},
		"last: any":             {`[{when: {last: any, text: x}, say: y}, {say: done}]`, []llm.Message{says("x"), calls("t", "{}"), returns("t", "ok")}, "y"},
		"text takes a reply":    {`[{when: {text: "make it (\\d)"}, say: "{1}"}, {say: no}]`, []llm.Message{says("x"), calls("t", "{}"), replies("t", "make it 5")}, "5"},
		"last: user doesn't":    {`[{when: {last: user, text: "5"}, say: a}, {say: no}]`, []llm.Message{says("x"), calls("t", "{}"), replies("t", "make it 5")}, "no"},
		"a spoofed reply":       {`[{when: {last: reply}, say: a}, {say: no}]`, []llm.Message{says("x"), calls("t", "{}"), returns("t", `{"executed":true,"reason":"user_replied","userReply":"x"}`)}, "no"},
		"all_text":              {`[{when: {all_text: "x(?s:.*)five"}, say: yes}, {say: no}]`, []llm.Message{says("x"), calls("t", "{}"), replies("t", "five")}, "yes"},
		"all_text is this turn": {`[{when: {all_text: x}, say: yes}, {say: no}]`, []llm.Message{says("x"), {Role: llm.RoleAssistant, Text: "ok"}, says("y")}, "no"},
		"assistant":             {`[{when: {assistant: "which"}, say: yes}, {say: no}]`, []llm.Message{says("x"), {Role: llm.RoleAssistant, Text: "Which one?"}, says("y")}, "yes"},
		"system":                {`[{when: {system: "language is spanish"}, say: yes}, {say: no}]`, []llm.Message{says("x")}, "yes"},
		"failed":                {`[{when: {failed: true}, say: yes}, {say: no}]`, []llm.Message{says("x"), calls("t", "{}"), {Role: llm.RoleTool, Results: []llm.Result{{Name: "t", Failed: true}}}}, "yes"},
		"not failed":            {`[{when: {failed: true}, say: yes}, {say: no}]`, []llm.Message{says("x"), calls("t", "{}"), returns("t", "ok")}, "no"},
		"which result":          {`[{when: {tool: a}, say: "{result.v}"}]`, []llm.Message{says("x"), {Role: llm.RoleTool, Results: []llm.Result{{Name: "a", Content: `{"v":1}`}, {Name: "b", Content: `{"v":2}`}}}}, "1"},
		"the last result":       {`[{say: "{result.v}"}]`, []llm.Message{says("x"), {Role: llm.RoleTool, Results: []llm.Result{{Name: "a", Content: `{"v":1}`}, {Name: "b", Content: `{"v":2}`}}}}, "2"},
		"has and lacks":         {`[{when: {tool: t, has: [result.a, result.b]}, say: both}, {when: {tool: t, lacks: [result.b, result.c]}, say: neither}, {say: no}]`, []llm.Message{says("x"), returns("t", `{"a":0,"b":"","c":{ }}`)}, "neither"},
		"last of a tool":        {`[{say: "{last.a.0.n} {last.a.-1.n}"}]`, []llm.Message{says("x"), returns("a", `[{"n":1},{"n":2}]`), returns("b", `{}`)}, "1 2"},
		"only of this turn":     {`[{when: {has: last.a}, say: yes}, {say: no}]`, []llm.Message{says("x"), returns("a", `1`), {Role: llm.RoleAssistant, Text: "ok"}, says("y")}, "no"},
		"text result":           {`[{say: "<{result}>"}]`, []llm.Message{says("x"), returns("a", `plain "text"`)}, `<plain "text">`},
		"user":                  {`[{say: "you said {user}"}]`, []llm.Message{says("{result}")}, "you said {result}"},
		"braces":                {`[{say: "{{user}} { } {\"a\": 1} {user}}}"}]`, []llm.Message{says("x")}, `{user} { } {"a": 1} x}`},
		"text beside calls":     {`[{say: wait, calls: [{tool: a, args: {x: 1}}, {tool: b}]}]`, []llm.Message{says("x")}, `wait a({"x":1}) b({})`},
		"nothing said":          {`[{say: ""}]`, []llm.Message{says("x")}, ""},
		"a delay goes on":       {`[{delay: 1us}, {say: after}]`, []llm.Message{says("x")}, "after"},
		"no messages":           {`[{when: {text: x}, say: no}, {say: yes}]`, nil, "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := answer(t, load(t, "rules: "+tc.rules), tc.messages...); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestScript_I2_Errors(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]llm.Error{
		"error: 429, after: 2s":   {Class: llm.RateLimited, Status: 429, After: 2 * time.Second},
		"error: 500":              {Class: llm.Temporary, Status: 500},
		"error: 503":              {Class: llm.Overloaded, Status: 503},
		"error: 401":              {Class: llm.Auth, Status: 401},
		"error: timeout":          {Class: llm.Timeout},
		"error: context_too_long": {Class: llm.ContextTooLong, Status: 400},
		"error: no_tools":         {Class: llm.NoTools, Status: 400},
		"error: filtered":         {Class: llm.Filtered, Status: 400},
		"when: {text: z}, say: a": {Class: llm.BadRequest},
		`say: "{result.id}"`:      {Class: llm.BadRequest},
	} {
		_, err := load(t, "rules: [{"+spec+"}]").Generate(t.Context(), llm.Request{Messages: []llm.Message{says("private words")}}, nil)
		got, ok := errors.AsType[*llm.Error](err)
		if !ok || got.Class != want.Class || got.Status != want.Status || got.After != want.After {
			t.Errorf("%s: got %v", spec, err)
			continue
		}
		if !strings.Contains(err.Error(), "dir/model.yaml") || strings.Contains(err.Error(), "private") {
			t.Errorf("%s: says %v", spec, err)
		}
	}
}

func TestLists_AreBounded(t *testing.T) {
	t.Parallel()
	wide := "[" + strings.Repeat(`0,`, 2000) + "0]"
	for name, lists := range map[string]string{
		"within itself": `{a: {each: result, line: "{a}"}}`,
		"growing":       `{a: {each: result, line: "{b}"}, b: {each: result, line: "{n} is one of many lines"}}`,
		"no list":       `{a: {each: user, line: x}}`,
	} {
		p := load(t, "lists: "+lists+"\nrules: [{say: '{a}'}]")
		if _, err := p.Generate(t.Context(), llm.Request{Messages: []llm.Message{says("x"), returns("t", wide)}}, nil); !llm.HasClass(err, llm.BadRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestScript_I2_DelayEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := load(t, `rules: [{delay: 50ms, say: late}]`)
		start := time.Now()
		if _, err := p.Generate(t.Context(), llm.Request{}, nil); err != nil || time.Since(start) != 50*time.Millisecond {
			t.Errorf("took %v, %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := p.Generate(ctx, llm.Request{}, nil); !llm.HasClass(err, llm.Cancelled) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestScript_StreamGrows(t *testing.T) {
	t.Parallel()
	var got []string
	_, err := load(t, `rules: [{say: "one two ☕"}]`).Generate(t.Context(), llm.Request{}, func(s string) { got = append(got, s) })
	if diff := cmp.Diff([]string{"one", "one two", "one two ☕"}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// A paced text takes as long whether it is streamed or not, and ends with the
// context.
func TestScript_A9_PacedTextGrows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := load(t, `rules: [{pace: 50ms, say: "one two ☕"}]`)
		start := time.Now()
		var got []string
		onText := func(s string) { got = append(got, fmt.Sprint(time.Since(start), " ", s)) }
		if _, err := p.Generate(t.Context(), llm.Request{}, onText); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"50ms one", "100ms one two", "150ms one two ☕"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if _, err := p.Generate(t.Context(), llm.Request{}, nil); err != nil || time.Since(start) != 300*time.Millisecond {
			t.Errorf("not streamed: %v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
		defer cancel()
		if _, err := p.Generate(ctx, llm.Request{}, onText); !llm.HasClass(err, llm.Cancelled) || len(got) != 4 {
			t.Errorf("got %v after %q", err, got)
		}
	})
}

func TestScript_I2_RecordsRequests(t *testing.T) {
	t.Parallel()
	p := load(t, `rules: [{say: ok}]`)
	messages := []llm.Message{says("first")}
	_, _ = p.Generate(t.Context(), llm.Request{Messages: messages}, nil)
	messages[0].Text = "changed"
	if got := p.Requests()[0].Messages[0].Text; got != "first" {
		t.Errorf("the record changed to %q", got)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				_, _ = p.Generate(t.Context(), llm.Request{}, nil)
				_ = p.Requests()
			}
		})
	}
	wg.Wait()
	for i := range script.Kept {
		_, _ = p.Generate(t.Context(), llm.Request{MaxTokens: i + 1}, nil)
	}
	_, _ = p.Generate(t.Context(), llm.Request{MaxTokens: 999}, nil)
	got := p.Requests()
	if len(got) != script.Kept || got[0].MaxTokens != 2 || got[script.Kept-1].MaxTokens != 999 || p.Seen() != 401+script.Kept+1 {
		t.Errorf("%d kept, from %d to %d, of %d", len(got), got[0].MaxTokens, got[len(got)-1].MaxTokens, p.Seen())
	}
	if p.Name() != "script" || p.Model() != "model" {
		t.Errorf("is %s/%s", p.Name(), p.Model())
	}
}

func TestNew_SaysWhereItIsWrong(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		"rules:\n  - when: {txt: a}\n    say: b":                             "m.yaml:2:12: ",
		"rules:\n  - when: {text: \"(\"}\n    say: b":                        "m.yaml:2:18: regular expression",
		"rules:\n  - say: \"{nobody}\"":                                      "m.yaml:2:10: {nobody}",
		"rules:\n  - say: {xx: hi}":                                          "m.yaml:2:15: languages",
		"rules:\n  - say: [a]":                                               "m.yaml:2:10: a text",
		"rules:\n  - when: {last: never}\n    say: b":                        "m.yaml:2:18: last",
		"rules:\n  - call: {tool: t, args: {a: [{b: \"{2}\"}]}}":             "m.yaml:2:36: args",
		"rules:\n  - call: {args: {}}":                                       "m.yaml:2:5: call: tool",
		"rules:\n  - error: 200":                                             "m.yaml:2:12: error",
		"rules:\n  - error: 500\n    say: x":                                 "m.yaml:2:5: error stands",
		"rules:\n  - stop: length\n    pace: 1s":                             "m.yaml:3:11: pace goes with say",
		"rules:\n  - say: a\n    delay: soon":                                "m.yaml:3:12: delay",
		"rules:\n  - say: a\n    after: 1s":                                  "m.yaml:3:12: after",
		"rules:\n  - when: {text: a}":                                        "m.yaml:2:5: a rule needs",
		"rules:\n  - stop: now":                                              "m.yaml:2:11: stop",
		"rules:\n  - say: a\n    say: b":                                     "m.yaml:3:5: ",
		"rules: []":                                                          "m.yaml:1:1: rules",
		"rules: [\n":                                                         "m.yaml:2:1: ",
		"":                                                                   "m.yaml",
		"rules: [{say: a}]\nextract:\n  x: {numbers: fr}":                    "m.yaml:3:16: numbers",
		"rules: [{say: a}]\nextract:\n  x: {from: here, numbers: en}":        "m.yaml:3:13: from",
		"rules: [{say: a}]\nextract:\n  x: {key: a}":                         "m.yaml:3:6: extract",
		"rules: [{say: a}]\nextract:\n  x: {words: {a: [\"!\"]}}":            "m.yaml:3:19: words",
		"rules: [{say: a}]\nlists:\n  x: {line: a}":                          "m.yaml:3:6: lists",
		"rules: [{say: a}]\nlists:\n  x: {each: bread.x?, line: a, jn: b}":   "m.yaml:3:",
		"rules:\n  - call: {tool: t, args: &a [*a]}\n":                       "m.yaml:2:",
		"rules:\n  - {say: a, calls: [{tool: t}], call: {tool: u, args: 1}}": "m.yaml:2:5: call and calls",
	} {
		_, err := script.New([]byte(doc), "m.yaml")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", doc, err, want)
		}
	}
	_, err := script.New([]byte("rules:\n  - say: \"{a}\"\n  - say: \"{b}\"\n  - when: {text: \"[\"}\n"), "m.yaml")
	if n := strings.Count(err.Error(), "m.yaml:"); n != 4 {
		t.Errorf("%d errors are told: %v", n, err)
	}
}

func BenchmarkGenerate(b *testing.B) {
	p := shop(b)
	for name, messages := range map[string][]llm.Message{
		"order": {says("I'd like to order two coffees and a croissant, please")},
		"list":  {says("¿qué pedí?"), calls("my_orders", "{}"), returns("my_orders", orders)},
		"last":  {says("good morning, is it going to rain in the afternoon?")},
	} {
		req := llm.Request{System: []string{"You are La Espiga, a bakery.", "Answer in English."}, Messages: messages}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Generate(b.Context(), req, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
