package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/httpserver"
	"github.com/parley-bot/parley/internal/tool/js"
	mcptool "github.com/parley-bot/parley/internal/tool/mcp"
	"github.com/parley-bot/parley/internal/watch"
)

// ErrNoReload says that the bot can't read its configuration again: the demo's
// is built in.
var ErrNoReload = errors.New("the configuration is built in: there is no file to read again")

// closeTime bounds closing the tools of a configuration that was replaced.
const closeTime = 30 * time.Second

// reloader reads the configuration again while the bot runs.
type reloader struct {
	mu sync.Mutex // one reload at a time
	// begun is the configuration that the process began with: what can't be
	// changed while it runs is still as it says there.
	begun *config.Config
	// files are those that the last try looked at.
	files []string
	good  prometheus.Gauge
	when  prometheus.Gauge
}

func newReloader(b *Bot) *reloader {
	r := &reloader{
		begun: b.cfg, files: b.files(),
		good: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "parley_config_last_reload_successful", Help: "1 where the configuration was valid when it was read last, 0 where an older one is still used.",
		}),
		when: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "parley_config_last_reload_success_timestamp_seconds", Help: "When a valid configuration was read last, in seconds since 1970.",
		}),
	}
	r.good.Set(1)
	r.when.SetToCurrentTime()
	b.registry.Registerer().MustRegister(r.good, r.when)
	return r
}

// Reload reads the configuration again: who the bot is, its model, tools,
// texts, loop, questions and limits are as it says for whatever goes on from
// now. Turns under way end as they began, and a question that is open is held
// to what was asked (behaviour B28). Where anything is wrong nothing changes,
// and the error tells all of it. restart lists keys that differ from what runs
// and take effect only when the process is started again.
func (a *App) Reload(ctx context.Context) (restart []string, err error) {
	if a.opts.Load == nil {
		a.log.Warn("configuration not read again", "err", ErrNoReload)
		return nil, ErrNoReload
	}
	a.reloads.mu.Lock()
	defer a.reloads.mu.Unlock()
	var files []string
	cfg, err := a.opts.Load(func(name string) { files = append(files, name) })
	var next *brain
	var pins *mcptool.Pins
	if err == nil {
		next, pins, err = a.rethink(ctx, cfg)
	} else {
		err = Mistakes(ctx, err, Options{In: a.opts.In, Out: a.opts.Out, Log: slog.New(slog.DiscardHandler)})
	}
	if err != nil {
		a.reloads.files = slices.Compact(slices.Sorted(slices.Values(slices.Concat(a.reloads.files, files, blamed(err)))))
		a.reloads.good.Set(0)
		a.log.Error("configuration not taken: the running one stays", "err", err)
		return nil, err
	}
	a.fleet.Use(pins)
	a.use(next)
	a.reloads.files = slices.Concat(files, next.tools.files())
	a.reloads.good.Set(1)
	a.reloads.when.SetToCurrentTime()
	restart = a.needRestart(config.Changed(a.reloads.begun, cfg))
	a.log.Info("configuration read again", "tools", next.tools.registry.Len())
	if len(restart) > 0 {
		a.log.Warn("changes of the configuration need a restart", "keys", restart)
	}
	return restart, nil
}

// rethink makes a brain of cfg, with the pins as they are now. The servers are
// those that the process began with.
func (a *App) rethink(ctx context.Context, cfg *config.Config) (*brain, *mcptool.Pins, error) {
	var lock mcptool.Lock
	var err error
	if len(a.reloads.begun.MCP.Servers) > 0 {
		lock, err = readPins(cfg)
	}
	pins := a.fleet.With(lock)
	next, thinking := a.think(ctx, cfg, pins.Tools())
	if err == nil {
		return next, pins, thinking
	}
	return nil, nil, errors.Join(err, thinking, next.close(ctx))
}

// use puts a brain to work.
func (a *App) use(next *brain) {
	a.engine.Use(a.offering(next))
	a.inbox.Use(next.rules())
	a.dispatcher.Resize(next.of.Limits.Workers)
	a.retire(a.shifts.replace(next))
}

// retire closes brains that nobody works with.
func (a *App) retire(old []*brain) {
	for _, b := range old {
		a.running.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), closeTime)
			defer cancel()
			a.report("tools", b.close(ctx))
		})
	}
}

// needRestart picks from changed keys those that a reload doesn't reach, or not
// everywhere: the web chat has its title and the longest message from when it
// was made.
func (b *Bot) needRestart(changed []string) (out []string) {
	for _, key := range changed {
		section, _, _ := strings.Cut(key, ".")
		switch section {
		case "model", "tools", "data", "fetch", "secrets", "locale", "loop", "confirm":
			continue
		case "bot", "limits", "audit":
			if key == "bot.lang" && b.describesCommands() {
				break
			}
			if !slices.Contains([]string{"bot.name", "limits.message_bytes", "audit.file", "audit.webhook"}, key) {
				continue
			}
		}
		out = append(out, key)
	}
	return out
}

// describesCommands tells whether a channel has told its platform of the
// commands, in the bot's language.
func (b *Bot) describesCommands() bool {
	return slices.ContainsFunc(b.adapters, func(in instance) bool { return in.kind == "telegram" })
}

// files are what the bot was made from.
func (b *Bot) files() []string {
	out := slices.Concat(b.opts.Files, b.tools.files())
	if len(b.cfg.MCP.Servers) > 0 {
		out = append(out, lockFile(b.cfg)) // it was looked at after opts.Files were listed
	}
	return out
}

// files are those that scripts were made from.
func (t *toolset) files() (out []string) {
	for _, m := range t.modules {
		out = append(out, m.Files()...)
	}
	return out
}

// blamed lists the files that scripts' errors name: mending them is a change.
func blamed(err error) (out []string) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			out = append(out, blamed(one)...)
		}
		return out
	}
	if e, ok := errors.AsType[*js.Error](err); ok {
		out = append(out, e.File)
	}
	return out
}

// watchFiles reloads when a file of the configuration changes, until ctx ends.
// What changes after it has returned is noticed.
func (a *App) watchFiles(ctx context.Context) {
	a.reloads.mu.Lock()
	files := a.reloads.files
	a.reloads.mu.Unlock()
	w, err := watch.New(files, a.log)
	if err != nil {
		a.log.Warn("the configuration's files can't be watched: send SIGHUP after a change", "err", err)
		return
	}
	a.running.Go(func() {
		a.report("watch", w.Run(ctx, func(ctx context.Context) []string {
			_, _ = a.Reload(ctx) // it has logged why not
			a.reloads.mu.Lock()
			defer a.reloads.mu.Unlock()
			return a.reloads.files
		}))
	})
}

// reloadCall is POST /api/v1/reload.
func (a *App) reloadCall(w http.ResponseWriter, r *http.Request) {
	restart, err := a.Reload(context.WithoutCancel(r.Context()))
	switch {
	case errors.Is(err, ErrNoReload):
		httpserver.WriteError(w, http.StatusConflict, "no_file", err.Error())
	case err != nil:
		type problem struct {
			Code     string   `json:"code"`
			Message  string   `json:"message"`
			Messages []string `json:"messages"`
		}
		httpserver.WriteJSON(w, http.StatusUnprocessableEntity, map[string]problem{"error": {
			"invalid_config", "The running configuration stays.", strings.Split(err.Error(), "\n"),
		}})
	default:
		if restart == nil {
			restart = []string{}
		}
		httpserver.WriteJSON(w, http.StatusOK, map[string]any{"status": "reloaded", "needs_restart": restart})
	}
}
