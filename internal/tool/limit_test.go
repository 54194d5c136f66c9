package tool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

type runFunc func(ctx context.Context, call Call) (Result, error)

func (f runFunc) Run(ctx context.Context, call Call) (Result, error) { return f(ctx, call) }

func errorCode(t *testing.T, r Result) string {
	t.Helper()
	var v struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(r.Value, &v); err != nil {
		t.Fatalf("value %s: %v", r.Value, err)
	}
	return v.Error
}

func TestRunLimited_A5_AbortsAtTheTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(time.Second)
		start := time.Now()
		var cause error
		res, err := l.RunLimited(t.Context(), runFunc(func(ctx context.Context, _ Call) (Result, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return Result{}, ctx.Err()
		}), Call{}, 15*time.Second)
		if err != nil || !res.Failed || !res.TimedOut || errorCode(t, res) != "timeout" {
			t.Errorf("result %+v, error %v", res, err)
		}
		if !errors.Is(cause, ErrTimeout) {
			t.Errorf("cause = %v", cause)
		}
		if d := time.Since(start); d != 15*time.Second {
			t.Errorf("took %s", d)
		}
		if l.Abandoned() != 0 {
			t.Error("counted as abandoned although it came back")
		}
	})
}

func TestRunLimited_A5_LeavesOneThatDoesntComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(time.Second)
		release := make(chan struct{})
		start := time.Now()
		res, err := l.RunLimited(t.Context(), runFunc(func(context.Context, Call) (Result, error) {
			<-release
			return Result{}, nil
		}), Call{}, 2*time.Second)
		if err != nil || !res.TimedOut || time.Since(start) != 3*time.Second {
			t.Errorf("result %+v, error %v after %s", res, err, time.Since(start))
		}
		if l.Abandoned() != 1 {
			t.Errorf("abandoned = %d, want 1", l.Abandoned())
		}
		close(release)
		synctest.Wait()
		if l.Abandoned() != 0 {
			t.Errorf("abandoned = %d after it came back", l.Abandoned())
		}
	})
}

func TestRunLimited_TakesAResultGivenInTheGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		res, err := NewLimiter(time.Second).RunLimited(t.Context(), runFunc(func(ctx context.Context, _ Call) (Result, error) {
			<-ctx.Done()
			return Result{Value: json.RawMessage(`"done"`)}, nil
		}), Call{}, time.Second)
		if err != nil || res.Failed || string(res.Value) != `"done"` {
			t.Errorf("result %+v, error %v", res, err)
		}
	})
}

func TestRunLimited_NoTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		res, err := NewLimiter(0).RunLimited(t.Context(), runFunc(func(ctx context.Context, _ Call) (Result, error) {
			time.Sleep(time.Hour)
			return Result{}, ctx.Err()
		}), Call{}, 0)
		if err != nil || res.Failed {
			t.Errorf("result %+v, error %v", res, err)
		}
	})
}

func TestRunLimited_B5_AbortedByTheCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		res, err := NewLimiter(0).RunLimited(ctx, runFunc(func(ctx context.Context, _ Call) (Result, error) {
			cancel()
			<-ctx.Done()
			return Result{}, ctx.Err()
		}), Call{}, time.Minute)
		if err != nil || !res.Failed || res.TimedOut || errorCode(t, res) != "aborted" {
			t.Errorf("result %+v, error %v", res, err)
		}
	})
}

func TestRunLimited_PanicIsTheOperatorsError(t *testing.T) {
	t.Parallel()
	_, err := NewLimiter(0).RunLimited(t.Context(), runFunc(func(context.Context, Call) (Result, error) {
		panic("boom")
	}), Call{}, time.Minute)
	p, ok := errors.AsType[*PanicError](err)
	if !ok || p.Value != "boom" || !strings.Contains(string(p.Stack), "limit_test.go") {
		t.Errorf("error = %v", err)
	}
}

func TestContent_A7(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ value, want string }{
		"string":   {`"hola \"Ana\"\n"`, "hola \"Ana\"\n"},
		"empty":    {`""`, ""},
		"no value": {``, "ok"},
		"object":   {`{ "a": [1, 2] }`, `{"a":[1,2]}`},
		"null":     {`null`, `null`},
		"number":   {`1.0`, `1.0`},
		"html":     {`{"a":"<b>"}`, `{"a":"<b>"}`},
	} {
		if got := Content(Result{Value: json.RawMessage(c.value)}, 0); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestContent_E5_CutIsMarkedBetweenCharacters(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 40_000)
	v, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{0, 100, 101, 31, 30, 5, 1} {
		got := Content(Result{Value: v}, limit)
		if limit == 0 {
			limit = DefaultOutputCap
		}
		if len(got) > limit || !utf8.ValidString(got) {
			t.Errorf("limit %d: %d bytes, valid %v", limit, len(got), utf8.ValidString(got))
		}
		if limit >= 100 && !strings.HasSuffix(got, "[cut: the whole is 80000 bytes]") {
			t.Errorf("limit %d: not marked: %q", limit, got[len(got)-40:])
		}
	}
	if got := Cut("short", 5); got != "short" {
		t.Errorf("Cut at the limit = %q", got)
	}
}

func TestFail(t *testing.T) {
	t.Parallel()
	r := Fail("timeout", map[string]any{"message": "<b>"})
	if !r.Failed || string(r.Value) != `{"error":"timeout","message":"<b>"}` {
		t.Errorf("%+v %s", r, r.Value)
	}
	if r = Fail("x", map[string]any{"f": func() {}}); string(r.Value) != `{"error":"x"}` {
		t.Errorf("%s", r.Value)
	}
}

// What a panic carries may be a credential or a person's words.
func TestPanicError_TellsTypesNotValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		value func() any
		want  string
	}{
		{"text", func() any { return "key-1234" }, "the tool panicked with a string"},
		{"error", func() any { return errors.New("postgres://user:key-1234@db") }, "the tool panicked with a *errors.errorString"},
		{"runtime", func() (v any) {
			defer func() { v = recover() }()
			v = "no number"
			return v.(int)
		}, "the tool panicked: interface conversion: interface {} is string, not int"},
	} {
		if got := (&PanicError{Value: tt.value()}).Error(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
