package js

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"modernc.org/quickjs"

	"github.com/parley-bot/parley/internal/tool"
)

// run is one call in one runtime.
type run struct {
	m      *Module
	ctx    context.Context // ends with the call; requests hang on it
	call   tool.Call
	timers map[string]time.Time
	// fetches are the requests and statements under way.
	fetches map[string]request
	arrived chan arrival
	listens bool        // the script waits for the end of its context
	busy    atomic.Bool // the engine is running: it may be interrupted
	reply   reply
	over    bool

	store    *buffer
	writes   bool // ctx.db may
	fetched  bool
	sent     int   // requests that may have an effect, for their keys
	effects  bool  // one of them, or a statement that writes, was begun
	unknown  bool  // what became of one of those
	operator error // the host's own failure, not the script's
}

// request is one under way.
type request struct {
	stop   context.CancelFunc
	effect bool
}

// arrival is something that a script waits for.
type arrival struct {
	id, text string
	unknown  bool // a request that may have taken effect although it failed
}

// reply is what came of a call.
type reply struct {
	value   string // JSON
	some    bool   // false: undefined
	failure string // why it failed, as the model is told
	stack   string
	failed  bool
	cut     bool // failed, yet not by a throw of the script's own code
	stopped bool // by the end of its context
	err     error
}

// invoke runs one function of a tool on a goroutine of its own. It returns
// when that is done, or a grace after ctx ended; a call that still hasn't come
// back then keeps its goroutine and runtime until it does.
func (m *Module) invoke(ctx context.Context, kind string, call tool.Call) (*run, reply) {
	v, err := m.acquire(ctx)
	if err != nil {
		return nil, reply{err: err, stopped: ctx.Err() != nil}
	}
	r := &run{
		m: m, call: call, timers: map[string]time.Time{}, fetches: map[string]request{},
		arrived: make(chan arrival), store: newBuffer(call, m.masks.mask),
		writes: kind == "handler" && m.place == nil && m.effect(call.Tool) != tool.Read,
	}
	runCtx, cancel := context.WithCancel(ctx)
	r.ctx = runCtx
	done := make(chan reply, 1)
	m.calls.Go(func() {
		polite(func() {
			defer cancel()
			defer m.release(v)
			done <- v.execute(ctx, r, kind)
		}, r.busy.Load, m.opts.Long)
	})
	select {
	case rep := <-done:
		return r, rep
	case <-ctx.Done():
	}
	// An interrupt asked for while the engine isn't running is lost.
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	grace := time.NewTimer(m.opts.Grace)
	defer grace.Stop()
	for {
		if r.busy.Load() {
			v.js.Interrupt()
		}
		select {
		case rep := <-done:
			return r, rep
		case <-again.C:
		case <-grace.C:
			m.abandoned.Add(1)
			m.log.Error("script call abandoned", "tool", call.Tool, "call_id", call.ID)
			m.calls.Go(func() {
				<-done
				m.abandoned.Add(-1)
			})
			return nil, reply{stopped: true}
		}
	}
}

// execute is the event loop of one call.
func (v *vm) execute(ctx context.Context, r *run, kind string) (rep reply) {
	defer func() {
		if p := recover(); p != nil {
			v.spoiled = true
			v.m.log.Error("script engine failed", "error", fmt.Sprint(p), "stack", string(debug.Stack()))
			rep = reply{err: fmt.Errorf("run tool %s: the script engine failed: %v", r.call.Tool, p)}
		}
	}()
	v.cur = r
	defer func() { v.cur = nil }()
	info, err := json.Marshal(infoOf(r))
	if err != nil {
		return reply{err: fmt.Errorf("run tool %s: %w", r.call.Tool, err)}
	}
	step := func() error {
		_, err := v.start.Call(quickjs.UndefinedValue, kind, string(info))
		return err
	}
	for {
		if ctx.Err() != nil {
			return v.abortCall(ctx, r)
		}
		if stopped := v.step(ctx, r, step); stopped {
			return reply{stopped: true}
		}
		if r.over {
			return v.finish(r)
		}
		next, due := r.nextTimer()
		if next == "" && len(r.fetches) == 0 && !r.listens {
			v.spoiled = true
			return reply{failed: true, cut: true, failure: "the tool waits for something that never comes"}
		}
		var ring <-chan time.Time
		var timer *time.Timer
		if next != "" {
			timer = time.NewTimer(time.Until(due))
			ring = timer.C
		}
		select {
		case a := <-r.arrived:
			delete(r.fetches, a.id)
			r.unknown = r.unknown || a.unknown
			step = v.delivery(a.id, a.text)
		case <-ring:
			delete(r.timers, next)
			step = v.delivery(next, "")
		case <-ctx.Done():
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

func (v *vm) delivery(id, text string) func() error {
	return func() error {
		_, err := v.deliver.Call(quickjs.UndefinedValue, id, text)
		return err
	}
}

// step runs f and every job that it leads to. It tells whether the end of the
// context cut it short.
func (v *vm) step(ctx context.Context, r *run, f func() error) (stopped bool) {
	for _, part := range []func() error{f, v.jobs} {
		limit := time.Duration(0)
		_, hasDeadline := ctx.Deadline()
		if hasDeadline {
			limit = within(ctx, math.MaxInt64)
		}
		r.busy.Store(true)
		interrupted, err := v.enter(limit, part)
		r.busy.Store(false)
		if interrupted || (r.over && r.reply.interrupted()) {
			v.spoiled = true
			if hasDeadline {
				// The engine's clock may be a moment ahead of the context's.
				<-ctx.Done()
			}
			return true
		}
		if err != nil && !r.over {
			r.over = true
			r.reply = reply{failed: true, cut: true, failure: err.Error()}
			if qe, ok := err.(*quickjs.Error); ok { //nolint:errorlint // the engine's own
				r.reply.failure, r.reply.stack = qe.Message, qe.Name+"\n"+qe.Stack
			}
		}
	}
	return false
}

func (v *vm) jobs() error {
	_, err := v.js.ExecutePendingJobs()
	return err
}

// interrupted tells a failure that is only the engine's interrupt in disguise:
// a promise took it.
func (r reply) interrupted() bool {
	return r.failed && r.failure == "interrupted" && strings.HasPrefix(r.stack, "InternalError")
}

// abortCall tells the script by its signal that time is over, and takes what it
// says at once; then the runtime is given up.
func (v *vm) abortCall(ctx context.Context, r *run) reply {
	v.spoiled = true
	if r.over {
		return v.finish(r)
	}
	name, message := "AbortError", "The call was stopped"
	if tool.Stopped(ctx, 0).TimedOut {
		name, message = "TimeoutError", "The time of this call is over"
	}
	for _, f := range []func() error{func() error {
		_, err := v.abort.Call(quickjs.UndefinedValue, name, message)
		return err
	}, v.jobs} {
		if interrupted, _ := v.enter(v.m.opts.Grace/2, f); interrupted {
			break
		}
	}
	if r.over && !r.reply.failed {
		return v.finish(r)
	}
	return reply{stopped: true}
}

func (v *vm) finish(r *run) reply {
	if n, _, _ := strings.Cut(r.reply.stack, "\n"); n == "InternalError" {
		v.spoiled, r.reply.cut = true, true // out of memory, or of stack
	}
	for id := range r.fetches {
		r.forget(id)
	}
	return r.reply
}

// nextTimer is the timer that is due first; the older one of two.
func (r *run) nextTimer() (id string, due time.Time) {
	for i, at := range r.timers {
		if id == "" || at.Before(due) || at.Equal(due) && (len(i) < len(id) || len(i) == len(id) && i < id) {
			id, due = i, at
		}
	}
	return id, due
}

// callInfo is what the runtime is told of a call.
type callInfo struct {
	Tool    string   `json:"tool"`
	CallID  string   `json:"callId"`
	ChatKey string   `json:"chatKey"`
	Channel string   `json:"channel"`
	Lang    string   `json:"lang"`
	Zone    string   `json:"zone"`
	User    userInfo `json:"user"`
	Args    string   `json:"args"`
	Raw     *string  `json:"raw,omitempty"`
}

type userInfo struct {
	ID     string            `json:"id"`
	Name   string            `json:"name"`
	Claims map[string]string `json:"claims"`
}

func infoOf(r *run) callInfo {
	c := r.call
	info := callInfo{
		Tool: c.Tool, CallID: c.ID, ChatKey: c.Identity.ChatKey, Channel: c.Identity.Channel, Lang: c.Lang,
		Zone: r.m.opts.TimeZone.String(), Args: string(c.Args),
		User: userInfo{ID: c.Identity.UserID, Name: c.Identity.Name, Claims: c.Identity.Claims},
	}
	if info.User.Claims == nil {
		info.User.Claims = map[string]string{}
	}
	if len(c.Args) == 0 {
		info.Args = "{}"
	}
	if len(c.Raw) > 0 {
		raw := string(c.Raw)
		info.Raw = &raw
	}
	return info
}
