package app

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/parley-bot/parley/internal/tool"
)

// spy is a tool that keeps its runs.
type spy struct {
	mu   sync.Mutex
	runs []tool.Call
	do   func(ctx context.Context, c tool.Call) (tool.Result, error)
}

// Run implements tool.Runner.
func (s *spy) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	s.mu.Lock()
	s.runs = append(s.runs, c)
	s.mu.Unlock()
	if s.do != nil {
		return s.do(ctx, c)
	}
	return tool.Result{Value: json.RawMessage(`{"ok":true}`)}, nil
}

func (s *spy) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.runs)
}

func (s *spy) last() tool.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[len(s.runs)-1]
}

// returns is a tool that gives this JSON.
func returns(value string) *spy {
	return &spy{do: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Value: json.RawMessage(value)}, nil
	}}
}

const itemsSchema = `{"type":"object","properties":{"items":{"type":"array","minItems":1,"items":{"type":"object",
 "properties":{"product":{"type":"string","enum":["coffee","croissant"]},"quantity":{"type":"integer","minimum":1,"maximum":50}},
 "required":["product","quantity"],"additionalProperties":false}}},"required":["items"],"additionalProperties":false}`

// placeOrder is a confirming tool over s.
func placeOrder(s tool.Runner) tool.Tool {
	return tool.Tool{
		Name: "place_order", Kind: "test", Title: "Place order", Description: "Places an order.",
		Schema: json.RawMessage(itemsSchema), Confirm: true, Effect: tool.Unsafe, Runner: s,
	}
}

// plain is a tool without confirmation and arguments.
func plain(name string, s tool.Runner) tool.Tool {
	return tool.Tool{Name: name, Kind: "test", Description: "Does " + name + ".", Effect: tool.Read, Runner: s}
}

const twoCoffees = `{"items":[{"product":"coffee","quantity":2}]}`

// asking is a tool with a say in its own confirmation.
type asking struct {
	*spy
	need    func(args json.RawMessage) (bool, error)
	lines   func() ([]string, error)
	message func() (string, error)
}

// HasPredicate implements tool.Predicate.
func (a asking) HasPredicate() bool { return a.need != nil }

// NeedsConfirm implements tool.Predicate.
func (a asking) NeedsConfirm(_ context.Context, c tool.Call) (bool, error) { return a.need(c.Args) }

// ConfirmLines implements tool.Liner.
func (a asking) ConfirmLines(context.Context, tool.Call) ([]string, bool, error) {
	if a.lines == nil {
		return nil, false, nil
	}
	lines, err := a.lines()
	return lines, true, err
}

// ConfirmMessage implements tool.Messager.
func (a asking) ConfirmMessage(context.Context, tool.Call) (string, bool, error) {
	if a.message == nil {
		return "", false, nil
	}
	text, err := a.message()
	return text, true, err
}

// stuck is a tool that says when it has begun and then waits for release or
// for its end.
func stuck(release <-chan struct{}, value string) (s *spy, begun <-chan struct{}) {
	b := make(chan struct{}, 16)
	return &spy{do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		b <- struct{}{}
		select {
		case <-release:
			return tool.Result{Value: json.RawMessage(value)}, nil
		case <-ctx.Done():
			return tool.Stopped(ctx, time.Second), nil
		}
	}}, b
}

// deduped remembers a tool's runs for a minute.
func deduped(t tool.Tool) tool.Tool {
	t.Dedupe = time.Minute
	return t
}
