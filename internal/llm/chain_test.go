package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/internal/llm"
)

// fake answers with one step after the other; past the last it repeats it.
type fake struct {
	name  string
	steps []step

	mu   sync.Mutex
	seen []llm.Request
	at   []time.Time
}

type step struct {
	takes time.Duration
	class llm.Class // "" answers
	after time.Duration
	err   error // a plain error
}

func (f *fake) Name() string  { return f.name }
func (f *fake) Model() string { return "m" }

func (f *fake) Generate(ctx context.Context, req llm.Request, _ func(string)) (llm.Response, error) {
	f.mu.Lock()
	s := f.steps[min(len(f.seen), len(f.steps)-1)]
	f.seen = append(f.seen, req)
	f.at = append(f.at, time.Now())
	f.mu.Unlock()
	if s.takes > 0 {
		select {
		case <-time.After(s.takes):
		case <-ctx.Done():
			return llm.Response{}, ctx.Err()
		}
	}
	switch {
	case s.err != nil:
		return llm.Response{}, s.err
	case s.class != "":
		return llm.Response{}, &llm.Error{Class: s.class, After: s.after, Provider: f.name, Model: "m", Err: errors.New("no")}
	default:
		return llm.Response{Text: "from " + f.name, Usage: llm.Usage{Input: 3, Output: 2}}, nil
	}
}

func (f *fake) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.seen)
}

func members(fakes ...*fake) []llm.Member {
	out := make([]llm.Member, len(fakes))
	for i, f := range fakes {
		out[i].Provider = f
	}
	return out
}

func TestChain_A13_RetriesThenFallsBack(t *testing.T) {
	t.Parallel()
	fail := func(c llm.Class) step { return step{class: c} }
	for name, tc := range map[string]struct {
		first, second []step
		firstCalls    int
		secondCalls   int
		want          string
	}{
		"answers":                    {[]step{{}}, []step{{}}, 1, 0, "from a"},
		"rate limited once":          {[]step{fail(llm.RateLimited), {}}, []step{{}}, 2, 0, "from a"},
		"overloaded twice":           {[]step{fail(llm.Overloaded), fail(llm.Overloaded), {}}, []step{{}}, 3, 0, "from a"},
		"temporary for ever":         {[]step{fail(llm.Temporary)}, []step{{}}, 3, 1, "from b"},
		"timeout for ever":           {[]step{fail(llm.Timeout)}, []step{{}}, 3, 1, "from b"},
		"auth isn't retried":         {[]step{fail(llm.Auth)}, []step{{}}, 1, 1, "from b"},
		"bad request isn't retried":  {[]step{fail(llm.BadRequest)}, []step{{}}, 1, 1, "from b"},
		"no tools isn't retried":     {[]step{fail(llm.NoTools)}, []step{{}}, 1, 1, "from b"},
		"too long isn't retried":     {[]step{fail(llm.ContextTooLong)}, []step{{}}, 1, 1, "from b"},
		"filtered isn't retried":     {[]step{fail(llm.Filtered)}, []step{{}}, 1, 1, "from b"},
		"a plain error is temporary": {[]step{{err: errors.New("odd")}}, []step{{}}, 3, 1, "from b"},
		"fallbacks are retried too":  {[]step{fail(llm.Auth)}, []step{fail(llm.Temporary), {}}, 1, 2, "from b"},
		"all fail":                   {[]step{fail(llm.Temporary)}, []step{fail(llm.Auth)}, 3, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a, b := &fake{name: "a", steps: tc.first}, &fake{name: "b", steps: tc.second}
				got, err := llm.NewChain(members(a, b), llm.Options{}).Generate(t.Context(), llm.Request{}, nil)
				if got.Text != tc.want || (err == nil) != (tc.want != "") {
					t.Errorf("got %q, %v, want %q", got.Text, err, tc.want)
				}
				if a.calls() != tc.firstCalls || b.calls() != tc.secondCalls {
					t.Errorf("calls %d, %d, want %d, %d", a.calls(), b.calls(), tc.firstCalls, tc.secondCalls)
				}
				if tc.want != "" && got.From != got.Text[len("from "):]+"/m" {
					t.Errorf("From = %q", got.From)
				}
			})
		})
	}
}

func TestChain_A13_ErrorJoinsEveryCause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &fake{name: "a", steps: []step{{class: llm.Temporary}, {class: llm.ContextTooLong}}}
		b := &fake{name: "b", steps: []step{{class: llm.Auth}}}
		_, err := llm.NewChain(members(a, b), llm.Options{}).Generate(t.Context(), llm.Request{}, nil)
		for _, c := range []llm.Class{llm.Temporary, llm.ContextTooLong, llm.Auth} {
			if !llm.HasClass(err, c) {
				t.Errorf("%v isn't told of in %v", c, err)
			}
		}
		if llm.HasClass(err, llm.Timeout) || llm.HasClass(nil, llm.Auth) {
			t.Error("HasClass finds what isn't there")
		}
	})
}

func TestChain_A13_HonoursRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &fake{name: "a", steps: []step{{class: llm.RateLimited, after: 4 * time.Second}, {}}}
		if _, err := llm.NewChain(members(a), llm.Options{}).Generate(t.Context(), llm.Request{}, nil); err != nil {
			t.Fatal(err)
		}
		if wait := a.at[1].Sub(a.at[0]); wait < 4*time.Second || wait > 5*time.Second {
			t.Errorf("waited %v", wait)
		}
	})
}

func TestChain_A13_LongRetryAfterGoesToTheFallback(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &fake{name: "a", steps: []step{{class: llm.RateLimited, after: 20 * time.Second}, {}}}
		b := &fake{name: "b", steps: []step{{}}}
		got, err := llm.NewChain(members(a, b), llm.Options{}).Generate(t.Context(), llm.Request{}, nil)
		if err != nil || got.Text != "from b" || a.calls() != 1 {
			t.Errorf("got %q, %v after %d calls", got.Text, err, a.calls())
		}
		// With nobody else to ask the wait is worth it.
		alone := &fake{name: "a", steps: a.steps}
		if got, err = llm.NewChain(members(alone), llm.Options{}).Generate(t.Context(), llm.Request{}, nil); err != nil || alone.calls() != 2 {
			t.Errorf("got %q, %v after %d calls", got.Text, err, alone.calls())
		}
	})
}

func TestChain_A13_BackoffGrowsWithJitter(t *testing.T) {
	t.Parallel()
	var waits []time.Duration
	opt := llm.Options{
		Attempts: 8, Deadline: time.Hour, Rand: func() float64 { return 0.5 },
		Sleep: func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil },
	}
	a := &fake{name: "a", steps: []step{{class: llm.Temporary}}}
	_, _ = llm.NewChain(members(a), opt).Generate(t.Context(), llm.Request{}, nil)
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	want := []time.Duration{ms(375), ms(750), ms(1500), ms(3000), ms(6000), ms(7500), ms(7500)}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

// A call under way isn't cut by the deadline, and after it every fallback is
// tried exactly once.
func TestChain_A13_DeadlineBoundsRetriesOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := []step{{takes: 25 * time.Second, class: llm.Timeout}}
		a, b, c := &fake{name: "a", steps: slow}, &fake{name: "b", steps: slow}, &fake{name: "c", steps: []step{{takes: 40 * time.Second}}}
		got, err := llm.NewChain(members(a, b, c), llm.Options{}).Generate(t.Context(), llm.Request{}, nil)
		if err != nil || got.Text != "from c" {
			t.Fatalf("got %q, %v", got.Text, err)
		}
		if a.calls() != 2 || b.calls() != 1 || c.calls() != 1 {
			t.Errorf("calls %d, %d, %d", a.calls(), b.calls(), c.calls())
		}
	})
}

func TestChain_A13_FailedModelIsTriedLastForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &fake{name: "a", steps: []step{{class: llm.Auth}, {}}}
		b := &fake{name: "b", steps: []step{{}}}
		chain := llm.NewChain(members(a, b), llm.Options{})
		for i, want := range []string{"from b", "from b", "from a", "from a"} {
			if i == 2 {
				time.Sleep(61 * time.Second) // on synctest's clock
			}
			if got, err := chain.Generate(t.Context(), llm.Request{}, nil); err != nil || got.Text != want {
				t.Errorf("call %d: got %q, %v, want %q", i, got.Text, err, want)
			}
		}
	})
}

func TestChain_BadRequestDoesNotCoolAModelDown(t *testing.T) {
	t.Parallel()
	a := &fake{name: "a", steps: []step{{class: llm.BadRequest}, {}}}
	chain := llm.NewChain(members(a, &fake{name: "b", steps: []step{{}}}), llm.Options{})
	for _, want := range []string{"from b", "from a"} {
		if got, _ := chain.Generate(t.Context(), llm.Request{}, nil); got.Text != want {
			t.Errorf("got %q, want %q", got.Text, want)
		}
	}
}

func TestChain_CancelEndsBackoffAndCalls(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]step{
		"in the wait": {{class: llm.RateLimited, after: 8 * time.Second}},
		"in the call": {{takes: time.Hour}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				a, b := &fake{name: "a", steps: steps}, &fake{name: "b", steps: []step{{}}}
				start := time.Now()
				_, err := llm.NewChain(members(a, b), llm.Options{}).Generate(ctx, llm.Request{}, nil)
				if !llm.HasClass(err, llm.Cancelled) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("err = %v", err)
				}
				if time.Since(start) != time.Second || b.calls() != 0 {
					t.Errorf("took %v, b was called %d times", time.Since(start), b.calls())
				}
			})
		})
	}
}

func TestChain_OpaqueOnlyReachesItsMaker(t *testing.T) {
	t.Parallel()
	sig := json.RawMessage(`{"sig":"x"}`)
	req := llm.Request{Messages: []llm.Message{
		{Role: llm.RoleUser, Text: "hi"},
		{Role: llm.RoleAssistant, From: "a/m", Opaque: sig, Calls: []llm.Call{{ID: "1", Name: "t", Opaque: sig}}},
		{Role: llm.RoleAssistant, From: "b/m", Calls: []llm.Call{{ID: "2", Name: "t", Opaque: sig}, {ID: "3", Name: "u"}}},
		{Role: llm.RoleAssistant, Opaque: sig}, // nobody knows whose
	}}
	before, _ := json.Marshal(req)
	a, b := &fake{name: "a", steps: []step{{class: llm.Auth}}}, &fake{name: "b", steps: []step{{}}}
	if _, err := llm.NewChain(members(a, b), llm.Options{}).Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	has := func(r llm.Request) (out [4]bool) {
		for i, m := range r.Messages {
			out[i] = m.Opaque != nil || len(m.Calls) > 0 && m.Calls[0].Opaque != nil
		}
		return out
	}
	if got := has(a.seen[0]); got != [4]bool{1: true} {
		t.Errorf("a got the opaque fields of %v", got)
	}
	if got := has(b.seen[0]); got != [4]bool{2: true} {
		t.Errorf("b got the opaque fields of %v", got)
	}
	if after, _ := json.Marshal(req); string(after) != string(before) {
		t.Error("the caller's request was changed")
	}
}

func TestChain_MemberMaxTokens(t *testing.T) {
	t.Parallel()
	a, b := &fake{name: "a", steps: []step{{class: llm.Auth}}}, &fake{name: "b", steps: []step{{}}}
	m := members(a, b)
	m[1].MaxTokens = 77
	if _, err := llm.NewChain(m, llm.Options{}).Generate(t.Context(), llm.Request{MaxTokens: 5}, nil); err != nil {
		t.Fatal(err)
	}
	if a.seen[0].MaxTokens != 5 || b.seen[0].MaxTokens != 77 {
		t.Errorf("MaxTokens %d, %d", a.seen[0].MaxTokens, b.seen[0].MaxTokens)
	}
}

func TestChain_NoMembers(t *testing.T) {
	t.Parallel()
	if _, err := llm.NewChain(nil, llm.Options{}).Generate(t.Context(), llm.Request{}, nil); err == nil {
		t.Error("an empty chain answers")
	}
}

func TestChain_ManyAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := &fake{name: "a", steps: []step{{class: llm.Temporary}}}, &fake{name: "b", steps: []step{{}}}
		chain := llm.NewChain(members(a, b), llm.Options{})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if got, err := chain.Generate(t.Context(), llm.Request{}, nil); err != nil || got.Text != "from b" {
					t.Errorf("got %q, %v", got.Text, err)
				}
			})
		}
		wg.Wait()
	})
}
