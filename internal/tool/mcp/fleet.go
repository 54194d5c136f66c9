package mcptool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-bot/parley/internal/tool"
)

// Options are what a fleet is made with. The zero value of each is none.
type Options struct {
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Fleet is all MCP servers of a bot.
type Fleet struct {
	servers []*server
	names   map[[2]string]string // as models see the tools

	mu    sync.Mutex
	tools []offered
}

// Pins are pins that a fleet may use instead of those it has.
type Pins struct {
	tools []offered
	lock  Lock
}

// Tools are the tools that have a pin there.
func (p *Pins) Tools() []tool.Tool { return all(p.tools) }

// offered is a tool that has a pin, and where it comes from.
type offered struct {
	tool   tool.Tool
	server *server
	remote string
}

// Quarantine is an allowed tool that isn't offered.
type Quarantine struct {
	Server, Tool string
	Reason       Reason
}

// New makes the fleet, without I/O. Tools that have a pin are offered until
// their server says otherwise.
func New(servers []Server, lock Lock, o Options) (*Fleet, error) {
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	m, err := newMetrics(o.Registerer, servers)
	if err != nil {
		return nil, err
	}
	f := &Fleet{names: offeredNames(servers)}
	var errs []error
	for _, cfg := range servers {
		if err := cfg.check(); err != nil {
			errs = append(errs, fmt.Errorf("mcp server %s: %w", cfg.Name, err))
			continue
		}
		f.servers = append(f.servers, newServer(cfg, lock, log, m))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	f.tools = f.With(lock).tools
	return f, nil
}

// With is what the fleet would have with the pins of lock; nothing changes.
func (f *Fleet) With(lock Lock) *Pins {
	out := &Pins{lock: lock}
	for _, s := range f.servers {
		pins, _ := s.cfg.pinned(lock)
		for _, a := range s.cfg.Allow {
			if card, ok := lock.Card(s.cfg.Name, a.Name); ok && pins[a.Name] != "" {
				t := makeTool(s, a, card, f.names[[2]string{s.cfg.Name, a.Name}])
				out.tools = append(out.tools, offered{t, s, a.Name})
			}
		}
	}
	return out
}

// Use takes new pins, of With. The sessions stay, and what the servers list is
// compared with them at once. A tool of the pins before isn't called any more
// unless its pin is the same.
func (f *Fleet) Use(p *Pins) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tools = p.tools
	for _, s := range f.servers {
		s.repin(s.cfg.pinned(p.lock))
	}
}

func (f *Fleet) pinned() []offered {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tools
}

func all(of []offered) (out []tool.Tool) {
	for _, o := range of {
		out = append(out, o.tool)
	}
	return out
}

func makeTool(s *server, a Allowed, card Card, name string) tool.Tool {
	t := tool.Tool{
		Name: name, Kind: "mcp", Title: cmp.Or(a.Title, tool.Humanize(oneLine(a.Name))), Description: card.Description, Schema: card.Schema,
		Labels: a.Labels, Confirm: a.Confirm, Dedupe: a.Dedupe, Timeout: a.Timeout, Effect: cmp.Or(a.Effect, tool.Unsafe),
	}
	t.Runner = &runner{server: s, name: a.Name, pin: card.Digest(), offered: name, effect: t.Effect, secrets: s.cfg.credentials()}
	t.Digest = tool.Digest(&t, append([]string{"mcp", s.cfg.Name, a.Name, card.Digest()}, s.cfg.identity()...)...)
	return t
}

// Pinned are the tools that have a pin, whether quarantined now or not.
func (f *Fleet) Pinned() []tool.Tool { return all(f.pinned()) }

// Tools are those that are offered now.
func (f *Fleet) Tools() []tool.Tool {
	held := map[*server]map[string]Reason{}
	for _, s := range f.servers {
		held[s] = s.quarantine()
	}
	var out []tool.Tool
	for _, o := range f.pinned() {
		if held[o.server][o.remote] == "" {
			out = append(out, o.tool)
		}
	}
	return out
}

// Quarantined are the allowed tools that aren't offered now, as far as is known
// without asking their servers again.
func (f *Fleet) Quarantined() []Quarantine {
	var out []Quarantine
	for _, s := range f.servers {
		held := s.quarantine()
		for _, name := range slices.Sorted(maps.Keys(held)) {
			out = append(out, Quarantine{s.cfg.Name, name, held[name]})
		}
	}
	return out
}

// Run keeps the sessions open until ctx ends, and has ended their processes when
// it returns. onChange is called when Tools has changed, one call at a time.
func (f *Fleet) Run(ctx context.Context, onChange func()) {
	var mu sync.Mutex
	one := func() {
		mu.Lock()
		defer mu.Unlock()
		onChange()
	}
	var all sync.WaitGroup
	for _, s := range f.servers {
		all.Go(func() { s.run(ctx, one) })
	}
	all.Wait()
}
