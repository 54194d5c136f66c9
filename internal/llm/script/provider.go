package script

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-bot/parley/internal/llm"
)

// Kept is how many requests a Provider remembers.
const Kept = 256

// Provider answers by a script. It may be used by many goroutines at once.
type Provider struct {
	rules *rules
	model string

	mu   sync.Mutex
	ring []llm.Request
	seen int
}

var _ llm.Provider = (*Provider)(nil)

// New reads a script. filename is for messages, and without its folder and
// extension it is the model's name. The error tells all that is wrong, a line
// each, which begins with filename:line:column.
func New(doc []byte, filename string) (*Provider, error) {
	parsed, err := parse(doc, filename)
	if err != nil {
		return nil, err
	}
	rules, err := build(parsed, filename)
	if err != nil {
		return nil, err
	}
	base := filepath.Base(filename)
	return &Provider{rules: rules, model: strings.TrimSuffix(base, filepath.Ext(base))}, nil
}

// Name is script.
func (p *Provider) Name() string { return "script" }

// Model is the script's name.
func (p *Provider) Model() string { return p.model }

// Requests returns the last requests, oldest first, [Kept] at the most.
func (p *Provider) Requests() []llm.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen <= Kept {
		return slices.Clone(p.ring)
	}
	first := p.seen % Kept
	return slices.Concat(p.ring[first:], p.ring[:first])
}

// Seen counts all requests.
func (p *Provider) Seen() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// record keeps a request as it is now: its lists are copied, since the caller
// may go on appending to them.
func (p *Provider) record(req llm.Request) {
	req.System, req.Messages, req.Tools = slices.Clone(req.System), slices.Clone(req.Messages), slices.Clone(req.Tools)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ring) < Kept {
		p.ring = append(p.ring, req)
	} else {
		p.ring[p.seen%Kept] = req
	}
	p.seen++
}

// Generate answers by the first rule that fits. See llm.Provider. A streamed
// text grows by a word at a time.
func (p *Provider) Generate(ctx context.Context, req llm.Request, onText func(text string)) (llm.Response, error) {
	p.record(req)
	v := newView(p.rules, &req)
	for i := range p.rules.list {
		r := &p.rules.list[i]
		m, ok := r.when.find(v)
		if !ok {
			continue
		}
		if err := p.wait(ctx, r.delay); err != nil {
			return llm.Response{}, err
		}
		if !r.answer {
			continue
		}
		return p.answer(ctx, r, scope{view: v, match: m, lang: v.lang()}, onText)
	}
	// The texts aren't told: errors are logged.
	return llm.Response{}, p.fail(&llm.Error{Class: llm.BadRequest},
		fmt.Errorf("no rule of %s fits (last message: %s); end it with a rule without when", p.rules.file, v.describe()))
}

func (v *view) describe() string {
	if v.last != llm.RoleTool {
		return string(v.last)
	}
	var tools []string
	for _, r := range v.req.Messages[len(v.req.Messages)-1].Results {
		tools = append(tools, r.Name)
	}
	return "results of " + strings.Join(tools, ", ")
}

func (p *Provider) fail(e *llm.Error, cause error) *llm.Error {
	out := *e
	out.Provider, out.Model, out.Err = p.Name(), p.model, cause
	return &out
}

// wait keeps a delay, or fails where ctx has ended.
func (p *Provider) wait(ctx context.Context, d time.Duration) error {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return p.fail(&llm.Error{Class: llm.Cancelled}, fmt.Errorf("waiting: %w", context.Cause(ctx)))
	}
	return nil
}

func (p *Provider) answer(ctx context.Context, r *rule, s scope, onText func(string)) (llm.Response, error) {
	if r.fail != nil {
		return llm.Response{}, p.fail(r.fail, fmt.Errorf("%s says so", p.rules.where(r)))
	}
	out := llm.Response{Stop: llm.StopEnd, From: p.Name() + "/" + p.model}
	var err error
	if r.say != nil {
		if out.Text, err = s.text(r.say.in(s.lang)); err != nil {
			return llm.Response{}, p.broken(r, err)
		}
	}
	for i, c := range r.calls {
		args, err := c.arguments(s)
		if err != nil {
			return llm.Response{}, p.broken(r, err)
		}
		out.Calls = append(out.Calls, llm.Call{ID: fmt.Sprintf("call-%d-%d", len(s.view.req.Messages), i), Name: c.tool, Args: args})
		out.Stop = llm.StopCalls
	}
	if r.stop != "" {
		out.Stop = r.stop
	}
	if err := p.write(ctx, out.Text, r.pace, onText); err != nil {
		return llm.Response{}, err
	}
	return out, nil
}

func (p *Provider) broken(r *rule, err error) *llm.Error {
	return p.fail(&llm.Error{Class: llm.BadRequest}, fmt.Errorf("%s: %w", p.rules.where(r), err))
}

func (c *call) arguments(s scope) (string, error) {
	switch {
	case c.raw != nil:
		return s.text(*c.raw)
	case c.args == nil:
		return "{}", nil
	}
	for _, card := range s.view.req.Tools {
		if card.Name == c.tool {
			s.schema = card.Schema
		}
	}
	out, _, err := c.args.write(nil, s, nil)
	return string(out), err
}

// write gives the text as it grows, a word at a time.
func (p *Provider) write(ctx context.Context, text string, pace time.Duration, onText func(string)) error {
	if onText == nil && pace == 0 {
		return nil
	}
	for i := 1; i <= len(text); i++ {
		if i < len(text) && text[i] != ' ' {
			continue
		}
		if err := p.wait(ctx, pace); err != nil {
			return err
		}
		if onText != nil {
			onText(text[:i])
		}
	}
	return nil
}
