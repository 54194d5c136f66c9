package webchat_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/webchat"
)

var update = flag.Bool("update", false, "write the golden files anew")

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}

// TestAPI_Shapes writes every call and its answer down.
func TestAPI_Shapes(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{MaxText: 100})
	v := c.begin("es-MX")
	c.onAccept(func(ctx context.Context, in channels.Inbound) error {
		switch {
		case in.Kind == channels.KindPress:
			return c.adapter.Ack(ctx, in, channels.PressAck{Outcome: channels.PressAccepted})
		case strings.TrimSpace(in.Text) == "":
			return &channels.RefusedError{Reason: channels.RefusedBlank}
		}
		return nil
	})
	yes := channels.Button{ID: "0123456789abcdef", Label: "Sí", Value: "yes"}
	for _, e := range []channels.LogEntry{
		{ID: "c-1", From: channels.FromUser, Text: "dos <cafés> & un té"},
		{ID: "b-1", From: channels.FromBot, Text: "Voy a: Crear pedido\n• 2 × café\n¿Confirmas?", Buttons: []channels.Button{yes}},
		{ID: "e-1", From: channels.FromBot, Text: "Voy a: Crear pedido → Sí", EditOf: "b-1"},
		{ID: "h-1", From: channels.FromHuman, Text: "Hola, soy Marta."},
	} {
		e.At = fixed()
		c.host.Append(v.at(), e)
	}
	var out strings.Builder
	for _, step := range []struct{ method, path, body string }{
		{"POST", "messages", `{"text":"dos cafés","client_id":"k1"}`},
		{"POST", "messages", `{"text":"dos cafés","client_id":"k1"}`},
		{"POST", "messages", `{"text":"  "}`},
		{"POST", "messages", `{"text":"` + strings.Repeat("x", 101) + `"}`},
		{"POST", "messages", `{"text":`},
		{"POST", "messages", `{"text":7}`},
		{"POST", "press", `{"button":"0123456789abcdef"}`},
		{"POST", "press", `{}`},
		{"GET", "messages", ""},
		{"GET", "messages?after=3", ""},
		{"GET", "messages?after=99", ""},
		{"GET", "messages?after=x", ""},
		{"DELETE", "messages", ""},
		{"GET", "sessions", ""},
		{"GET", "nothing", ""},
	} {
		status, body := v.call(step.method, "/chat/api/"+step.path, step.body)
		fmt.Fprintf(&out, "%s %s %s\n%d %s\n\n", step.method, step.path, step.body, status, body)
	}
	status, _, body := c.do("GET", "/chat/api/messages", "", "Authorization", "Bearer wrong")
	fmt.Fprintf(&out, "GET messages with a wrong token\n%d %s\n", status, body)
	golden(t, "api.golden", strings.ReplaceAll(out.String(), hexOf(v, "k1"), "ID-OF-k1"))

	st := v.open("/chat/api/events?after=0")
	var events strings.Builder
	for range 5 { // the retry hint and four events
		events.WriteString(st.block() + "\n\n")
	}
	c.adapter.Typing(t.Context(), v.at(), time.Time{})
	events.WriteString(st.event("typing") + "\n")
	golden(t, "events.golden", events.String())
}

// hexOf is the id that the server gave a client id.
func hexOf(v visitor, clientID string) string {
	_, body := v.call("POST", "/chat/api/messages", `{"text":"x","client_id":"`+clientID+`"}`)
	var out struct{ ID string }
	_ = json.Unmarshal([]byte(body), &out)
	return out.ID
}

func TestSession_TokenIsKeptAsHashOnly(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{})
	a, b := c.begin("es-MX"), c.begin("not a language!")
	if a.session == b.session || a.token == b.token || len(a.token) != 43 {
		t.Errorf("sessions %q %q, tokens of %d and %d characters", a.session, b.session, len(a.token), len(b.token))
	}
	for _, key := range c.host.Keys() {
		value, err := c.host.State().Get(t.Context(), key)
		if err != nil || !strings.HasPrefix(key, "session/") {
			t.Errorf("key %q, %v", key, err)
		}
		for _, token := range []string{a.token, b.token} {
			if strings.Contains(key+string(value), token) {
				t.Error("the store holds a token")
			}
		}
	}
	a.call("POST", "/chat/api/messages", `{"text":"hola"}`)
	b.call("POST", "/chat/api/messages", `{"text":"hi"}`)
	got := c.accepted()
	want := []channels.Inbound{
		{Kind: channels.KindMessage, Chat: a.at(), From: channels.User{ID: channels.UserID(a.session), Lang: "es-MX"}, Text: "hola", Mentioned: true},
		{Kind: channels.KindMessage, Chat: b.at(), From: channels.User{ID: channels.UserID(b.session)}, Text: "hi", Mentioned: true},
	}
	for i := range want {
		want[i].ID = got[i].ID // random
	}
	if diff := cmp.Diff(want, got); diff != "" || got[0].ID == got[1].ID {
		t.Errorf("accepted (-want +got):\n%s", diff)
	}
}

func TestMessages_G1_SameClientIDSameID(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{})
	a, b := c.begin("en"), c.begin("en")
	send := func(v visitor, clientID string) string {
		status, body := v.call("POST", "/chat/api/messages", `{"text":"x","client_id":"`+clientID+`"}`)
		if status != http.StatusAccepted {
			t.Fatalf("%d %s", status, body)
		}
		return body
	}
	first := send(a, "k")
	if again := send(a, "k"); again != first {
		t.Errorf("the same client id gave %s, then %s", first, again)
	}
	for name, other := range map[string]string{"another client id": send(a, "l"), "another session": send(b, "k")} {
		if other == first {
			t.Errorf("%s gave the same id %s", name, first)
		}
	}
}

func TestMessages_G6_RefusalsAreTold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err    error
		status int
		code   string
		after  string
	}{
		"blank":       {&channels.RefusedError{Reason: channels.RefusedBlank}, 422, "blank", ""},
		"invalid":     {&channels.RefusedError{Reason: channels.RefusedInvalid}, 422, "invalid", ""},
		"too large":   {&channels.RefusedError{Reason: channels.RefusedTooLarge}, 413, "too_large", ""},
		"queue full":  {&channels.RefusedError{Reason: channels.RefusedQueueFull}, 429, "queue_full", "1"},
		"rate":        {&channels.RefusedError{Reason: channels.RefusedRate, After: 2500 * time.Millisecond}, 429, "rate", "3"},
		"unavailable": {&channels.RefusedError{Reason: channels.RefusedUnavailable, After: 9 * time.Second}, 503, "unavailable", "9"},
		"wrapped":     {fmt.Errorf("accepting: %w", &channels.RefusedError{Reason: channels.RefusedRate}), 429, "rate", "1"},
		"other":       {errors.New("disk canary-detail full"), 503, "unavailable", "5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChat(t, webchat.Config{})
			v := c.begin("en")
			c.onAccept(func(context.Context, channels.Inbound) error { return tc.err })
			for _, call := range [][2]string{{"messages", `{"text":"x"}`}, {"press", `{"button":"0123456789abcdef"}`}} {
				status, h, body := c.do("POST", "/chat/api/"+call[0], call[1], "Authorization", "Bearer "+v.token)
				if status != tc.status || !strings.Contains(body, `"code":"`+tc.code+`"`) || h.Get("Retry-After") != tc.after {
					t.Errorf("%s: %d %s, Retry-After %q; want %d %s %q", call[0], status, body, h.Get("Retry-After"), tc.status, tc.code, tc.after)
				}
				if strings.Contains(body, "canary") {
					t.Error("the answer tells the cause")
				}
			}
		})
	}
}

func TestMessages_HostileBodies(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{MaxText: 64})
	v := c.begin("en")
	for name, tc := range map[string]struct {
		body   string
		status int
	}{
		"fits":             {`{"text":"` + strings.Repeat("x", 64) + `"}`, 202},
		"fits when quoted": {`{"text":"` + strings.Repeat(`\u0041`, 64) + `"}`, 202},
		"one too many":     {`{"text":"` + strings.Repeat("x", 65) + `"}`, 413},
		"bytes count":      {`{"text":"` + strings.Repeat("é", 33) + `"}`, 413},
		"endless":          {`{"text":"` + strings.Repeat("x", 1<<20) + `"}`, 413},
		"endless spaces":   {strings.Repeat(" ", 1<<20), 413},
		"not utf-8":        {"{\"text\":\"\xff\"}", 400},
		"no json":          {`text=hello`, 400},
		"two values":       {`{"text":"a"}{"text":"b"}`, 400},
		"cut":              {`{"text":"a`, 400},
		"array":            {`["text"]`, 422},
		"number":           {`{"text":1}`, 422},
		"long client id":   {`{"text":"a","client_id":"` + strings.Repeat("x", 257) + `"}`, 422},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, body := v.call("POST", "/chat/api/messages", tc.body)
			if status != tc.status || !json.Valid([]byte(body)) {
				t.Errorf("%d %s, want %d and JSON", status, body, tc.status)
			}
		})
	}
}

func TestStoreAway_Is503(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{})
	v := c.begin("en")
	c.host.Fail(errors.New("away"))
	for _, call := range [][3]string{
		{"POST", "sessions", "{}"}, {"POST", "messages", `{"text":"x"}`}, {"GET", "messages", ""}, {"GET", "events", ""},
	} {
		status, h, body := c.do(call[0], "/chat/api/"+call[1], call[2], "Authorization", "Bearer "+v.token)
		if status != http.StatusServiceUnavailable || h.Get("Retry-After") == "" {
			t.Errorf("%s %s: %d %s", call[0], call[1], status, body)
		}
	}
}
