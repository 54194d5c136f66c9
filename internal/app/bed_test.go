package app

import (
	"cmp"
	"context"
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
	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/store"
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

	groups  config.Groups
	allow   []string
	unknown string // of the channel
	chat    channels.Chat
	user    channels.User
	app     *App

	store   string // its URL, "": a file of its own
	commits *commits
	wrap    func(store.DB) store.DB
	dead    *atomic.Bool // the bot that runs has crashed
	nextIn  int
	without bool // the fake channel is not configured
	apart   bool // what isn't configured is another process's
	watch   bool // the bot reads its configuration again when it changes
}

type option func(*bed)

// withCaps chooses the platform.
func withCaps(c channeltest.Config) option {
	return func(b *bed) { b.fake = channeltest.New(reporting(b.t, c)) }
}

// withYAML adds to the configuration.
func withYAML(y string) option { return func(b *bed) { b.yaml += "\n" + y } }

// withStore lets the bot have a database that others may have, too.
func withStore(url string) option { return func(b *bed) { b.store = url } }

// withTools gives the bot tools.
func withTools(tools ...tool.Tool) option {
	return func(b *bed) { b.tools = append(b.tools, tools...) }
}

// withGroups sets what in groups is for the bot.
func withGroups(g config.Groups) option { return func(b *bed) { b.groups = g } }

func reporting(t *testing.T, c channeltest.Config) channeltest.Config {
	c.Report = t.Errorf
	return c
}

// newBed starts a bot on a platform with buttons and edits.
func newBed(t *testing.T, opts ...option) *bed {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	b := &bed{t: t, ctx: ctx, dir: memoryDir(t), model: newModel(), clock: &clock{}, logs: &logs{}, commits: newCommits()}
	b.chat, b.user = channeltest.Direct("ana")
	b.fake = channeltest.New(reporting(t, channeltest.Rich()))
	for _, o := range opts {
		o(b)
	}
	b.furnish()
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
	if b.without {
		return
	}
	if err := b.fake.WaitRunning(b.ctx, 1); err != nil {
		b.t.Fatal(err)
	}
}

// open makes the bot ready to start.
func (b *bed) open() (*App, error) {
	b.dead = new(atomic.Bool)
	bot, err := b.build()
	if err != nil {
		return nil, err
	}
	return New(b.ctx, bot, false)
}

// configure writes the configuration, with what every one has.
func (b *bed) configure(yaml string) error {
	doc := fmt.Sprintf("store: {url: %q}\nmodel: {provider: script, script: model.yaml}\nchannels: {web: {kind: webchat}}\n%s\n",
		cmp.Or(b.store, "sqlite://"+filepath.Join(b.dir, "parley.db")), yaml)
	return os.WriteFile(filepath.Join(b.dir, "parley.yaml"), []byte(doc), 0o600)
}

// build makes the bot that the test has described.
func (b *bed) build() (*Bot, error) {
	path := filepath.Join(b.dir, "parley.yaml")
	if err := b.configure(b.yaml); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(b.dir, "model.yaml"), []byte("rules:\n  - say: unused\n"), 0o600); err != nil {
		return nil, err
	}
	load := func(opened func(string)) (*config.Config, error) {
		opts := Kinds()
		opts.Opened = opened
		return config.Load(path, opts)
	}
	var files []string
	cfg, err := load(func(file string) { files = append(files, file) })
	if err != nil {
		return nil, err
	}
	name := "fake"
	if b.without {
		name = "other"
	}
	bot, err := Build(b.ctx, cfg, Options{
		Log: slog.New(slog.NewTextHandler(b.logs, &slog.HandlerOptions{Level: slog.LevelDebug})), Only: []string{""}, Apart: b.apart, Clock: b.clock.now, Tools: b.tools,
		Model: incarnation{b.model, b.dead}, OnCommit: b.onCommit(), WrapDB: b.wrap,
		Load: load, Files: files, Watch: b.watch,
		Channels: map[string]func(channelEnv) (channels.Adapter, error){name: Extra(b.fake.Adapter())},
	})
	if err != nil {
		return nil, err
	}
	for i := range bot.adapters {
		bot.adapters[i].cfg.Groups, bot.adapters[i].cfg.Allow = b.groups, b.allow
		bot.adapters[i].cfg.Unknown = b.unknown
	}
	return bot, nil
}

func (b *bed) stop() {
	if b.app == nil {
		return
	}
	patience := 20 * time.Second
	if b.t.Failed() {
		patience = time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
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

// clock is a clock that a test can push.
type clock struct{ offset atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.offset.Load())) }
func (c *clock) advance(d time.Duration) { c.offset.Add(int64(d)) }

// logs keeps the log for failures and for looking into.
type logs struct {
	mu    sync.Mutex
	b     []byte
	grown chan struct{}
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p...)
	if l.grown != nil {
		close(l.grown)
		l.grown = nil
	}
	return len(p), nil
}

// more is closed when the log grows.
func (l *logs) more() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.grown == nil {
		l.grown = make(chan struct{})
	}
	return l.grown
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b)
}

// reload reads the configuration again, as it is now, without a restart.
func (b *bed) reload() {
	b.t.Helper()
	bot, err := b.build()
	if err != nil {
		b.t.Fatal(err)
	}
	b.app.engine.Use(bot.setup())
}
