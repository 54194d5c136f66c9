package llm_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/secret"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"7":                             7 * time.Second,
		" 1.5 ":                         1500 * time.Millisecond,
		"-3":                            0,
		"NaN":                           0,
		"1e300":                         24 * time.Hour,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second,
		"Fri, 02 Jan 2026 03:04:00 GMT": 0,
		"soon":                          0,
	} {
		if got := llm.RetryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
	if got := llm.RetryAfter(http.Header{"Retry-After-Ms": {"250"}, "Retry-After": {"1"}}, now); got != 250*time.Millisecond {
		t.Errorf("milliseconds: got %v", got)
	}
}

func TestClassOfStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]llm.Class{
		400: llm.BadRequest, 401: llm.Auth, 402: llm.Auth, 403: llm.Auth, 404: llm.BadRequest, 408: llm.Timeout, 409: llm.Temporary,
		422: llm.BadRequest, 429: llm.RateLimited, 500: llm.Temporary, 502: llm.Temporary, 503: llm.Overloaded, 504: llm.Timeout, 529: llm.Overloaded,
	} {
		if got := llm.ClassOfStatus(status); got != want {
			t.Errorf("%d: got %s, want %s", status, got, want)
		}
	}
}

func TestRedact_MasksEveryForm(t *testing.T) {
	t.Parallel()
	key := `sk-can"ary/+ 42`
	text := "raw " + key + " query sk-can%22ary%2F%2B+42 path sk-can%22ary%2F+%2042 json sk-can\\\"ary/+ 42 base64 c2stY2FuImFyeS8rIDQy " +
		strings.Repeat("x", 380) + key
	got := llm.Redact("a\n\tb\x00 "+text, secret.New(key), secret.New(""))
	if strings.Contains(got, "ary") || strings.Contains(got, "c2stY2Fu") || !strings.HasPrefix(got, "a b raw *** query *** path *** json *** base64 *** ") {
		t.Errorf("got %q", got)
	}
	if n := len([]rune(got)); n > 500 {
		t.Errorf("%d runes", n)
	}
}

func TestCapped(t *testing.T) {
	t.Parallel()
	if b, err := io.ReadAll(llm.Capped(strings.NewReader("12345"), 5)); err != nil || string(b) != "12345" {
		t.Errorf("at the limit: %q, %v", b, err)
	}
	b, err := io.ReadAll(llm.Capped(strings.NewReader("123456"), 5))
	if err == nil || len(b) > 5 {
		t.Errorf("over it: %q, %v", b, err)
	}
}
