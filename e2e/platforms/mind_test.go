package platforms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/tool"
)

// mind is a model that goes by rules: it orders what it is told to, and
// repeats everything else.
type mind struct {
	mu    sync.Mutex
	heard map[string]int
	// stuck keeps answers to tool results, and to texts that begin with
	// "wait", back until it is closed; nil keeps nothing.
	stuck <-chan struct{}
	// busy counts the calls that are kept back.
	busy int
	// upset, where not nil, may fail in the model's place.
	upset func(text string) error
}

func newMind() *mind { return &mind{heard: map[string]int{}} }

// times is how often a text reached the model.
func (m *mind) times(text string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.heard[text]
}

func (m *mind) waiting() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.busy
}

// Generate implements turn.Model.
func (m *mind) Generate(ctx context.Context, req llm.Request, _ func(string)) (llm.Response, error) {
	last := req.Messages[len(req.Messages)-1]
	text := last.Text
	if last.Role == llm.RoleTool {
		text = last.Results[0].Content
	}
	m.mu.Lock()
	upset := m.upset
	if last.Role == llm.RoleUser {
		m.heard[text]++
	}
	m.mu.Unlock()
	if upset != nil {
		if err := upset(text); err != nil {
			return llm.Response{}, err
		}
	}
	if last.Role == llm.RoleTool || strings.HasPrefix(text, "wait") {
		if err := m.hold(ctx); err != nil {
			return llm.Response{}, err
		}
	}
	if last.Role == llm.RoleTool {
		return outcome(text)
	}
	return reply(text), nil
}

func (m *mind) hold(ctx context.Context) error {
	if m.stuck == nil {
		return nil
	}
	m.mu.Lock()
	m.busy++
	m.mu.Unlock()
	select {
	case <-m.stuck:
		return nil
	case <-ctx.Done():
		return &llm.Error{Class: llm.Cancelled, Err: context.Cause(ctx)}
	}
}

// reply is what it makes of a person's text.
func reply(text string) llm.Response {
	if n := regexp.MustCompile(`^(?:order|make it) (\d+)`).FindStringSubmatch(text); n != nil {
		args := `{"items":[{"product":"coffee","quantity":` + n[1] + `}]}`
		return llm.Response{Calls: []llm.Call{{ID: "api-1", Name: "place_order", Args: args}}, Stop: llm.StopCalls}
	}
	if text == "long" {
		return says(longAnswer())
	}
	return says("You said: " + text)
}

// outcome is what it makes of a tool's result.
func outcome(content string) (llm.Response, error) {
	var r struct {
		Order  int    `json:"order"`
		Reason string `json:"reason"`
		Reply  string `json:"userReply"`
	}
	if err := json.Unmarshal([]byte(content), &r); err != nil {
		return says("The tool said: " + content), nil
	}
	switch {
	case r.Reply != "":
		return reply(r.Reply), nil
	case r.Reason == "denied":
		return says("I left it."), nil
	case r.Order > 0:
		return says(fmt.Sprintf("Order %d is placed.", r.Order)), nil
	}
	return says("The tool said: " + content), nil
}

func says(text string) llm.Response { return llm.Response{Text: text, Stop: llm.StopEnd} }

// lines is how many lines the long answer has.
const lines = 600

// longAnswer is too long for every platform that has a limit.
func longAnswer() string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "line %d of the answer\n", i+1)
		if i%10 == 9 {
			b.WriteByte('\n')
		}
	}
	return strings.TrimSpace(b.String())
}

// shop is the tool that takes orders, and counts them.
type shop struct {
	mu     sync.Mutex
	orders int
}

// Run implements tool.Runner.
func (s *shop) Run(_ context.Context, c tool.Call) (tool.Result, error) {
	if len(c.Args) == 0 {
		return tool.Result{}, errors.New("an order without arguments")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders++
	return tool.Result{Value: json.RawMessage(fmt.Sprintf(`{"order":%d}`, s.orders))}, nil
}

func (s *shop) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders
}

// placeOrder is the tool as the bot has it.
func placeOrder(r tool.Runner) tool.Tool {
	return tool.Tool{
		Name: "place_order", Kind: "test", Title: "Place order", Titles: map[string]string{"es": "Crear pedido"},
		Description: "Places an order.", Confirm: true, Effect: tool.Unsafe, Runner: r,
		Schema: json.RawMessage(`{"type":"object","properties":{"items":{"type":"array","minItems":1,"items":{"type":"object",
 "properties":{"product":{"type":"string","enum":["coffee"]},"quantity":{"type":"integer","minimum":1,"maximum":50}},
 "required":["product","quantity"],"additionalProperties":false}}},"required":["items"],"additionalProperties":false}`),
	}
}
