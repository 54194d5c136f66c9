package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/ledger"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/turn"
)

func exportTests() []test {
	return []test{
		{"I14_export_of_all_kinds", exportAll},
		{"I14_export_of_a_group_has_each_persons_lane", exportGroup},
		{"I14_export_of_an_unknown_chat", exportUnknown},
	}
}

// export counts the lines of a chat by kind, and gives them as one text.
func (b *bench) export(chat string) (kinds map[string]int, text string) {
	b.Helper()
	lines, err := b.Store.Export(b.Context(), chat)
	if err != nil {
		b.Fatalf("exporting %s: %v", chat, err)
	}
	kinds = map[string]int{}
	for _, line := range lines {
		var l struct{ Kind string }
		if err := json.Unmarshal(line, &l); err != nil || strings.Contains(string(line), "\n") {
			b.Fatalf("%s: %v", line, err)
		}
		kinds[l.Kind]++
		text += string(line) + "\n"
	}
	return kinds, text
}

func exportAll(b *bench) {
	p, other := alone("ana"), alone("bo")
	b.say(other, "bo", "bo's secret", inbox.Queued)
	b.end(b.begin(other), "for bo only")

	b.say(p, "ana-id", "hello, shop", inbox.Queued)
	w := b.begin(p)
	st := b.step(&w)
	call := w.id + ".1"
	st.Calls, st.Started = []turn.Call{{ID: call, Tool: "save", Args: json.RawMessage(`{"size":7}`)}}, call
	st.Events = []audit.Event{{Type: audit.ToolCall, Tool: "save", ChatKey: p.ChatKey}}
	b.commit(w, st)
	err := b.Store.Result(b.Context(), w.Lane, turn.Result{
		TurnID: w.id, CallID: call, State: turn.CallSucceeded, Journal: json.RawMessage(`{"n":2}`), Value: json.RawMessage(`"cake"`),
		Run: &ledger.Run{CallID: call, Tool: "save", EndedAt: b.Store.Now(), KeepUntil: b.Store.Now().Add(time.Minute)},
		Writes: []tool.Write{
			{Scope: tool.ScopeOf("chat", channel, p.ChatKey), Key: "k", Value: json.RawMessage(`"of the chat"`)},
			{Scope: tool.ScopeOf("user", channel, "ana-id"), Key: "k", Value: json.RawMessage(`"of ana"`)},
			{Scope: tool.ScopeOf("user", channel, "bo"), Key: "k", Value: json.RawMessage(`"of bo"`)},
			{Scope: "bot", Key: "k", Value: json.RawMessage(`"of all"`)},
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.end(w, "here you are")
	b.send(p)
	b.question(p, "ana-id")

	kinds, text := b.export(p.ChatKey)
	want := map[string]int{"lane": 1, "message": 2, "history": 1, "turn": 2, "call": 2, "question": 1, "run": 1, "log": 4, "outbox": 2, "event": 1, "saved": 2}
	if diff := cmp.Diff(want, kinds); diff != "" {
		b.Errorf("kinds (-want +got):\n%s\n%s", diff, text)
	}
	for _, part := range []string{
		`"text":"hello, shop"`, `"lines":[{"role":"user","text":"hello"},{"role":"assistant","text":"here you are"}]`, `"args":{"size":7}`,
		`"result":"cake"`, `"state":"pending"`, `"of the chat"`, `"of ana"`, `"Place order?"`, `"parked":true`,
	} {
		if !strings.Contains(text, part) {
			b.Errorf("%s is missing in\n%s", part, text)
		}
	}
	for _, part := range []string{"bo's secret", "for bo only", "of bo", "of all"} {
		if strings.Contains(text, part) {
			b.Errorf("%s is another's, in\n%s", part, text)
		}
	}
}

func exportGroup(b *bench) {
	for _, user := range []string{"ana", "bo"} {
		p := groupUser("g", user)
		b.say(p, user, "I am "+user, inbox.Queued)
	}
	b.say(group("g2"), "cy", "I am cy", inbox.Queued)
	kinds, text := b.export(group("g").ChatKey)
	if kinds["lane"] != 2 || kinds["message"] != 2 || strings.Contains(text, "I am cy") {
		b.Errorf("%v in\n%s", kinds, text)
	}
	_, err := b.Store.Export(b.Context(), groupUser("g", "ana").Lane)
	if !errors.Is(err, store.ErrUnknownChat) || !strings.Contains(err.Error(), fmt.Sprintf("one person's part of %q", group("g").ChatKey)) {
		b.Errorf("a part of it: %v", err)
	}
}

func exportUnknown(b *bench) {
	b.say(alone("ana"), "ana", "hi", inbox.Queued)
	for _, key := range []string{"", "ana", channel + ":", channel + ":an", channel + ":ana:x"} {
		if lines, err := b.Store.Export(b.Context(), key); !errors.Is(err, store.ErrUnknownChat) || len(lines) != 0 {
			b.Errorf("chat %q: %d lines, %v", key, len(lines), err)
		}
	}
}
