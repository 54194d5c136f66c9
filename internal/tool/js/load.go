package js

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-bot/parley/internal/tool"
)

// loadTimeout bounds the top level of a script.
const loadTimeout = 10 * time.Second

// esbuildLetsGo is when esbuild's goroutine that keeps the last build has ended.
const esbuildLetsGo = 400 * time.Millisecond

// Module is one loaded script. Its tools run until Close.
type Module struct {
	src  Source
	opts Options
	prog *program
	log  loggerFor

	place    func(*Error) *Error // of expressions; else nil
	compiled bool                // not from the cache
	tools    []tool.Tool
	findings []tool.Finding

	slots     chan struct{} // one a runtime in use
	mu        sync.Mutex
	idle      []*vm // the most recently used is the last
	shrink    *time.Timer
	giveBack  *time.Timer
	closed    bool
	calls     sync.WaitGroup
	live      atomic.Int64
	abandoned atomic.Int64
	masks     masks
}

// Load reads a script, or what the cache has of it if no file that went into
// it has changed, and checks every definition. What is wrong with the script is
// an [*Error] (several are joined) with file, line and column. No runtime is
// left behind: the first call makes one.
func Load(ctx context.Context, src Source, opts Options) (*Module, error) {
	return load(ctx, src, opts, nil)
}

// load is Load; place, where not nil, says where what is wrong with a module
// that was put together is really written.
func load(ctx context.Context, src Source, opts Options, place func(*Error) *Error) (_ *Module, err error) {
	defer func() { err = placed(err, place) }()
	m := &Module{src: src, opts: opts.withDefaults(), place: place}
	m.log = loggerFor{m.opts.Log.With("script", src.path)}
	m.slots = make(chan struct{}, m.opts.MaxVMs)

	now, err := stamp()
	if err != nil {
		return nil, fmt.Errorf("load script %s: %w", src.path, err)
	}
	var file string
	if opts.CacheDir != "" {
		if file, err = cacheFile(opts.CacheDir, src); err != nil {
			return nil, fmt.Errorf("load script %s: %w", src.path, err)
		}
		if m.prog, err = readProgram(file, now, src); err != nil && !os.IsNotExist(err) {
			m.log.Debug("compiled script not used", "error", err.Error())
		}
	}
	if m.prog == nil {
		m.compiled = true
		if m.prog, err = m.compile(ctx, now); err != nil {
			return nil, err
		}
		if file != "" {
			if err := writeProgram(file, m.prog); err != nil {
				// The script runs all the same, it only starts slower.
				m.log.Warn("compiled script not kept", "error", err.Error())
			}
		}
	}
	if m.tools, err = m.define(); err != nil {
		return nil, err
	}
	m.findings = m.stateFindings()
	return m, nil
}

// Files are the files on disk that went into the module, and those that would
// have if they were there: a change of any of them changes the module.
func (m *Module) Files() []string {
	if !m.src.onDisk() {
		return nil
	}
	out := make([]string, len(m.prog.Inputs))
	for i, in := range m.prog.Inputs {
		out[i] = in.Path
	}
	return out
}

// compile bundles and compiles the script and asks it what it defines.
func (m *Module) compile(ctx context.Context, stamp string) (*program, error) {
	// esbuild leaves tens of MiB behind, and lets go of the last build only
	// a quarter of a second later.
	defer func() { m.giveBack = time.AfterFunc(esbuildLetsGo, debug.FreeOSMemory) }()
	b, err := bundle(m.src, "")
	if err != nil {
		return nil, err
	}
	p, needsZod, err := m.tryOut(ctx, b)
	if err == nil && needsZod {
		// Only the bundled zod can write the JSON Schema of its own types.
		if b, err = bundle(m.src, zodFolder(b.inputs)); err != nil {
			return nil, err
		}
		p, _, err = m.tryOut(ctx, b)
	}
	if err != nil {
		return nil, err
	}
	p.Stamp = stamp
	if p.Inputs, err = dependencies(m.src, b.inputs); err != nil {
		return nil, fmt.Errorf("load script %s: %w", m.src.path, err)
	}
	p.Written = m.scanState(b.own)
	return p, nil
}

func (m *Module) tryOut(ctx context.Context, b *bundled) (p *program, needsZod bool, err error) {
	p = &program{Map: b.lines, Hash: hashOf(b.code)}
	m.prog = p
	if p.code, err = compileBytecode(b.code); err != nil {
		return nil, false, p.scriptError(m.src, "the script can't be compiled", err)
	}
	p.CodeHash = hashOf(p.code)
	v, err := newVM(ctx, m)
	if err != nil {
		return nil, false, err
	}
	defer v.close()
	text, err := v.describe(ctx)
	if err != nil {
		return nil, false, p.scriptError(m.src, "the tools can't be read", err)
	}
	p.Defs = json.RawMessage(text)
	return p, strings.Contains(text, `"needsZod":true`), nil
}

// Tools are the module's tools, in the script's order.
func (m *Module) Tools() []tool.Tool { return m.tools }

// effect is that of one of the module's tools.
func (m *Module) effect(name string) tool.Effect {
	for i := range m.tools {
		if m.tools[i].Name == name {
			return m.tools[i].Effect
		}
	}
	return tool.Read // nobody's
}

// Findings are what the script does that won't work as it looks.
func (m *Module) Findings() []tool.Finding { return m.findings }

// Abandoned is how many calls have not come back yet although they were given
// up.
func (m *Module) Abandoned() int64 { return m.abandoned.Load() }

// VMs is how many runtimes there are, idle ones included.
func (m *Module) VMs() int64 { return m.live.Load() }

// Close waits for the calls under way, as long as ctx lasts, and closes the
// runtimes. Later calls fail. It may be called twice.
func (m *Module) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	m.closeIdle(len(m.idle))
	if m.shrink != nil {
		m.shrink.Stop()
	}
	m.mu.Unlock()
	if m.giveBack != nil {
		m.giveBack.Stop()
	}

	done := make(chan struct{})
	go func() {
		m.calls.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close script %s: %d calls didn't come back: %w", m.src.path, m.abandoned.Load(), context.Cause(ctx))
	}
}
