package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/egress"
	"github.com/parley-bot/parley/internal/problem"
	"github.com/parley-bot/parley/internal/secret"
	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/tool/js"
	sqltool "github.com/parley-bot/parley/internal/tool/sql"
)

// toolset is a bot's tools and what they hold open.
type toolset struct {
	registry *tool.Registry // own, and pinned ones of MCP servers
	own      []tool.Tool
	modules  []*js.Module
	guard    *egress.Guard
	sources  map[string]*sqltool.Source
	findings []tool.Finding
}

func (t *toolset) close(ctx context.Context) error {
	var errs []error
	for _, m := range t.modules {
		errs = append(errs, m.Close(ctx))
	}
	for _, s := range t.sources {
		errs = append(errs, s.Close())
	}
	if t.guard != nil {
		t.guard.Close()
	}
	return errors.Join(errs...)
}

// newTools loads scripts and declared tools: the one table of tool kinds.
// Every error is told, not just the first.
func newTools(ctx context.Context, cfg *config.Config, cacheDir string, remote []tool.Tool, log *slog.Logger, long func(delta int), all []tool.Tool) (*toolset, error) {
	guard, err := egress.New(cfg.Fetch.Allow, egress.Options{UserAgent: "parley"})
	if err != nil {
		return nil, problem.Fetch.Errorf("fetch.allow: %w", err)
	}
	set := &toolset{guard: guard}
	all = slices.Clone(all)
	var errs []error
	set.sources, err = sources(cfg)
	errs = append(errs, problem.Tool.Wrap(err))
	scripts := js.Options{
		CacheDir: cacheDir, Fetch: fetch(guard), DB: databases(set.sources), Log: log, Long: long,
		MemoryLimit: int64(cfg.Limits.ScriptMemory), MaxVMs: cfg.Limits.ScriptCalls,
		Secret: func(name string) (secret.String, error) { return namedSecret(cfg, name) },
	}
	for _, name := range cfg.Tools.Scripts {
		m, err := js.Load(ctx, source(cfg, name), scripts)
		if err != nil {
			errs = append(errs, problem.Script.Wrap(err))
			continue
		}
		set.modules = append(set.modules, m)
		set.findings = append(set.findings, m.Findings()...)
		all = append(all, m.Tools()...)
	}
	asked, err := expressions(ctx, cfg, set, scripts)
	errs = append(errs, problem.Tool.Wrap(err))
	for _, c := range cfg.Tools.Named {
		t, err := declared(c, set, asked[c.Name], log)
		if err != nil {
			errs = append(errs, placed(c, err))
			continue
		}
		all = append(all, t)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, set.close(ctx))
	}
	set.own = all
	if set.registry, err = tool.NewRegistry(slices.Concat(all, remote)); err != nil {
		return nil, errors.Join(problem.Tool.Wrap(err), set.close(ctx))
	}
	set.findings = slices.Concat(set.findings, tool.Lint(all), lintRemote(remote))
	return set, nil
}

// sources are the databases of tools; nothing is connected to yet.
func sources(cfg *config.Config) (map[string]*sqltool.Source, error) {
	out := map[string]*sqltool.Source{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(cfg.Data)) {
		d := cfg.Data[name]
		s, err := sqltool.New(name, d.URL, sqltool.Options{MaxConns: d.MaxConns})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out[name] = s
	}
	return out, errors.Join(errs...)
}

func source(cfg *config.Config, name string) js.Source {
	if fsys := cfg.FS(); fsys != nil {
		return js.Embedded(fsys, name)
	}
	return js.File(name)
}

var errNoSecret = errors.New("no such name under secrets: in the configuration")

func namedSecret(cfg *config.Config, name string) (secret.String, error) {
	if s, ok := cfg.Secrets[name]; ok {
		return s, nil
	}
	return secret.String{}, fmt.Errorf("secret %q: %w", name, errNoSecret)
}

// fetch is ctx.fetch of scripts: the guard of HTTP tools.
func fetch(g *egress.Guard) func(context.Context, js.Request) (js.Response, error) {
	return func(ctx context.Context, r js.Request) (js.Response, error) {
		resp, err := g.Do(ctx, egress.Request{Method: r.Method, URL: r.URL, Header: r.Header, Body: r.Body})
		if err != nil {
			return js.Response{}, err
		}
		return js.Response{Status: resp.Status, URL: r.URL, Header: resp.Header, Body: resp.Body}, nil
	}
}

// cacheFolder is where bundled scripts are kept, "" where it can't be made.
func cacheFolder(dataDir string) string {
	dir := filepath.Join(dataDir, "cache")
	if err := os.MkdirAll(dir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return "" // scripts are bundled at each start then
	}
	return dir
}
