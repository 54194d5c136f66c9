package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/tool"
)

// bed is a whole bot on a fake platform, with a model and tools that a test
// writes down. Everything between them is what serve runs.
type bed struct {
	t     *testing.T
	ctx   context.Context
	dir   string
	fake  *channeltest.Fake
	model *model
	clock *clock
	tools []tool.Tool
	yaml  string
	logs  *logs

	chat channels.Chat
	user channels.User
	app  *App
}

type option func(*bed)

// withCaps chooses the platform.
func withCaps(c channeltest.Config) option {
	return func(b *bed) { b.fake = channeltest.New(reporting(b.t, c)) }
}

// withYAML adds to the configuration.
func withYAML(y string) option { return func(b *bed) { b.yaml += "\n" + y } }

// withTools gives the bot tools.
func withTools(tools ...tool.Tool) option {
	return func(b *bed) { b.tools = append(b.tools, tools...) }
}

func reporting(t *testing.T, c channeltest.Config) channeltest.Config {
	c.Report = t.Errorf
	return c
}

// newBed starts a bot on a platform with buttons and edits.
func newBed(t *testing.T, opts ...option) *bed {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	b := &bed{t: t, ctx: ctx, dir: t.TempDir(), model: &model{}, clock: &clock{}, logs: &logs{}}
	b.chat, b.user = channeltest.Direct("ana")
	b.fake = channeltest.New(reporting(t, channeltest.Rich()))
	for _, o := range opts {
		o(b)
	}
	b.start()
	t.Cleanup(b.stop)
	return b
}

func (b *bed) start() {
	b.t.Helper()
	a, err := b.open()
	if err != nil {
		b.t.Fatal(err)
	}
	b.app = a
	if err := a.Start(b.ctx); err != nil {
		b.t.Fatal(err)
	}
	if err := b.fake.WaitRunning(b.ctx, 1); err != nil {
		b.t.Fatal(err)
	}
}

// open builds the bot without starting it.
func (b *bed) open() (*App, error) {
	path := filepath.Join(b.dir, "parley.yaml")
	doc := fmt.Sprintf("store: {url: %q}\nmodel: {provider: script, script: model.yaml}\nchannels: {web: {kind: webchat}}\n%s\n",
		"sqlite://"+filepath.Join(b.dir, "parley.db"), b.yaml)
	if err := os.WriteFile(path, []byte(doc), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(b.dir, "model.yaml"), []byte("rules:\n  - say: unused\n"), 0o600); err != nil {
		return nil, err
	}
	cfg, err := config.Load(path, Kinds())
	if err != nil {
		return nil, err
	}
	bot, err := Build(b.ctx, cfg, Options{
		Log: slog.New(slog.NewTextHandler(b.logs, &slog.HandlerOptions{Level: slog.LevelDebug})), Only: []string{""}, Clock: b.clock.now, Model: b.model, Tools: b.tools,
		Channels: map[string]func(channelEnv) (channels.Adapter, error){"fake": Extra(b.fake.Adapter())},
	})
	if err != nil {
		return nil, err
	}
	return New(b.ctx, bot, false)
}

func (b *bed) stop() {
	if b.app == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := b.app.Stop(ctx); err != nil {
		b.t.Error(err)
	}
	b.app = nil
}

// restart stops the bot in good order and starts it again on its database,
// with what the test has changed meanwhile.
func (b *bed) restart() {
	b.t.Helper()
	b.stop()
	b.start()
}

// say sends a text of the bed's user.
func (b *bed) say(text string) {
	b.t.Helper()
	if _, err := b.fake.Say(b.ctx, b.chat, b.user, text); err != nil {
		b.t.Fatalf("saying %q: %v", text, err)
	}
}

// press presses the button of that value below the newest question.
func (b *bed) press(value string) channels.PressAck {
	b.t.Helper()
	ack, err := b.fake.PressValue(b.ctx, b.chat, b.user, value)
	if err != nil {
		b.t.Fatalf("pressing %s: %v", value, err)
	}
	return ack
}

// message waits for the n-th message of the bot (from 1).
func (b *bed) message(n int) channeltest.Message {
	b.t.Helper()
	m, err := b.fake.NthMessage(b.ctx, b.chat.ID, n)
	if err != nil {
		b.t.Fatalf("waiting for message %d: %v; there are %q\n%s", n, err, b.fake.Texts(b.chat.ID), b.logs)
	}
	return m
}

// wants waits for the n-th message and compares its text as it is now.
func (b *bed) wants(n int, text string) channeltest.Message {
	b.t.Helper()
	m := b.message(n)
	if m.Text != text {
		b.t.Fatalf("message %d is %q, want %q\n%s", n, m.Text, text, b.logs)
	}
	return m
}

// settled waits until the chat has neither work nor anything to be said.
func (b *bed) settled() {
	b.t.Helper()
	h := &host{account: "fake", store: b.app.Bot.store, hub: b.app.hub}
	if err := h.settled(b.ctx, b.chat); err != nil {
		b.t.Fatal(err)
	}
}

// silent makes sure that the bot has said n messages, and no more.
func (b *bed) silent(n int) {
	b.t.Helper()
	b.settled()
	if got := b.fake.Texts(b.chat.ID); len(got) != n {
		b.t.Fatalf("the bot said %d messages, want %d: %q", len(got), n, got)
	}
}

// events are the audit events so far, all of them of committed steps.
func (b *bed) events() (out []audit.Event) {
	b.t.Helper()
	rows, err := b.app.st.After(b.ctx, 0, 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range rows {
		var e audit.Event
		if err := json.Unmarshal(r.Event, &e); err != nil {
			b.t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// types are the events' names.
func (b *bed) types() (out []string) {
	for _, e := range b.events() {
		out = append(out, e.Type)
	}
	return out
}

// clock is a clock that a test can push.
type clock struct{ offset atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.offset.Load())) }
func (c *clock) advance(d time.Duration) { c.offset.Add(int64(d)) }

// model answers by a list, one entry a call, and keeps what it was asked.
type model struct {
	mu    sync.Mutex
	next  []answer
	seen  []llm.Request
	asked chan struct{}
}

type answer func(ctx context.Context, req llm.Request) (llm.Response, error)

// then adds answers.
func (m *model) then(answers ...answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next = append(m.next, answers...)
}

// Generate implements turn.Model.
func (m *model) Generate(ctx context.Context, req llm.Request, _ func(string)) (llm.Response, error) {
	m.mu.Lock()
	// A deep copy: what a model was told must not change afterwards.
	var copied llm.Request
	if b, err := json.Marshal(req); err == nil {
		_ = json.Unmarshal(b, &copied)
	}
	m.seen = append(m.seen, copied)
	var a answer
	if len(m.next) > 0 {
		a, m.next = m.next[0], m.next[1:]
	}
	m.mu.Unlock()
	if a == nil {
		return llm.Response{Text: "(nothing more to say)", Stop: llm.StopEnd}, nil
	}
	return a(ctx, req)
}

// requests are what the model was asked so far.
func (m *model) requests() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]llm.Request(nil), m.seen...)
}

// results are what the last request told of calls, in order.
func (m *model) results() []llm.Result {
	reqs := m.requests()
	if len(reqs) == 0 {
		return nil
	}
	msgs := reqs[len(reqs)-1].Messages
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == llm.RoleTool {
			return msgs[i].Results
		}
	}
	return nil
}

// says is a final text.
func says(text string) answer {
	return func(context.Context, llm.Request) (llm.Response, error) {
		return llm.Response{Text: text, Stop: llm.StopEnd}, nil
	}
}

// calls asks for tools: name, arguments, name, arguments …
func calls(nameArgs ...string) answer {
	return func(context.Context, llm.Request) (llm.Response, error) {
		r := llm.Response{Stop: llm.StopCalls}
		for i := 0; i < len(nameArgs); i += 2 {
			r.Calls = append(r.Calls, llm.Call{ID: fmt.Sprint("api-", i), Name: nameArgs[i], Args: nameArgs[i+1]})
		}
		return r, nil
	}
}

// fails is a model that can't answer.
func fails(class llm.Class) answer {
	return func(context.Context, llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Class: class, Provider: "test", Model: "m", Err: fmt.Errorf("as the test wants it")}
	}
}

// spy is a tool that keeps its runs.
type spy struct {
	mu   sync.Mutex
	runs []tool.Call
	do   func(ctx context.Context, c tool.Call) (tool.Result, error)
}

// Run implements tool.Runner.
func (s *spy) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	s.mu.Lock()
	s.runs = append(s.runs, c)
	s.mu.Unlock()
	if s.do != nil {
		return s.do(ctx, c)
	}
	return tool.Result{Value: json.RawMessage(`{"ok":true}`)}, nil
}

func (s *spy) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.runs)
}

func (s *spy) last() tool.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[len(s.runs)-1]
}

// returns is a tool that gives this JSON.
func returns(value string) *spy {
	return &spy{do: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Value: json.RawMessage(value)}, nil
	}}
}

const itemsSchema = `{"type":"object","properties":{"items":{"type":"array","minItems":1,"items":{"type":"object",
 "properties":{"product":{"type":"string","enum":["coffee","croissant"]},"quantity":{"type":"integer","minimum":1,"maximum":50}},
 "required":["product","quantity"],"additionalProperties":false}}},"required":["items"],"additionalProperties":false}`

// placeOrder is a confirming tool over s.
func placeOrder(s tool.Runner) tool.Tool {
	return tool.Tool{
		Name: "place_order", Kind: "test", Title: "Place order", Description: "Places an order.",
		Schema: json.RawMessage(itemsSchema), Confirm: true, Effect: tool.Unsafe, Runner: s,
	}
}

// plain is a tool without confirmation and arguments.
func plain(name string, s tool.Runner) tool.Tool {
	return tool.Tool{Name: name, Kind: "test", Description: "Does " + name + ".", Effect: tool.Read, Runner: s}
}

const twoCoffees = `{"items":[{"product":"coffee","quantity":2}]}`

// logs keeps the log for failures and for looking into.
type logs struct {
	mu sync.Mutex
	b  []byte
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p...)
	return len(p), nil
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b)
}
