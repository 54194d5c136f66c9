package starter

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/llm/script"
	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/tool/js"
	"github.com/parley-bot/parley/internal/tool/tooltest"
)

func TestConfiguration_IsValidAndNamesTheFiles(t *testing.T) {
	t.Parallel()
	c, err := config.LoadFS(Files, "parley.yaml", config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := append([]string{c.Model.Provider, c.Model.Script}, c.Tools.Scripts...)
	if diff := cmp.Diff([]string{"script", "model.yaml", "tools.ts"}, got); diff != "" {
		t.Error(diff)
	}
	if len(c.Channels) != 1 || c.Channels[0].Kind != "webchat" {
		t.Errorf("channels %v, want one web chat", c.Channels)
	}
}

// Whoever takes a comment's # away gets a valid file: what the comments show
// are keys that exist, with values that fit.
func TestConfiguration_CommentedKeysAreValid(t *testing.T) {
	t.Parallel()
	fsys := uncommented(t)
	env := func(string) (string, bool) { return "value", true }
	c, err := config.LoadFS(fsys, "parley.yaml", config.Options{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Tools.Named) != 1 || len(c.Model.Fallback) != 1 || len(c.Confirm.YesAdd) != 1 || c.Audit.File == "" || len(c.Locale) != 1 {
		t.Errorf("not everything was uncommented: %+v", c)
	}
}

// uncommented is the starter with everything switched on that a comment shows.
func uncommented(t *testing.T) fs.FS {
	t.Helper()
	src, err := Files.ReadFile("parley.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(src), "  provider: script\n  script: model.yaml\n", "", 1)
	if text == string(src) {
		t.Fatal("the scripted model isn't where this test looks for it")
	}
	key := regexp.MustCompile(`(?m)^(\s*)# (\s*(?:[a-z_]+:(?: |$)|- \{))`)
	return fstest.MapFS{
		"parley.yaml": {Data: []byte(key.ReplaceAllString(text, "$1$2"))},
		"tools.ts":    {Data: []byte("export const tools = {}")},
	}
}

type bot struct {
	t        *testing.T
	registry *tool.Registry
	model    *script.Provider
	store    *tooltest.Store
	calls    int
}

func newBot(t *testing.T) *bot {
	t.Helper()
	m, err := js.Load(t.Context(), js.Embedded(Files, "tools.ts"), js.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	registry, err := tool.NewRegistry(m.Tools())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := Files.ReadFile("model.yaml")
	if err != nil {
		t.Fatal(err)
	}
	model, err := script.New(doc, "model.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return &bot{t: t, registry: registry, model: model, store: tooltest.NewStore()}
}

// say runs one turn; answers are given to the questions in order. It returns
// the text and the lines of each question.
func (b *bot) say(text string, answers ...string) (string, []string) {
	b.t.Helper()
	msgs := []llm.Message{{Role: llm.RoleUser, Text: text}}
	var questions []string
	for range 5 {
		resp, err := b.model.Generate(b.t.Context(), llm.Request{Messages: msgs}, nil)
		if err != nil {
			b.t.Fatalf("%q: %v", text, err)
		}
		if len(resp.Calls) == 0 {
			return resp.Text, questions
		}
		if len(resp.Calls) != 1 {
			b.t.Fatalf("%q: %d calls at once", text, len(resp.Calls))
		}
		call := resp.Calls[0]
		content, failed := b.run(call, &answers, &questions)
		msgs = append(msgs, llm.Message{Role: llm.RoleAssistant, Calls: resp.Calls},
			llm.Message{Role: llm.RoleTool, Results: []llm.Result{{CallID: call.ID, Name: call.Name, Content: content, Failed: failed}}})
	}
	b.t.Fatalf("%q: the model goes on calling tools", text)
	return "", nil
}

func (b *bot) run(call llm.Call, answers, questions *[]string) (content string, failed bool) {
	b.t.Helper()
	tl, ok := b.registry.Get(call.Name)
	if !ok {
		b.t.Fatalf("the model calls %s, which isn't there", call.Name)
	}
	args, violations := b.registry.Validate(tl, call.Args)
	if violations != nil {
		b.t.Fatalf("%s %s: %v", call.Name, call.Args, violations)
	}
	b.calls++
	tc := tool.Call{
		ID: fmt.Sprintf("t.1.%d", b.calls), Tool: call.Name, Args: args, Lang: "en", Store: b.store,
		Identity: tool.Identity{ChatKey: "web:c", Channel: "web", UserID: "u"},
	}
	if tl.Confirm {
		lines, ok, err := tl.Runner.(tool.Liner).ConfirmLines(b.t.Context(), tc)
		if err != nil || !ok {
			b.t.Fatalf("lines of %s: %v %v", call.Name, ok, err)
		}
		*questions = append(*questions, strings.Join(lines, "\n"))
		if len(*answers) == 0 {
			b.t.Fatalf("%s is asked, and the test has no answer", call.Name)
		}
		answer := (*answers)[0]
		*answers = (*answers)[1:]
		switch answer {
		case "yes":
		case "no":
			return `{"executed":false,"reason":"denied"}`, true
		case "duplicate":
			return `{"executed":false,"reason":"duplicate","previous":{"result":"x","secondsAgo":3}}`, false
		default:
			reply, err := json.Marshal(answer)
			if err != nil {
				b.t.Fatal(err)
			}
			return `{"executed":false,"reason":"user_replied","userReply":` + string(reply) + `}`, true
		}
	}
	res, err := tl.Runner.Run(b.t.Context(), tc)
	if err != nil {
		b.t.Fatalf("%s: %v", call.Name, err)
	}
	if !b.store.Commit(res.Writes) {
		b.t.Fatalf("%s: conflict", call.Name)
	}
	return tool.Content(res, 0), res.Failed
}

func TestBot_ShowsBothTools(t *testing.T) {
	t.Parallel()
	const tuesday = "• When: Tuesday afternoon, 15:00 to 18:00\n• About: my bicycle"
	for _, tc := range []struct {
		say       string
		answers   []string
		want      string
		questions []string
	}{
		{"when are you open?", nil, "We are open:\n• Monday: 9:00 to 13:00 and 15:00 to 18:00\n", nil},
		{"when are you open?", nil, "• Friday: 9:00 to 13:00\nClosed on Saturday and Sunday.", nil},
		{"Call me on Tuesday afternoon about my bicycle, please.", []string{"yes"}, "Noted as C-1: we'll call you on Tuesday afternoon, 15:00 to 18:00.", []string{tuesday}},
		{"call me on Tuesday afternoon about my bicycle", []string{"yes"}, "Noted as C-1:", []string{tuesday}},
		{"call me on Tuesday afternoon about my bicycle", []string{"no"}, "nobody will call", []string{tuesday}},
		{"call me on Tuesday afternoon about my bicycle", []string{"duplicate"}, "a moment ago", []string{tuesday}},
		{"call me on Tuesday afternoon about my bicycle", []string{"rather Friday morning", "yes"}, "C-1: we'll call you on Friday morning, 9:00 to 13:00.", []string{tuesday, "• When: Friday morning, 9:00 to 13:00\n• About: my bicycle"}},
		{"call me on Tuesday afternoon about my bicycle", []string{"it is about my car", "yes"}, "C-1", []string{tuesday, "• When: Tuesday afternoon, 15:00 to 18:00\n• About: my car"}},
		{"call me on Tuesday afternoon about my bicycle", []string{"are you open on Monday?"}, "We are open", []string{tuesday}},
		{"call me on Tuesday afternoon about my bicycle", []string{"I don't know yet"}, "I haven't asked for a call", []string{tuesday}},
		{"monday morning", []string{"yes"}, "C-1", []string{"• When: Monday morning, 9:00 to 13:00\n• About: not said"}},
		{"friday afternoon", nil, "two things", nil},
		{"please call me", nil, "When shall we call", nil},
		{"hello", nil, "Hello!", nil},
		{"thank you", nil, "welcome", nil},
		{"tell me a joke {slot} $1", nil, "two things", nil},
	} {
		b := newBot(t)
		got, questions := b.say(tc.say, tc.answers...)
		if !strings.Contains(got, tc.want) {
			t.Errorf("%q %q: %q, want %q in it", tc.say, tc.answers, got, tc.want)
		}
		if diff := cmp.Diff(tc.questions, questions); diff != "" {
			t.Errorf("%q %q: questions %s", tc.say, tc.answers, diff)
		}
	}
}

func TestTools_SaveWhoAsked(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	b.say("call me on Tuesday afternoon about my bicycle", "yes")
	got, _ := b.say("call me on Monday morning about a lamp", "yes")
	if !strings.Contains(got, "C-2") {
		t.Errorf("the second request: %q, want C-2 in it", got)
	}
	value, _, err := b.store.Get(t.Context(), tool.ScopeOf("bot", "", ""), "request/C-1")
	want := `{"slot":"tuesday_afternoon","topic":"my bicycle","chat":"web:c","user":"u"}`
	if err != nil || string(value) != want {
		t.Errorf("saved %s, %v; want %s", value, err, want)
	}
}

func TestTools_E3_CardsAreClean(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	var list []tool.Tool
	for _, tl := range b.registry.Tools() {
		list = append(list, *tl)
		if tl.Name == "request_callback" && (!tl.Confirm || tl.Dedupe != 10*time.Minute) {
			t.Errorf("%s: confirm %v, dedupe %v", tl.Name, tl.Confirm, tl.Dedupe)
		}
	}
	if len(list) != 2 {
		t.Errorf("%d tools, want 2", len(list))
	}
	for _, f := range tool.Lint(list) {
		t.Errorf("%s: %s: %s", f.Tool, f.Rule, f.Message)
	}
}

func TestTypes_AreWhatToolsRefersTo(t *testing.T) {
	t.Parallel()
	src, err := Files.ReadFile("tools.ts")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(src), `/// <reference path="./parley.d.ts" />`) || !strings.Contains(js.TypesFile, "interface Context") {
		t.Error("tools.ts doesn't refer to the types for editors, or they lack Context")
	}
}
