package js

import (
	"context"
	"errors"
	"fmt"
	"time"

	"modernc.org/quickjs"
)

// vm is one runtime with the module loaded. It runs one call at a time, on one
// goroutine; only interrupt is safe from others.
type vm struct {
	m       *Module
	js      *quickjs.VM
	start   quickjs.Value
	deliver quickjs.Value
	abort   quickjs.Value
	cur     *run // the call that runs now
	used    time.Time
	// spoiled runtimes are closed after the call: it was interrupted, or
	// ran out of memory or stack, and what it left is anybody's guess.
	spoiled bool
}

func compileBytecode(code []byte) ([]byte, error) {
	js, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("start a script runtime: %w", err)
	}
	defer js.Close()
	return js.Compile(string(code), quickjs.EvalGlobal)
}

// newVM makes a runtime and runs the module's top level in it.
func newVM(ctx context.Context, m *Module) (v *vm, err error) {
	js, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("start a script runtime: %w", err)
	}
	v = &vm{m: m, js: js}
	m.live.Add(1)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("start a script runtime: the engine failed: %v", p)
		}
		if err != nil {
			v.close()
			v = nil
		}
	}()
	js.SetMemoryLimit(uintptr(m.opts.MemoryLimit))
	if err := js.RegisterFunc("__parleyHost", v.host, false); err != nil {
		return v, fmt.Errorf("start a script runtime: %w", err)
	}
	if err := js.SetEvalTimeout(within(ctx, loadTimeout)); err != nil {
		return v, fmt.Errorf("start a script runtime: %w", err)
	}
	top, err := js.EvalBytecodeValue(m.prog.code)
	if err != nil {
		return v, m.prog.scriptError(m.src, "the script failed", err)
	}
	top.Free()
	if _, err := js.ExecutePendingJobs(); err != nil {
		return v, m.prog.scriptError(m.src, "the script failed", err)
	}
	global := js.GlobalObject()
	defer global.Free()
	bridge, err := property(js, global, "__parley")
	if err != nil {
		return v, err
	}
	defer bridge.Free()
	for name, into := range map[string]*quickjs.Value{"start": &v.start, "deliver": &v.deliver, "abort": &v.abort} {
		if *into, err = property(js, bridge, name); err != nil {
			return v, err
		}
	}
	return v, nil
}

func property(js *quickjs.VM, of quickjs.Value, name string) (quickjs.Value, error) {
	atom, err := js.NewAtom(name)
	if err != nil {
		return quickjs.Value{}, fmt.Errorf("start a script runtime: %w", err)
	}
	val, err := of.GetPropertyValue(atom)
	if err != nil {
		return quickjs.Value{}, fmt.Errorf("start a script runtime: %w", err)
	}
	return val, nil
}

// describe asks the module what it defines.
func (v *vm) describe(ctx context.Context) (string, error) {
	if err := v.js.SetEvalTimeout(within(ctx, loadTimeout)); err != nil {
		return "", err
	}
	r, err := v.js.Eval("__parley.describe()", quickjs.EvalGlobal)
	if err != nil {
		return "", err
	}
	s, ok := r.(string)
	if !ok {
		return "", fmt.Errorf("the script answered with a %T", r)
	}
	return s, nil
}

// within is the time left of ctx, at most limit; never 0, which means no limit
// to the engine.
func within(ctx context.Context, limit time.Duration) time.Duration {
	if at, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(at))
	}
	return max(limit, time.Microsecond)
}

// enter runs f, which calls into the engine, for limit at the most (0: for
// ever), and tells whether it was interrupted.
func (v *vm) enter(limit time.Duration, f func() error) (interrupted bool, err error) {
	if err := v.js.SetEvalTimeout(limit); err != nil {
		return false, err
	}
	err = f()
	if qe, ok := errors.AsType[*quickjs.Error](err); ok && qe.Name == "InternalError" {
		v.spoiled = true
		return qe.Message == "interrupted", err
	}
	return false, err
}

func (v *vm) close() {
	defer func() {
		// A runtime that the engine lost can only be dropped.
		if p := recover(); p != nil {
			v.m.log.Error("script runtime lost", "error", fmt.Sprint(p))
		}
	}()
	v.m.live.Add(-1)
	for _, val := range []*quickjs.Value{&v.start, &v.deliver, &v.abort} {
		if val.VM() != nil {
			val.Free()
		}
	}
	_ = v.js.Close() // it always says nil
}
