package tool

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// ErrTimeout is the cause of the context of a run whose time is over.
var ErrTimeout = errors.New("tool timeout")

// PanicError is a Runner that panicked: the operator's error.
type PanicError struct {
	Value any
	Stack []byte
}

// Error tells what the runtime found, and of any other value its type only: it
// may hold a credential or quote what a person wrote.
func (e *PanicError) Error() string {
	if re, ok := e.Value.(runtime.Error); ok {
		return "the tool panicked: " + re.Error()
	}
	return fmt.Sprintf("the tool panicked with a %T", e.Value)
}

// DefaultGrace is how long a run may take to come back once it was aborted.
const DefaultGrace = 500 * time.Millisecond

// Limiter runs tools within their time. It owns the goroutines of runs: each
// ends with its runner, and one that doesn't come back in time is left behind
// and counted.
type Limiter struct {
	grace     time.Duration
	abandoned atomic.Int64
}

// NewLimiter builds a Limiter; grace 0 is [DefaultGrace].
func NewLimiter(grace time.Duration) *Limiter {
	if grace <= 0 {
		grace = DefaultGrace
	}
	return &Limiter{grace: grace}
}

// Abandoned is how many runs have not come back yet although they were given
// up.
func (l *Limiter) Abandoned() int64 { return l.abandoned.Load() }

type outcome struct {
	res Result
	err error
}

// RunLimited runs one call for timeout at the most (0: no limit of its own).
// When the time is over or ctx ends, the runner's context is ended and the
// runner gets a grace to come back. A result that it still gives is taken
// unless it says no more than that it was stopped. Otherwise the result is
// failed: with TimedOut and {"error": "timeout", …} when the time was over,
// {"error": "aborted", …} when ctx ended. Whether the outcome is then unknown
// is for the caller to say, who knows the effect. A panic is a [*PanicError].
func (l *Limiter) RunLimited(ctx context.Context, r Runner, call Call, timeout time.Duration) (Result, error) {
	runCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	if timeout > 0 {
		var stop context.CancelFunc
		runCtx, stop = context.WithTimeoutCause(runCtx, timeout, ErrTimeout)
		defer stop()
	}

	done := make(chan outcome, 1)
	back := make(chan struct{})
	go func() {
		defer close(back)
		res, err := guard(runCtx, r, call)
		done <- outcome{res, err}
	}()

	select {
	case o := <-done:
		return l.settle(runCtx, o, timeout)
	case <-runCtx.Done():
	}
	grace := time.NewTimer(l.grace)
	defer grace.Stop()
	select {
	case o := <-done:
		return l.settle(runCtx, o, timeout)
	case <-grace.C:
	}
	l.abandoned.Add(1)
	go func() {
		<-back
		l.abandoned.Add(-1)
	}()
	return Stopped(runCtx, timeout), nil
}

// settle decides between what a run gave and the fact that it was stopped.
func (l *Limiter) settle(runCtx context.Context, o outcome, timeout time.Duration) (Result, error) {
	if _, panicked := errors.AsType[*PanicError](o.err); panicked || runCtx.Err() == nil {
		return o.res, o.err
	}
	if o.err == nil && !o.res.TimedOut && !o.res.Failed {
		return o.res, nil
	}
	res := Stopped(runCtx, timeout)
	res.Unknown, res.Pure = o.res.Unknown, o.res.Pure
	return res, nil
}

// Stopped is the failed result of a run whose context ended; timeout is what
// it had, 0 where that isn't known.
func Stopped(ctx context.Context, timeout time.Duration) Result {
	if errors.Is(context.Cause(ctx), ErrTimeout) || errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		res := Fail("timeout", map[string]any{"message": fmt.Sprintf("The tool didn't answer within %s.", timeout)})
		if timeout <= 0 {
			res = Fail("timeout", map[string]any{"message": "The tool didn't answer in time."})
		}
		res.TimedOut = true
		return res
	}
	return Fail("aborted", map[string]any{"message": "The call was stopped."})
}

func guard(ctx context.Context, r Runner, call Call) (res Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = Result{}, &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return r.Run(ctx, call)
}
