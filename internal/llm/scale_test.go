package llm_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/parley-bot/parley/internal/llm"
)

// counter is a model that counts each of its requests as it is told to.
type counter struct {
	name  string
	count func(estimated int) int
}

func (c *counter) Name() string  { return c.name }
func (c *counter) Model() string { return "m" }

func (c *counter) Generate(_ context.Context, req llm.Request, _ func(string)) (llm.Response, error) {
	return llm.Response{Text: "x", Stop: llm.StopEnd, Usage: llm.Usage{Input: c.count(llm.EstimateRequest(req))}}, nil
}

// What a model counts above the estimate shortens the history; what it counts
// below, or doesn't count, changes nothing.
func TestChain_A14_ScaleOfTheEstimate(t *testing.T) {
	t.Parallel()
	long := llm.Request{
		System: []string{strings.Repeat("You are the assistant of a bakery. ", 40)},
		Tools:  []llm.Card{{Name: "order", Description: "Orders.", Schema: []byte(`{"type":"object"}`)}},
	}
	times := func(f float64) func(int) int { return func(n int) int { return int(f * float64(n)) } }
	for name, tc := range map[string]struct {
		req   llm.Request
		calls int
		count func(int) int
		want  float64
	}{
		"as estimated":      {long, 1, times(1), 1},
		"more":              {long, 1, times(1.4), 1.4},
		"more, each time":   {long, 20, times(1.4), 1.4},
		"fewer, or cached":  {long, 20, times(0.1), 1},
		"nonsense":          {long, 1, times(1000), 3},
		"not counted":       {long, 5, times(0), 1},
		"too short a basis": {llm.Request{System: []string{"hi"}}, 5, times(2), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := llm.NewChain([]llm.Member{{Provider: &counter{"a", tc.count}}, {Provider: &counter{"b", times(2)}}}, llm.Options{})
			for range tc.calls {
				if _, err := c.Generate(t.Context(), tc.req, nil); err != nil {
					t.Fatal(err)
				}
			}
			if got := c.Scale(); math.Abs(got-tc.want) > 0.02 {
				t.Errorf("scale %.3f, want %.3f", got, tc.want)
			}
		})
	}
}

func TestChain_A14_ScaleFollowsSlowly(t *testing.T) {
	t.Parallel()
	factor := 1.0
	c := llm.NewChain([]llm.Member{{Provider: &counter{"a", func(n int) int { return int(factor * float64(n)) }}}}, llm.Options{})
	req := llm.Request{System: []string{strings.Repeat("You are the assistant of a bakery. ", 40)}}
	for range 3 {
		_, _ = c.Generate(t.Context(), req, nil)
	}
	factor = 2
	_, _ = c.Generate(t.Context(), req, nil)
	if got := c.Scale(); got < 1.15 || got > 1.25 {
		t.Errorf("after one request of twice as much: %.2f", got)
	}
	for range 30 {
		_, _ = c.Generate(t.Context(), req, nil)
	}
	if got := c.Scale(); got < 1.95 {
		t.Errorf("after many: %.2f", got)
	}
}
