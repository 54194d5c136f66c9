package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/llm"
)

// requests proves what a model gets to see.
func (s suite) requests(t *testing.T) {
	t.Parallel()
	ok := Answer{Pieces: []string{"ok"}, Stop: llm.StopEnd}
	sent := func(t *testing.T, req llm.Request) Seen {
		t.Helper()
		srv, p := s.answering(t, ok)
		if _, err := p.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		return srv.requests()[0]
	}

	t.Run("system, tools and limits", func(t *testing.T) {
		t.Parallel()
		req := ask()
		req.System, req.MaxTokens = []string{"You are a bakery.", "Answer in Español."}, 321
		bare := llm.Card{Name: "list_orders", Description: "Lists."}
		req.Tools = append(req.Tools, bare)
		got := sent(t, req)
		a, b := strings.Index(got.System, req.System[0]), strings.Index(got.System, req.System[1])
		if a < 0 || b < a {
			t.Errorf("system is %q", got.System)
		}
		if got.MaxTokens != 321 || got.Stream {
			t.Errorf("max tokens %d, stream %v", got.MaxTokens, got.Stream)
		}
		if !s.b.Lacks(KeyHeader) && got.Key != canary {
			t.Errorf("key %q", got.Key)
		}
		if len(got.Tools) != 2 || got.Tools[0].Name != "place_order" || got.Tools[0].Description != card().Description {
			t.Fatalf("tools are %+v", got.Tools)
		}
		if diff := cmp.Diff(decoded(card().Schema), decoded(got.Tools[0].Schema)); diff != "" {
			t.Errorf("schema (-want +got):\n%s", diff)
		}
		if schema, _ := decoded(got.Tools[1].Schema).(map[string]any); schema["type"] != "object" {
			t.Errorf("a tool without arguments has the schema %s", got.Tools[1].Schema)
		}
	})

	t.Run("transcript", func(t *testing.T) {
		t.Parallel()
		got := sent(t, llm.Request{Messages: transcript()})
		checkTranscript(t, got.Messages)
	})

	t.Run("opaque comes back", func(t *testing.T) {
		t.Parallel()
		if s.b.Lacks(Opaque) {
			return
		}
		srv, p := s.answering(t, Answer{Calls: []llm.Call{{ID: "c1", Name: "list_orders", Args: "{}"}}, Stop: llm.StopCalls, Opaque: "thought-1"})
		resp, err := p.Generate(t.Context(), ask(), nil)
		if err != nil {
			t.Fatal(err)
		}
		next := ask()
		resp.Calls[0].ID = "turn.1.0"
		next.Messages = append(next.Messages,
			llm.Message{Role: llm.RoleAssistant, Calls: resp.Calls, Opaque: resp.Opaque, From: resp.From},
			llm.Message{Role: llm.RoleTool, Results: []llm.Result{{CallID: "turn.1.0", Name: "list_orders", Content: "[]"}}})
		if _, err := p.Generate(t.Context(), next, nil); err != nil {
			t.Fatal(err)
		}
		seen := srv.requests()
		if seen[0].Opaque != "" || !strings.Contains(seen[1].Opaque, "thought-1") {
			t.Errorf("opaque first %q, then %q", seen[0].Opaque, seen[1].Opaque)
		}
	})
}

// transcript has all that a loop may send: adjacent lines of the person, ids
// that repeat, a broken call, a call without a result and a result without a
// call.
func transcript() []llm.Message {
	return []llm.Message{
		{Role: llm.RoleUser, Text: "first"},
		{Role: llm.RoleUser, Text: "second ☕"},
		{Role: llm.RoleAssistant, Text: "let me see", Calls: []llm.Call{
			{ID: "0198c7a2-7b1e-7c3d-9f10-2a4b6c8d0e1f.10.0", Name: "list_orders", Args: ""},
			{ID: "same", Name: "place_order", Args: `{"product":"café"}`},
			{ID: "same", Name: "place_order", Args: `{"product":"caf`},
			{ID: "lost", Name: "place_order", Args: `{"product":"rye_bread"}`},
		}},
		{Role: llm.RoleTool, Results: []llm.Result{
			{CallID: "0198c7a2-7b1e-7c3d-9f10-2a4b6c8d0e1f.10.0", Name: "list_orders", Content: `[{"id":7}]`},
			{CallID: "same", Name: "place_order", Content: "done one"},
			{CallID: "same", Name: "place_order", Content: "failed two", Failed: true},
			{CallID: "nobody's", Name: "place_order", Content: "stray"},
		}},
		{Role: llm.RoleAssistant, Text: "all done"},
		{Role: llm.RoleUser, Text: "thanks"},
	}
}

func checkTranscript(t *testing.T, got []llm.Message) {
	t.Helper()
	var roles []llm.Role
	for _, m := range got {
		roles = append(roles, m.Role)
	}
	want := []llm.Role{llm.RoleUser, llm.RoleAssistant, llm.RoleTool, llm.RoleAssistant, llm.RoleUser}
	if diff := cmp.Diff(want, roles); diff != "" {
		t.Fatalf("roles (-want +got):\n%s", diff)
	}
	if text := got[0].Text; !strings.Contains(text, "first") || !strings.Contains(text, "second ☕") {
		t.Errorf("the person said %q", text)
	}
	if got[1].Text != "let me see" || got[3].Text != "all done" || got[4].Text != "thanks" {
		t.Errorf("texts are %q, %q, %q", got[1].Text, got[3].Text, got[4].Text)
	}
	calls, results := got[1].Calls, got[2].Results
	if len(calls) != 4 || len(results) != 4 {
		t.Fatalf("%d calls, %d results", len(calls), len(results))
	}
	ids := map[string]bool{}
	for i, c := range calls {
		if c.Name != transcript()[2].Calls[i].Name {
			t.Errorf("call %d is of %q", i, c.Name)
		}
		if ids[c.ID] {
			t.Errorf("the id %q is there twice", c.ID)
		}
		ids[c.ID] = true
		if results[i].CallID != c.ID {
			t.Errorf("result %d is of %q, want %q", i, results[i].CallID, c.ID)
		}
		var object map[string]any
		if json.Unmarshal([]byte(c.Args), &object) != nil || object == nil {
			t.Errorf("call %d is sent with %q, not an object", i, c.Args)
		}
	}
	if calls[1].Args != `{"product":"café"}` && decoded([]byte(calls[1].Args)).(map[string]any)["product"] != "café" {
		t.Errorf("arguments are %s", calls[1].Args)
	}
	for i, part := range []string{`"id":7`, "done one", "failed two"} {
		if !strings.Contains(results[i].Content, part) {
			t.Errorf("result %d is %q, want %q", i, results[i].Content, part)
		}
	}
	if strings.Contains(results[3].Content, "stray") {
		t.Error("a stray result answers another call")
	}
}

func decoded(raw []byte) any {
	var v any
	_ = json.Unmarshal(raw, &v)
	return v
}

// secrets proves that a key shows in no error of the transport.
func (s suite) secrets(t *testing.T) {
	t.Parallel()
	srv, _ := s.answering(t, Answer{})
	p := s.provider(t, srv.URL, time.Second)
	srv.Close()
	for _, stream := range []bool{false, true} {
		_, err := generate(t.Context(), p, stream)
		mustFail(t, p, err, llm.Temporary)
		if strings.Contains(err.Error(), "http://") {
			t.Errorf("the URL is shown: %v", err)
		}
	}
}

// time proves timeouts and cancellation.
func (s suite) time(t *testing.T) {
	t.Parallel()
	hang := func(_ http.ResponseWriter, r *http.Request, _ []byte) { <-r.Context().Done() }
	for _, stream := range []bool{false, true} {
		srv, _ := s.serve(t, hang)
		p := s.provider(t, srv.URL, 20*time.Millisecond)
		_, err := generate(t.Context(), p, stream)
		mustFail(t, p, err, llm.Timeout)

		ctx, cancel := context.WithCancel(t.Context())
		srv, p = s.serve(t, func(w http.ResponseWriter, r *http.Request, body []byte) {
			cancel()
			hang(w, r, body)
		})
		_, err = generate(ctx, p, stream)
		mustFail(t, p, err, llm.Cancelled)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("doesn't wrap context.Canceled: %v", err)
		}
		_ = srv
	}
}
