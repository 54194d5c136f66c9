package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/problem"
	"github.com/parley-bot/parley/internal/tool"
	mcptool "github.com/parley-bot/parley/internal/tool/mcp"
	"github.com/parley-bot/parley/internal/turn"
)

// newFleet makes the MCP servers of the configuration, with the pins beside it.
func newFleet(cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) (*mcptool.Fleet, mcptool.Lock, error) {
	servers := make([]mcptool.Server, 0, len(cfg.MCP.Servers))
	for _, c := range cfg.MCP.Servers {
		s := mcptool.Server{
			Name: c.Name, Command: c.Command, Env: c.Env, Dir: c.Dir, URL: c.URL, Headers: c.Headers, StartTimeout: c.StartTimeout,
		}
		for _, a := range c.Allow {
			s.Allow = append(s.Allow, mcptool.Allowed{
				Name: a.Name, Title: a.Title, Labels: a.Labels, Confirm: a.Confirm, Dedupe: time.Duration(a.Dedupe),
				Timeout: a.Timeout, Effect: tool.Effect(a.Effect),
			})
		}
		servers = append(servers, s)
	}
	lock, err := readLock(cfg)
	if err != nil {
		return nil, lock, err
	}
	f, err := mcptool.New(servers, lock, mcptool.Options{Log: log, Registerer: reg})
	return f, lock, problem.MCP.Wrap(err)
}

// lockFile is where the pins are: beside the configuration, under its name.
func lockFile(cfg *config.Config) string {
	return strings.TrimSuffix(cfg.Source, filepath.Ext(cfg.Source)) + ".mcp.lock"
}

func readLock(cfg *config.Config) (mcptool.Lock, error) {
	if len(cfg.MCP.Servers) == 0 {
		return mcptool.Lock{}, nil
	}
	return readPins(cfg)
}

// readPins is readLock also where the configuration has no server (any more).
func readPins(cfg *config.Config) (mcptool.Lock, error) {
	name := lockFile(cfg)
	data, err := cfg.ReadFile(name, mcptool.MaxLockBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return mcptool.Lock{}, nil // nothing is pinned
	}
	if err != nil {
		return mcptool.Lock{}, problem.MCP.Errorf("%s: the pins of MCP tools can't be read: %w", name, err)
	}
	l, err := mcptool.ParseLock(data)
	if err != nil {
		return mcptool.Lock{}, problem.MCP.Errorf("%s: %w", name, err)
	}
	return l, nil
}

// lintRemote advises on what of remote tools is the operator's: cards are not.
func lintRemote(tools []tool.Tool) (out []tool.Finding) {
	for _, f := range tool.Lint(tools) {
		if f.Rule == tool.RuleUnsafeNoAsking {
			out = append(out, f)
		}
	}
	return out
}

// remoteChanged offers models what is offered now.
func (a *App) remoteChanged() {
	a.reloads.mu.Lock()
	defer a.reloads.mu.Unlock()
	set := a.offering(a.shifts.newest())
	a.engine.Use(set)
	a.log.Info("models are offered other tools now", "tools", set.Tools.Len())
}

// offering is a brain's setup with those of the remote tools that are offered
// now.
func (a *App) offering(b *brain) turn.Setup {
	set := b.setup()
	registry, err := tool.NewRegistry(slices.Concat(b.tools.own, a.fleet.Tools()))
	if err != nil {
		// A part of what was compiled with the brain.
		a.log.Error("tools could not be replaced", "err", err)
		return set
	}
	set.Tools = registry
	return set
}

// Quarantined are the allowed MCP tools that aren't offered now, a line each.
func (b *Bot) Quarantined() (out []string) {
	for _, q := range b.fleet.Quarantined() {
		out = append(out, quarantined(q))
	}
	return out
}

func quarantined(q mcptool.Quarantine) string {
	why := map[mcptool.Reason]string{
		mcptool.Unpinned: "was never pinned", mcptool.Changed: "isn't the one that was pinned",
		mcptool.Missing: "isn't listed by the server", mcptool.Invalid: "has a schema that can't be used",
	}[q.Reason]
	return fmt.Sprintf("mcp server %s: %s %s, so it is not offered (see parley mcp diff)", q.Server, q.Tool, why)
}

// checkMCP asks each MCP server for its tools.
func (b *Bot) checkMCP(ctx context.Context, tell func(line string)) error {
	if len(b.cfg.MCP.Servers) == 0 {
		return nil
	}
	held, problems := b.fleet.Check(ctx)
	for _, q := range held {
		problems = append(problems, errors.New(quarantined(q)))
	}
	if len(problems) == 0 {
		tell("mcp servers: ok")
	}
	return errors.Join(problems...)
}

// MCPPins is what the MCP servers offer, beside what is pinned.
type MCPPins struct {
	File string // of the pins
	// Diff is a unified diff from the pins to the servers' cards; "" where
	// they are the same.
	Diff string
	// Others are tools that the servers have and that aren't allowed, a line
	// for each server.
	Others []string
	// Problems are what can't be pinned, and servers that can't be reached.
	Problems []error
}

// ErrNoMCP is a configuration without MCP servers.
var ErrNoMCP = errors.New("no MCP server is configured: add one under mcp.servers")

// MCP compares the cards of the MCP servers of names (none: all) with the pins,
// and where write is true pins them. Where there is nothing new to pin, such as
// when no server can be reached, no file is written.
func MCP(ctx context.Context, cfg *config.Config, log *slog.Logger, names []string, write bool) (MCPPins, error) {
	out := MCPPins{File: lockFile(cfg)}
	if len(cfg.MCP.Servers) == 0 {
		return out, ErrNoMCP
	}
	fleet, before, err := newFleet(cfg, nil, log)
	if err != nil {
		return out, err
	}
	look, err := fleet.Look(ctx, before, names)
	if err != nil {
		return out, err
	}
	out.Problems, out.Others = look.Problems, look.Others
	if out.Diff, err = mcptool.Diff(before, look.Lock); err != nil || out.Diff == "" || !write {
		return out, err
	}
	data, err := look.Lock.Encode()
	if err != nil {
		return out, err
	}
	return out, writeLock(out.File, data)
}

// writeLock replaces the file as a whole: half of it would be none.
func writeLock(name string, data []byte) error {
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, data) { // #nosec G304 -- beside the operator's configuration
		return nil
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("writing the pins: %w", err)
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()) // it is reviewed and shared, and holds no secret
	if err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("writing the pins: %w", errors.Join(err, os.Remove(tmp.Name())))
	}
	return nil
}
