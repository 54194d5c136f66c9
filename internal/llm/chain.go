package llm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// Member is one model of a chain.
type Member struct {
	Provider Provider
	// MaxTokens replaces Request.MaxTokens for this model; 0 leaves it.
	MaxTokens int
}

// Options tune a [Chain]. The zero value has the defaults.
type Options struct {
	// Deadline bounds retries and back-off: none begins later than this
	// after the start. Models not tried by then are tried once each. A call
	// under way is bounded by its provider's timeout only. Default 30s.
	Deadline time.Duration
	// Attempts is how often one model is asked at the most. Default 3.
	Attempts int
	// Backoff is the wait before the second attempt, doubled for each
	// further one up to ten seconds, and shortened at random to between half
	// of it and all of it. A longer Retry-After is kept to. Default 500ms.
	Backoff time.Duration
	// Patience is the longest Retry-After that is waited for while another
	// model is left to try. Default 10s.
	Patience time.Duration
	// CoolDown is how long a model that failed is tried last. Default 60s.
	CoolDown time.Duration
	// Observer hears of every call; nil is nobody.
	Observer Observer
	// Log gets a warning for each failed call; nil is none.
	Log *slog.Logger
	// Now, Sleep and Rand (0 ≤ x < 1) are for tests; nil is the real ones.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
	Rand  func() float64
}

const maxBackoff = 10 * time.Second

// Chain asks one model after the other until one answers. It may be used by
// many goroutines at once.
type Chain struct {
	members []Member
	opt     Options

	mu      sync.Mutex
	cooling []time.Time // by member: until when it is tried last
	scales  []scale     // by member
}

// NewChain makes a chain of the models in their order of preference.
func NewChain(members []Member, opt Options) *Chain {
	opt.Deadline = orDefault(opt.Deadline, 30*time.Second)
	opt.Attempts = orDefault(opt.Attempts, 3)
	opt.Backoff = orDefault(opt.Backoff, 500*time.Millisecond)
	opt.Patience = orDefault(opt.Patience, 10*time.Second)
	opt.CoolDown = orDefault(opt.CoolDown, time.Minute)
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Sleep == nil {
		opt.Sleep = sleep
	}
	if opt.Rand == nil {
		opt.Rand = rand.Float64
	}
	return &Chain{members: members, opt: opt, cooling: make([]time.Time, len(members)), scales: make([]scale, len(members))}
}

func orDefault[T int | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Generate returns the first answer that a model of the chain gives. Where
// none does, the error joins the *Error of every failed call in order; once
// ctx has ended it is of class Cancelled. See [HasClass].
//
// Each model sees only the opaque fields it wrote itself. A retried stream
// starts again: onText then gets a shorter text than before.
func (c *Chain) Generate(ctx context.Context, req Request, onText func(text string)) (Response, error) {
	start := c.opt.Now()
	var failures []error
	order := c.order(start)
	for i, n := range order {
		resp, errs := c.ask(ctx, n, start, i == len(order)-1, req, onText)
		failures = append(failures, errs...)
		if resp != nil {
			return *resp, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	if len(order) == 0 {
		return Response{}, errors.New("asking a model: none is configured")
	}
	return Response{}, fmt.Errorf("asking the models: %w", errors.Join(failures...))
}

// order puts the models that failed lately behind the others.
func (c *Chain) order(now time.Time) []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	order := make([]int, 0, len(c.members))
	var last []int
	for n, until := range c.cooling {
		if now.Before(until) {
			last = append(last, n)
		} else {
			order = append(order, n)
		}
	}
	return append(order, last...)
}

// ask tries one model, with its retries.
func (c *Chain) ask(ctx context.Context, n int, start time.Time, last bool, req Request, onText func(string)) (*Response, []error) {
	m := c.members[n]
	if m.MaxTokens > 0 {
		req.MaxTokens = m.MaxTokens
	}
	req.Messages = ownOpaque(req.Messages, memberID(m.Provider))
	var failures []error
	for attempt := 1; ; attempt++ {
		resp, failure := c.call(ctx, m.Provider, req, onText)
		if failure == nil {
			c.cool(n, time.Time{})
			c.learn(n, req, resp.Usage.Input)
			return resp, failures
		}
		failures = append(failures, failure)
		c.opt.Log.WarnContext(ctx, "model call failed", "provider", failure.Provider, "model", failure.Model,
			"class", string(failure.Class), "attempt", attempt, "err", failure)
		if ctx.Err() != nil {
			return nil, failures
		}
		wait, again := c.wait(failure, attempt, c.opt.Now().Sub(start), last)
		if !again {
			if blamesModel(failure.Class) {
				c.cool(n, c.opt.Now().Add(c.opt.CoolDown))
			}
			return nil, failures
		}
		if err := c.opt.Sleep(ctx, wait); err != nil {
			return nil, append(failures, cancelled(m.Provider, err))
		}
	}
}

func (c *Chain) cool(n int, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cooling[n] = until
}

// wait says whether to ask the same model again, and after how long.
func (c *Chain) wait(failure *Error, attempt int, elapsed time.Duration, last bool) (time.Duration, bool) {
	if !failure.Retryable() || attempt >= c.opt.Attempts {
		return 0, false
	}
	if failure.After > c.opt.Patience && !last {
		return 0, false
	}
	full := c.opt.Backoff
	for i := 1; i < attempt && full < maxBackoff; i++ {
		full *= 2
	}
	full = min(full, maxBackoff)
	wait := full/2 + time.Duration(c.opt.Rand()*float64(full/2))
	if failure.After > wait {
		// Spread over a tenth, or everybody who was told the same comes
		// back in the same instant.
		wait = failure.After + time.Duration(c.opt.Rand()*float64(failure.After/10))
	}
	return wait, elapsed+wait < c.opt.Deadline
}

// call makes one call and reports it.
func (c *Chain) call(ctx context.Context, p Provider, req Request, onText func(string)) (*Response, *Error) {
	begin := c.opt.Now()
	resp, err := p.Generate(ctx, req, onText)
	seen := Observation{Provider: p.Name(), Model: p.Model(), Duration: c.opt.Now().Sub(begin)}
	var failure *Error
	switch {
	case err == nil:
		resp.From = memberID(p)
		seen.Outcome, seen.Usage = OutcomeOK, resp.Usage
	case ctx.Err() != nil:
		failure = cancelled(p, err)
	default:
		var ok bool
		if failure, ok = errors.AsType[*Error](err); !ok {
			failure = &Error{Class: Temporary, Provider: p.Name(), Model: p.Model(), Err: err}
		}
	}
	if failure != nil {
		seen.Outcome = string(failure.Class)
	}
	if c.opt.Observer != nil {
		c.opt.Observer.ModelCalled(seen)
	}
	return &resp, failure
}

func cancelled(p Provider, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok && e.Class == Cancelled {
		return e
	}
	return &Error{Class: Cancelled, Provider: p.Name(), Model: p.Model(), Err: err}
}

// blamesModel tells whether another request is likely to fail the same way.
func blamesModel(class Class) bool {
	switch class {
	case BadRequest, ContextTooLong, Filtered, Cancelled:
		return false
	default:
		return true
	}
}
