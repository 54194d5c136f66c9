package bakery

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/llm/script"
	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/tool/js"
	"github.com/parley-bot/parley/internal/tool/tooltest"
)

// demo is what all tests share: the tools compiled once, the rules read once.
type demo struct {
	registry *tool.Registry
	model    *script.Provider
}

func newDemo(t *testing.T) *demo {
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
	return &demo{registry: registry, model: model}
}

// chat is one conversation, kept as the tool loop keeps it: plain text
// between turns, calls and results within one.
type chat struct {
	*demo
	t       *testing.T
	lang    string
	key     string
	store   *tooltest.Store
	history []llm.Message
	calls   int
	ran     map[string]bool // place_order by its arguments, for dedupe
	// outcome replaces what a call gives, by the tool's name, once.
	outcome map[string]string
}

func (d *demo) chat(t *testing.T, lang string) *chat {
	return &chat{demo: d, t: t, lang: lang, key: "web:" + t.Name(), store: tooltest.NewStore(), ran: map[string]bool{}, outcome: map[string]string{}}
}

// turn is what a person saw of one turn.
type turn struct {
	text      string
	questions []string // tool, then the lines
	tools     []string
}

// say runs a turn. answers are given to the questions in order: yes, no, or a
// text; the last one is given again.
func (c *chat) say(text string, answers ...string) turn {
	c.t.Helper()
	var out turn
	msgs := append(slices.Clip(c.history), llm.Message{Role: llm.RoleUser, Text: text})
	lines := []llm.Message{{Role: llm.RoleUser, Text: text}}
	for step := range 8 {
		language := map[string]string{"en": "English", "es": "español"}[c.lang]
		resp, err := c.model.Generate(c.t.Context(), llm.Request{System: []string{"Write to the user in " + language + "."}, Messages: msgs, Tools: c.cards()}, nil)
		if err != nil {
			c.t.Fatalf("%q, step %d: %v", text, step+1, err)
		}
		if len(resp.Calls) == 0 {
			out.text = resp.Text
			c.history = append(append(c.history, lines...), llm.Message{Role: llm.RoleAssistant, Text: resp.Text})
			return out
		}
		results := llm.Message{Role: llm.RoleTool}
		for _, call := range resp.Calls {
			out.tools = append(out.tools, call.Name+" "+call.Args)
			content, failed, reply := c.run(call, &answers, &out)
			results.Results = append(results.Results, llm.Result{CallID: call.ID, Name: call.Name, Content: content, Failed: failed})
			if reply != "" {
				lines = append(lines, llm.Message{Role: llm.RoleUser, Text: reply})
			}
		}
		msgs = append(msgs, llm.Message{Role: llm.RoleAssistant, Text: resp.Text, Calls: resp.Calls, From: resp.From}, results)
	}
	c.t.Fatalf("%q: the model goes on calling tools: %q", text, out.tools)
	return out
}

func (c *chat) cards() []llm.Card {
	var out []llm.Card
	for _, t := range c.registry.Tools() {
		name, description, schema := t.Card()
		out = append(out, llm.Card{Name: name, Description: description, Schema: schema})
	}
	return out
}

func (c *chat) run(call llm.Call, answers *[]string, out *turn) (content string, failed bool, reply string) {
	tl, ok := c.registry.Get(call.Name)
	if !ok {
		c.t.Fatalf("the model calls %s, which isn't there", call.Name)
	}
	args, violations := c.registry.Validate(tl, call.Args)
	if violations != nil {
		b, _ := json.Marshal(violations)
		return fmt.Sprintf(`{"error":"invalid_arguments","details":%s,"note":"The user was not asked."}`, b), true, ""
	}
	if s, ok := c.outcome[call.Name]; ok {
		delete(c.outcome, call.Name)
		return s, true, ""
	}
	key := call.Name + tool.ArgsHash(args)
	if tl.Dedupe > 0 && c.ran[key] {
		return `{"executed":false,"reason":"duplicate","previous":{"result":"…","secondsAgo":3}}`, false, ""
	}
	c.calls++
	tc := tool.Call{
		ID: fmt.Sprintf("t.1.%d", c.calls), Tool: call.Name, Args: args, Lang: c.lang, Store: c.store,
		Identity: tool.Identity{ChatKey: c.key, Channel: "web", UserID: "u"},
	}
	if tl.Confirm {
		lines, ok, err := tl.Runner.(tool.Liner).ConfirmLines(c.t.Context(), tc)
		if err != nil || !ok {
			c.t.Fatalf("lines of %s: %v %v", call.Name, ok, err)
		}
		out.questions = append(out.questions, tl.Title+"\n"+strings.Join(lines, "\n"))
		if len(*answers) == 0 {
			c.t.Fatalf("%s is asked, and the test has no answer", call.Name)
		}
		answer := (*answers)[0]
		*answers = (*answers)[min(1, len(*answers)-1):]
		switch answer {
		case "yes":
		case "no":
			return `{"executed":false,"reason":"denied","message":"The user declined."}`, true, ""
		default:
			b, _ := json.Marshal(answer)
			return `{"executed":false,"reason":"user_replied","userReply":` + string(b) + `}`, true, answer
		}
	}
	res, err := tl.Runner.Run(c.t.Context(), tc)
	if err != nil {
		c.t.Fatalf("%s: %v", call.Name, err)
	}
	if !c.store.Commit(res.Writes) {
		c.t.Fatalf("%s: conflict", call.Name)
	}
	content = tool.Content(res, 0)
	c.ran[key] = !res.Failed && !strings.Contains(content, `"error"`)
	return content, res.Failed, ""
}

// wants compares what a person saw: a pattern of the answer, and the last
// question ("" is none). Spaces that don't break are read as others.
func (c *chat) wants(got turn, text, question string) {
	c.t.Helper()
	spaces := strings.NewReplacer("\u00a0", " ", "\u202f", " ")
	if m, err := regexp.MatchString("(?s)"+text, spaces.Replace(got.text)); err != nil || !m {
		c.t.Errorf("answer %q\nwant   %q (%v); calls %q", got.text, text, err, got.tools)
	}
	last := ""
	if len(got.questions) > 0 {
		last = spaces.Replace(got.questions[len(got.questions)-1])
	}
	if last != question {
		c.t.Errorf("question %q\nwant     %q", last, question)
	}
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	c, err := config.LoadFS(Files, "parley.yaml", config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Model.Provider != "script" || c.Model.Script != "model.yaml" || len(c.Tools.Scripts) != 1 || c.Tools.Scripts[0] != "tools.ts" {
		t.Errorf("model %s %s, scripts %v", c.Model.Provider, c.Model.Script, c.Tools.Scripts)
	}
	if c.Server.Listen != "127.0.0.1:8080" {
		t.Errorf("the demo listens on %s", c.Server.Listen)
	}
	for _, name := range []string{c.Model.Script, c.Tools.Scripts[0]} {
		if _, err := Files.ReadFile(name); err != nil {
			t.Error(err)
		}
	}
}

func TestTools_E3_CardsAreClean(t *testing.T) {
	t.Parallel()
	d := newDemo(t)
	var list []tool.Tool
	for _, tl := range d.registry.Tools() {
		list = append(list, *tl)
	}
	for _, f := range tool.Lint(list) {
		t.Errorf("%s: %s: %s", f.Tool, f.Rule, f.Message)
	}
}
