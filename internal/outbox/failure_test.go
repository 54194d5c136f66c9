package outbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/parley-bot/parley/channels"
)

func TestJudge_G5_ByClass(t *testing.T) {
	t.Parallel()
	limited := &channels.SendError{Class: channels.RateLimited, After: time.Minute, Err: errors.New("slow down")}
	tests := []struct {
		name       string
		err        error
		entry      Entry
		idempotent bool
		want       verdict // wait is the longest; a fifth less is allowed
		exact      bool    // wait is the shortest instead, or that of a resend
	}{
		{"chat gone", sendErr(channels.PermanentChat), Entry{Kind: Send, Attempts: 1}, false, verdict{do: doFail}, false},
		{"message refused", sendErr(channels.PermanentMessage), Entry{Kind: Send, Attempts: 1}, false, verdict{do: doFail}, false},
		{"message refused after a doubtful try", sendErr(channels.PermanentMessage), Entry{Kind: Send, Attempts: 2, Maybe: true}, false, verdict{do: doFail, unknown: true}, false},
		{"temporary", sendErr(channels.Temporary), Entry{Kind: Send, Attempts: 1}, false, verdict{do: doRetry, wait: time.Second}, false},
		{"temporary again", sendErr(channels.Temporary), Entry{Kind: Send, Attempts: 4}, false, verdict{do: doRetry, wait: 8 * time.Second}, false},
		{"temporary for hours", sendErr(channels.Temporary), Entry{Kind: Send, Attempts: 400}, false, verdict{do: doRetry, wait: 5 * time.Minute}, false},
		{"temporary after a doubtful try", sendErr(channels.Temporary), Entry{Kind: Send, Attempts: 2, Maybe: true}, false, verdict{do: doRetry, wait: 2 * time.Second}, false},
		{"limited with a time", limited, Entry{Kind: Send, Attempts: 1}, false, verdict{do: doRetry, wait: time.Minute}, true},
		{"limited without", sendErr(channels.RateLimited), Entry{Kind: Send, Attempts: 2}, false, verdict{do: doRetry, wait: 2 * time.Second}, false},
		{"unknown", sendErr(channels.Unknown), Entry{Kind: Send, Attempts: 1}, false, verdict{do: doRetry, wait: resendWait, unknown: true}, true},
		{"unknown twice", sendErr(channels.Unknown), Entry{Kind: Send, Attempts: 2, Maybe: true}, false, verdict{do: doFail, unknown: true}, false},
		{"unknown, key known", sendErr(channels.Unknown), Entry{Kind: Send, Attempts: 9, Maybe: true}, true, verdict{do: doRetry, wait: 256 * time.Second, unknown: true}, false},
		{"error of no class", errors.New("EOF"), Entry{Kind: Send, Attempts: 1}, false, verdict{do: doRetry, wait: resendWait, unknown: true}, true},
		{"wrapped", fmt.Errorf("sending: %w", sendErr(channels.PermanentChat)), Entry{Kind: Send, Attempts: 1}, false, verdict{do: doFail}, false},
		{"panic, key known", &panicked{"x"}, Entry{Kind: Send, Attempts: maxTries, Maybe: true}, true, verdict{do: doFail, unknown: true}, false},
		{"edit, unknown", sendErr(channels.Unknown), Entry{Kind: Edit, Attempts: 2, Maybe: true}, false, verdict{do: doRetry, wait: 2 * time.Second, unknown: true}, false},
		{"answer that ends a draft, unknown for long", sendErr(channels.Unknown), Entry{Kind: Finish, Attempts: 400, Maybe: true}, false, verdict{do: doRetry, wait: 5 * time.Minute, unknown: true}, false},
		{"the same, panic", &panicked{"x"}, Entry{Kind: Finish, Attempts: maxTries, Maybe: true}, false, verdict{do: doFail, unknown: true}, false},
		{"edit, unknown for ever", sendErr(channels.Unknown), Entry{Kind: Edit, Attempts: maxTries, Maybe: true}, false, verdict{do: doFail, unknown: true}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for range 100 { // the jitter
				got := judge(tt.entry, tt.err, tt.idempotent)
				if got.do != tt.want.do || got.unknown != tt.want.unknown || got.cause == "" {
					t.Fatalf("judge = %+v, want %+v and a cause", got, tt.want)
				}
				if got.do != doRetry {
					continue
				}
				low, high := tt.want.wait*4/5-1, tt.want.wait
				if tt.exact {
					low, high = tt.want.wait, tt.want.wait*11/10+100*time.Millisecond
				}
				if tt.want.wait == resendWait {
					high = resendWait + resendSpread
				}
				if got.wait < low || got.wait > high {
					t.Fatalf("wait = %v, want %v to %v", got.wait, low, high)
				}
			}
		})
	}
}

// A crash cuts a send short without a word: the entry comes back with one more
// doubt, and after two it is not sent a third time.
func TestDeliver_G5_AtMostOneResendOverCrashes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		entry  Entry
		caps   channels.Capabilities
		resend bool
	}{
		{"first", Entry{Kind: Send, Doubts: 0}, channels.Capabilities{}, true},
		{"one resend", Entry{Kind: Send, Doubts: 1, Maybe: true}, channels.Capabilities{}, true},
		{"no third", Entry{Kind: Send, Doubts: 2, Maybe: true}, channels.Capabilities{}, false},
		{"the platform knows the key", Entry{Kind: Send, Doubts: 5, Maybe: true}, channels.Capabilities{Idempotent: true}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			o := New(Config{}, Deps{Store: newStore(), Adapters: map[string]channels.Adapter{"c": countingAdapter{tt.caps, &calls}}})
			o.Start(t.Context())
			out := o.accounts["c"].deliver(tt.entry)
			if err := o.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if sent := calls == 1; sent != tt.resend {
				t.Fatalf("platform calls %d, want sent %v", calls, tt.resend)
			}
			if !tt.resend && (out.verdict.do != doFail || !out.verdict.unknown) {
				t.Fatalf("verdict %+v, want failed as unknown", out.verdict)
			}
		})
	}
}

type countingAdapter struct {
	caps  channels.Capabilities
	calls *int
}

func (a countingAdapter) Capabilities(channels.Chat) channels.Capabilities { return a.caps }

func (a countingAdapter) Run(ctx context.Context, _ channels.Sink) error { <-ctx.Done(); return nil }

func (a countingAdapter) Send(context.Context, channels.Part) (channels.Receipt, error) {
	*a.calls++
	return channels.Receipt{ID: "1"}, nil
}

func TestOutbox_PermanentFailureMovesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a := &fakeAdapter{answer: func(_ context.Context, p channels.Part) error {
			if p.Text != "two" {
				return sendErr(channels.PermanentMessage)
			}
			return nil
		}}
		var failed []Failure
		o := startWith(t, Config{}, Deps{Store: s, Adapters: map[string]channels.Adapter{"tg": a}, OnFailed: func(f Failure) { failed = append(failed, f) }})
		s.say("tg", "c", "one", "two", "may I?")
		o.Wake("tg", "tg:c")
		synctest.Wait()
		if got := a.texts("c"); len(got) != 3 {
			t.Errorf("sent %v, want each once and at once", got)
		}
		want := []Failure{{Lane: "tg:c", Ready: true, Tool: "place_order"}}
		if diff := cmp.Diff(want, failed); diff != "" {
			t.Errorf("cancelled turns (-want +got):\n%s", diff)
		}
	})
}

func TestOutbox_RefusedMarkupIsSentPlain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a := &fakeAdapter{answer: func(_ context.Context, p channels.Part) error {
			if p.Markup != channels.MarkupPlain {
				return sendErr(channels.PermanentMessage)
			}
			return nil
		}}
		o := start(t, Config{}, s, map[string]channels.Adapter{"tg": a})
		s.add("tg", "c", Entry{Kind: Send, Part: channels.Part{Chat: channels.Chat{ID: "c"}, Text: "<b>x", Markup: channels.MarkupHTML, Plain: "x"}})
		o.Wake("tg", "tg:c")
		synctest.Wait()
		if got := a.texts("c"); !cmp.Equal(got, []string{"<b>x", "x"}) {
			t.Errorf("sent %v", got)
		}
		if left := s.left("sent"); left != nil {
			t.Error(left)
		}
	})
}

func TestOutbox_G5_UnknownOutcomeIsRepeatedOnceOrWithItsKey(t *testing.T) {
	t.Parallel()
	for _, idempotent := range []bool{false, true} {
		t.Run(fmt.Sprint("idempotent=", idempotent), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStore()
				a := &fakeAdapter{caps: channels.Capabilities{Idempotent: idempotent}}
				a.answer = func(ctx context.Context, _ channels.Part) error {
					if len(a.texts("")) >= 5 {
						return nil
					}
					<-ctx.Done() // the platform doesn't answer
					return ctx.Err()
				}
				o := start(t, Config{SendTimeout: 30 * time.Second}, s, map[string]channels.Adapter{"tg": a})
				e := s.say("tg", "c", "x")
				o.Wake("tg", "tg:c")
				time.Sleep(29 * time.Second)
				synctest.Wait()
				if st := s.entry(e).state; st != "sending" {
					t.Errorf("after 29 s: %s", st)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				got, state, tries := s.entry(e), "failed", 2
				if idempotent {
					state, tries = "sent", 5
				}
				if got.state != state || len(a.parts) != tries || got.unknown == idempotent {
					t.Errorf("%s after %d tries, unknown %v; want %s after %d", got.state, len(a.parts), got.unknown, state, tries)
				}
				for _, p := range a.parts {
					if p.Key != a.parts[0].Key || p.Key == "" {
						t.Errorf("keys differ: %q and %q", p.Key, a.parts[0].Key)
					}
				}
			})
		})
	}
}

func TestOutbox_PanicIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a := &fakeAdapter{answer: func(_ context.Context, p channels.Part) error {
			if p.Text == "bad" {
				panic("PIN 4711")
			}
			return nil
		}}
		var out bytes.Buffer
		o := startWith(t, Config{}, Deps{Store: s, Adapters: map[string]channels.Adapter{"tg": a}, Log: slog.New(slog.NewTextHandler(&out, nil))})
		e := s.say("tg", "c", "bad")
		s.say("tg", "c", "good")
		o.Wake("tg", "tg:c")
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := s.entry(e); got.state != "failed" || !got.unknown {
			t.Errorf("entry is %s, unknown %v", got.state, got.unknown)
		}
		if got := a.texts("c"); !cmp.Equal(got, []string{"bad", "bad", "good"}) {
			t.Errorf("sent %v", got)
		}
		if strings.Contains(out.String(), "4711") {
			t.Error("the log quotes what was panicked with")
		}
	})
}

func TestOutbox_G5_RetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		begun := time.Now()
		var at []time.Duration
		a := &fakeAdapter{answer: func(_ context.Context, p channels.Part) error {
			if p.Chat.ID != "c" {
				return nil
			}
			at = append(at, time.Since(begun))
			if len(at) == 1 {
				return &channels.SendError{Class: channels.RateLimited, After: 40 * time.Second, Err: errors.New("slow down")}
			}
			return nil
		}}
		o := start(t, Config{}, s, map[string]channels.Adapter{"tg": a})
		s.say("tg", "c", "one", "two")
		o.Wake("tg", "tg:c")
		synctest.Wait()
		s.say("tg", "d", "other")
		o.Wake("tg", "tg:d")
		o.Wake("tg", "tg:c")
		synctest.Wait()
		if len(a.texts("d")) != 1 {
			t.Error("one limited chat held another")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(at) != 3 || at[1] < 40*time.Second || at[1] > 45*time.Second {
			t.Errorf("sends at %v, want the second at 40 s to 44.1 s", at)
		}
	})
}

func TestOutbox_ManyLimitedChatsPauseTheAccount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		var limit atomic.Bool
		limit.Store(true)
		a := &fakeAdapter{answer: func(context.Context, channels.Part) error {
			if limit.Load() {
				return &channels.SendError{Class: channels.RateLimited, After: 20 * time.Second, Err: errors.New("slow down")}
			}
			return nil
		}}
		o := start(t, Config{Senders: 1}, s, map[string]channels.Adapter{"tg": a})
		for i := range 50 {
			s.say("tg", fmt.Sprint(i), "x")
			o.Wake("tg", fmt.Sprint("tg:", i))
		}
		time.Sleep(19 * time.Second)
		synctest.Wait()
		if n := len(a.texts("")); n != 3 {
			t.Errorf("%d calls while the account is limited, want 3", n)
		}
		limit.Store(false)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if left := s.left("sent"); left != nil {
			t.Errorf("left: %v", left)
		}
	})
}

func TestOutbox_RefusedCredentialsHoldUntilMaxAge(t *testing.T) {
	t.Parallel()
	for _, comesBack := range []bool{true, false} {
		t.Run(fmt.Sprint("comes back: ", comesBack), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStore()
				var refuse atomic.Bool
				refuse.Store(true)
				a := &fakeAdapter{answer: func(context.Context, channels.Part) error {
					if refuse.Load() {
						return sendErr(channels.PermanentToken)
					}
					return nil
				}}
				reg := prometheus.NewPedanticRegistry()
				o := startWith(t, Config{Senders: 4}, Deps{Store: s, Adapters: map[string]channels.Adapter{"tg": a}, Registerer: reg})
				for i := range 20 {
					s.say("tg", fmt.Sprint(i), "x")
					o.Wake("tg", fmt.Sprint("tg:", i))
				}
				time.Sleep(12 * time.Hour)
				synctest.Wait()
				// Every pause but the first are about 5 m long.
				if n := len(a.texts("")); n > 4*12*16 {
					t.Errorf("%d calls in 12 hours with refused credentials", n)
				}
				if left := s.left("queued"); left != nil {
					t.Errorf("not held: %v", left)
				}
				want := "failed"
				if comesBack {
					refuse.Store(false)
					want = "sent"
					time.Sleep(10 * time.Minute)
				} else {
					time.Sleep(13 * time.Hour)
				}
				synctest.Wait()
				if left := s.left(want); left != nil {
					t.Errorf("want all %s: %v", want, left)
				}
				if n := testutil.ToFloat64(o.metrics.sends.WithLabelValues("tg", outExpired)); !comesBack && n != 20 {
					t.Errorf("%v dead letters counted, want 20", n)
				}
			})
		})
	}
}

func TestOutbox_G5_TooOldIsGivenUpOnTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a := &fakeAdapter{answer: func(context.Context, channels.Part) error {
			return &channels.SendError{Class: channels.RateLimited, After: 100 * time.Hour, Err: errors.New("flood")}
		}}
		var out bytes.Buffer
		o := startWith(t, Config{MaxAge: time.Hour}, Deps{Store: s, Adapters: map[string]channels.Adapter{"tg": a}, Log: slog.New(slog.NewTextHandler(&out, nil))})
		e := s.say("tg", "c", "x")
		o.Wake("tg", "tg:c")
		time.Sleep(time.Hour + 2*time.Second)
		synctest.Wait()
		if got := s.entry(e); got.state != "failed" || len(a.parts) != 1 {
			t.Errorf("entry is %s after %d calls", got.state, len(a.parts))
		}
		if !strings.Contains(out.String(), "given up") {
			t.Error("a dead letter isn't logged")
		}
	})
}

func TestOutbox_EditsNeverMatter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		adapter channels.Adapter
		target  channels.MessageID
		want    string
		edits   int
	}{
		{"done", &fakeEditor{}, "m7", "sent", 1},
		{"no editor", &fakeAdapter{}, "m7", "failed", 0},
		{"nothing to edit", &fakeEditor{}, "", "failed", 0},
		{"message gone", &fakeEditor{edit: func(channels.MessageID, channels.Part) error { return sendErr(channels.PermanentMessage) }}, "m7", "failed", 1},
		{"unknown for ever", &fakeEditor{edit: func(channels.MessageID, channels.Part) error { return errors.New("EOF") }}, "m7", "failed", maxTries},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStore()
				var out bytes.Buffer
				o := startWith(t, Config{}, Deps{Store: s, Adapters: map[string]channels.Adapter{"tg": tt.adapter}, Log: slog.New(slog.NewTextHandler(&out, nil))})
				e := s.add("tg", "c", Entry{Kind: Edit, Target: tt.target, Part: channels.Part{Text: "Sure? → Yes"}})
				next := s.say("tg", "c", "next")
				o.Wake("tg", "tg:c")
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				if got := s.entry(e).state; got != tt.want {
					t.Errorf("edit is %s, want %s", got, tt.want)
				}
				if got := s.entry(next).state; got != "sent" {
					t.Errorf("what follows is %s", got)
				}
				if ed, ok := tt.adapter.(*fakeEditor); ok && len(ed.edits) != tt.edits {
					t.Errorf("edits: %v, want %d", ed.edits, tt.edits)
				}
				if strings.Contains(out.String(), "level=ERROR") {
					t.Errorf("an edit that failed is an error in the log: %s", out.String())
				}
			})
		})
	}
}

func TestOutbox_G9_OutcomeIsKeptWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a := new(fakeAdapter)
		o := start(t, Config{}, s, map[string]channels.Adapter{"tg": a})
		synctest.Wait()
		s.set(func(s *fakeStore) { s.noSent = errors.New("disk full") })
		o.Take(s.born("tg", "c", "one"))
		s.say("tg", "c", "two")
		for range 60 {
			time.Sleep(time.Second)
			o.Wake("tg", "tg:c")
		}
		synctest.Wait()
		if got := a.texts("c"); !cmp.Equal(got, []string{"one"}) {
			t.Errorf("sent %v, want the first once and nothing else", got)
		}
		if n := s.calls["sent"]; n > 10 {
			t.Errorf("%d tries to save in a minute", n)
		}
		s.set(func(s *fakeStore) { s.noSent = nil })
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if got := a.texts("c"); !cmp.Equal(got, []string{"one", "two"}) {
			t.Errorf("sent %v", got)
		}
		if left := s.left("sent"); left != nil {
			t.Error(left)
		}
	})
}

func TestOutbox_G9_ReadingIsRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		a := new(fakeAdapter)
		s.away = errors.New("disk full")
		o := start(t, Config{}, s, map[string]channels.Adapter{"tg": a})
		s.say("tg", "c", "one")
		o.Wake("tg", "tg:c")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := s.calls["next"]; n > 40 {
			t.Errorf("%d tries to read in 10 minutes", n)
		}
		s.set(func(s *fakeStore) { s.away = nil })
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if left := s.left("sent"); left != nil {
			t.Error(left)
		}
	})
}
