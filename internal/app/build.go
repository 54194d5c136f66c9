package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/metrics"
	"github.com/parley-bot/parley/internal/problem"
	"github.com/parley-bot/parley/internal/store"
	"github.com/parley-bot/parley/internal/tool"
	mcptool "github.com/parley-bot/parley/internal/tool/mcp"
	"github.com/parley-bot/parley/internal/turn"
)

// Options are what isn't in the configuration. Log is required.
type Options struct {
	Version string
	Log     *slog.Logger
	// In and Out are the terminal of console channels.
	In  io.Reader
	Out io.Writer
	// Terminal is true where In and Out are a person's terminal.
	Terminal bool
	// Only, where not empty, leaves out all channels but those.
	Only []string
	// Apart leaves the chats of channels that the bot hasn't to a process that
	// has them: here nobody could be asked, nor answered.
	Apart bool
	// Channels are further channels by instance name, made by the caller:
	// tests and programs around the daemon.
	Channels map[string]func(channelEnv) (channels.Adapter, error)
	// Transport replaces the transport of channels whose platform has one
	// address that can't be configured (WhatsApp Web), in tests.
	Transport http.RoundTripper
	// Clock is the store's clock; nil is the machine's.
	Clock func() time.Time
	// OnCommit is told of the store's commits (see sqlite.Options).
	OnCommit func(n int64, phase string)
	// WrapDB stands between the store and its database; nil is nothing. Tests
	// of a database that can't be written use it.
	WrapDB func(store.DB) store.DB
	// Load reads the configuration again, for Reload, and tells each file that
	// it looks at; nil where there is nothing to read again. Files are those
	// that were looked at for the one the bot is made from. Watch reloads when
	// one of them changes.
	Load  func(opened func(file string)) (*config.Config, error)
	Files []string
	Watch bool
	// GiveBack returns memory to the system whenever the bot is at rest: for
	// a process that does nothing else.
	GiveBack bool
	// Fatal is told why the process must end at once.
	Fatal func(error)
	// Partial makes do without a model and without channels: see Mistakes.
	Partial bool
	// Model replaces the configured model, and Tools are added to the
	// configured ones: for tests and programs around the daemon.
	Model turn.Model
	Tools []tool.Tool
}

// Bot is everything that the configuration describes, built and checked, with
// no I/O but reading the files it names.
type Bot struct {
	cfg      *config.Config
	opts     Options
	log      *slog.Logger
	registry *metrics.Registry
	// brain is what a new configuration replaces while the rest runs.
	*brain
	calls *llm.Metrics // of all brains
	spare *spareProcs  // likewise
	// fleet are the MCP servers, which a reload leaves as they are.
	fleet    *mcptool.Fleet
	adapters []instance
	store    *atomic.Pointer[store.Store]
	hub      *hub
}

// instance is one configured channel.
type instance struct {
	name    string
	kind    string
	cfg     config.Channel
	adapter channels.Adapter
}

// Extra is a channel of the caller's own for Options.Channels.
func Extra(a channels.Adapter) func(channelEnv) (channels.Adapter, error) {
	return func(channelEnv) (channels.Adapter, error) { return a, nil }
}

// Build makes the bot. The error tells all that is wrong, one a line.
func Build(ctx context.Context, cfg *config.Config, opts Options) (*Bot, error) {
	b := &Bot{
		cfg: cfg, opts: opts, log: opts.Log, registry: metrics.New(opts.Version),
		store: new(atomic.Pointer[store.Store]), hub: newHub(), spare: &spareProcs{base: runtime.GOMAXPROCS(0)},
	}
	var errs []error
	keep := func(err error) { errs = append(errs, err) }
	var err error
	if b.calls, err = llm.NewMetrics(b.registry.Registerer()); err != nil {
		return nil, err
	}
	b.fleet, _, err = newFleet(cfg, b.registry.Registerer(), opts.Log)
	keep(err)
	var remote []tool.Tool
	if b.fleet != nil { // its own mistakes are told beside those of the rest
		remote = b.fleet.Pinned()
	}
	b.brain, err = b.think(ctx, cfg, remote)
	keep(err)
	keep(b.makeChannels())
	if _, ok := postgresURL(cfg); !ok {
		_, err := sqlitePath(cfg)
		keep(err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, b.Close(ctx))
	}
	return b, nil
}

func (b *Bot) makeChannels() error {
	var errs []error
	pages := map[string]string{}
	for _, c := range b.cfg.Channels {
		if len(b.opts.Only) > 0 && !slices.Contains(b.opts.Only, c.Name) {
			continue
		}
		kind, ok := findKind(c.Kind)
		if !ok {
			errs = append(errs, problem.Unavailable.Errorf("%s: channel %s: kind %q is not available in this build", c.Pos, c.Name, c.Kind))
			continue
		}
		a, err := kind.make(c, channelEnv{
			cfg: b.cfg, host: b.host(c.Name), opts: b.opts, log: b.log.With("channel", c.Name),
		})
		if err != nil {
			errs = append(errs, problem.Channel.Wrap(err))
			continue
		}
		if err := clash(pages, c, a); err != nil {
			errs = append(errs, err)
			continue
		}
		b.adapters = append(b.adapters, instance{name: c.Name, kind: c.Kind, cfg: c, adapter: a})
	}
	for name, mk := range b.opts.Channels {
		a, err := mk(channelEnv{cfg: b.cfg, host: b.host(name), opts: b.opts, log: b.log.With("channel", name)})
		if err != nil {
			errs = append(errs, problem.Channel.Errorf("channel %s: %w", name, err))
			continue
		}
		b.adapters = append(b.adapters, instance{name: name, kind: "extra", cfg: config.Channel{Name: name}, adapter: a})
	}
	if len(b.adapters) == 0 && len(errs) == 0 && !b.opts.Partial {
		errs = append(errs, problem.NoChannel.Errorf("channels: none is configured: add one, such as web: {kind: webchat}"))
	}
	return errors.Join(errs...)
}

// clash finds two channels that would serve the same pages; pages maps a
// prefix to the channel that has it.
func clash(pages map[string]string, c config.Channel, a channels.Adapter) error {
	p, ok := a.(channels.PageServer)
	if !ok {
		return nil
	}
	prefix, _ := p.Pages(nil)
	if first, taken := pages[prefix]; taken {
		return problem.ChannelClash.Errorf("%s: channel %s: its pages would be at %s, where those of channel %s are; keep one of them", c.Pos, c.Name, prefix, first)
	}
	pages[prefix] = c.Name
	return nil
}

func (b *Bot) host(name string) *host { return &host{account: name, store: b.store, hub: b.hub} }

// Tools are the bot's tools.
func (b *Bot) Tools() []*tool.Tool { return b.tools.registry.Tools() }

// Findings is advice about the tools.
func (b *Bot) Findings() []tool.Finding { return b.tools.findings }

// Models are the configured providers, fallbacks behind.
func (b *Bot) Models() []llm.Provider { return b.models }

// Close ends what Build made.
func (b *Bot) Close(ctx context.Context) error { return b.brain.close(ctx) }

// sqlitePath is the file of sqlite://FILE.
func sqlitePath(cfg *config.Config) (string, error) {
	url := cfg.Store.URL.Reveal()
	path, ok := strings.CutPrefix(url, "sqlite://")
	if !ok || path == "" {
		scheme, _, _ := strings.Cut(url, ":")
		return "", problem.Unavailable.Errorf("store.url: this needs a database of its own file, which %s:// has not", scheme)
	}
	return filepath.FromSlash(path), nil
}

// postgresURL is store.url where that is PostgreSQL's.
func postgresURL(cfg *config.Config) (string, bool) {
	url := cfg.Store.URL.Reveal()
	return url, strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://")
}

// localDir is for what a process keeps beside a database that isn't a file.
const localDir = "data"

// DataDir is the folder of the database, or the one for what isn't in it; ""
// where there is none.
func DataDir(cfg *config.Config) string {
	if _, ok := postgresURL(cfg); ok {
		return localDir
	}
	path, err := sqlitePath(cfg)
	if err != nil {
		return ""
	}
	return filepath.Dir(path)
}

// cacheDir is used where it exists or can be made beside the database.
func (b *Bot) cacheDir() string {
	dir := DataDir(b.cfg)
	if dir == "" {
		return ""
	}
	if _, err := os.Stat(dir); err != nil && b.opts.Version == "" {
		return ""
	}
	return cacheFolder(dir)
}

// Channels are the names of the bot's channels.
func (b *Bot) Channels() []string {
	out := make([]string, len(b.adapters))
	for i, in := range b.adapters {
		out[i] = in.name
	}
	return out
}
