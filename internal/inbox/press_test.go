package inbox

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/locale"
)

func TestPress_B20_AcknowledgedOnceWithItsOutcome(t *testing.T) {
	t.Parallel()
	tests := []struct {
		outcome Outcome
		lang    string
		want    channels.PressAck
	}{
		{AnsweredQuestion, "", channels.PressAck{Outcome: channels.PressAccepted}},
		{Stale, "", channels.PressAck{Outcome: channels.PressStale}},
		{NotYours, "", channels.PressAck{Outcome: channels.PressNotYours, Notice: "Only the person who was asked can answer this."}},
		{NotYours, "es", channels.PressAck{Outcome: channels.PressNotYours, Notice: "es"}},
	}
	for _, tt := range tests {
		t.Run(string(tt.outcome)+tt.lang, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, Config{})
				if tt.want.Notice == "es" {
					tt.want.Notice = b.inbox.deps.Texts.Text("es", locale.NotYours)
				}
				a := new(fakeAcker)
				a.ack = func(channels.PressAck) error {
					if len(b.hooks) != 0 {
						t.Error("the queue came before the acknowledgement")
					}
					return nil
				}
				b.store.answer = func(d Delivery) (Accepted, error) {
					if d.In.Button != "tok.y" || d.Answers || len(a.acks) != 0 {
						t.Errorf("delivery %+v after %d acks", d, len(a.acks))
					}
					time.Sleep(bareAfter - time.Millisecond)
					return Accepted{Outcome: tt.outcome, Wake: tt.outcome == AnsweredQuestion}, nil
				}
				b.mustAccept(a, channels.Inbound{Kind: channels.KindPress, Button: "tok.y", From: channels.User{ID: "u", Lang: tt.lang}})
				time.Sleep(time.Minute)
				synctest.Wait()
				if diff := cmp.Diff([]channels.PressAck{tt.want}, a.acks); diff != "" {
					t.Errorf("acks (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestPress_B20_BareAfterASecond(t *testing.T) {
	t.Parallel()
	for _, commit := range []time.Duration{1500 * time.Millisecond, 10 * time.Second} {
		t.Run(commit.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, Config{})
				begun := time.Now()
				var at, left time.Duration
				a := new(fakeAcker)
				a.ack = func(channels.PressAck) error {
					at = time.Since(begun)
					time.Sleep(2 * time.Second)
					left = time.Since(begun)
					return nil
				}
				b.store.answer = func(Delivery) (Accepted, error) {
					time.Sleep(commit)
					return Accepted{Outcome: AnsweredQuestion, Wake: true}, nil
				}
				b.mustAccept(a, channels.Inbound{Kind: channels.KindPress, Button: "tok.y"})
				if took := time.Since(begun); took < left {
					t.Errorf("Accept returned after %v, the acknowledgement after %v", took, left)
				}
				if diff := cmp.Diff([]channels.PressAck{{Outcome: channels.PressPending}}, a.acks); diff != "" || at != time.Second {
					t.Errorf("acks at %v (-want +got):\n%s", at, diff)
				}
				if len(b.hooks) != 1 {
					t.Errorf("hooks %v", b.hooks)
				}
			})
		})
	}
}

func TestPress_NoAcknowledgementWhenTheStoreFails(t *testing.T) {
	t.Parallel()
	for _, slow := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, Config{})
			a := new(fakeAcker)
			b.store.answer = func(Delivery) (Accepted, error) {
				if slow {
					time.Sleep(3 * time.Second)
				}
				return Accepted{}, errors.New("disk full")
			}
			if b.accept(a, channels.Inbound{Kind: channels.KindPress, Button: "tok.y"}) == nil {
				t.Error("no error")
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			var want []channels.PressAck
			if slow {
				want = []channels.PressAck{{Outcome: channels.PressPending}}
			}
			if diff := cmp.Diff(want, a.acks); diff != "" {
				t.Errorf("slow %v (-want +got):\n%s", slow, diff)
			}
		})
	}
}

func TestPress_PanicOfTheStoreLeavesNoTimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Config{})
		a := new(fakeAcker)
		b.store.answer = func(Delivery) (Accepted, error) { panic("bug") }
		if b.accept(a, channels.Inbound{Kind: channels.KindPress, Button: "tok.y"}) == nil {
			t.Error("no error")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(a.acks) != 0 {
			t.Errorf("acks %v", a.acks)
		}
	})
}

func TestPress_FailedAcknowledgementChangesNothing(t *testing.T) {
	t.Parallel()
	for name, ack := range map[string]func(channels.PressAck) error{
		"error": func(channels.PressAck) error { return errors.New("query is too old") },
		"panic": func(channels.PressAck) error { panic("bug") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, Config{})
			a := &fakeAcker{ack: ack}
			b.store.answer = func(Delivery) (Accepted, error) { return Accepted{Outcome: AnsweredQuestion, Wake: true}, nil }
			b.mustAccept(a, channels.Inbound{Kind: channels.KindPress, Button: "tok.y"})
			if len(a.acks) != 1 || len(b.hooks) != 1 {
				t.Errorf("%d acks, hooks %v", len(a.acks), b.hooks)
			}
		})
	}
}

type ctxAcker struct {
	fakeAcker
	err error
}

func (a *ctxAcker) Ack(ctx context.Context, in channels.Inbound, ack channels.PressAck) error {
	a.err = ctx.Err()
	return a.fakeAcker.Ack(ctx, in, ack)
}

func TestPress_AcknowledgedThoughItsRequestIsGone(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	b.store.answer = func(Delivery) (Accepted, error) {
		cancel()
		return Accepted{Outcome: AnsweredQuestion}, nil
	}
	a := new(ctxAcker)
	in := channels.Inbound{Kind: channels.KindPress, ID: "1", Chat: channels.Chat{ID: "c"}, From: channels.User{ID: "u"}, Button: "tok.y"}
	if err := b.inbox.Sink("tg", a).Accept(ctx, in); err != nil || len(a.acks) != 1 || a.err != nil {
		t.Errorf("Accept = %v, %d acks, their context: %v", err, len(a.acks), a.err)
	}
}

func TestPress_B12_WhoMayNotWriteMayNotPress(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{Channels: map[string]Policy{"tg": {Allow: []channels.UserID{"owner"}}}})
	a := new(fakeAcker)
	b.mustAccept(a, channels.Inbound{Kind: channels.KindPress, Button: "tok.y"})
	if len(b.store.deliveries) != 0 || len(a.acks) != 1 || a.acks[0].Outcome != channels.PressNotYours {
		t.Errorf("%d deliveries, acks %v", len(b.store.deliveries), a.acks)
	}
}

func TestPress_AdapterWithoutAcknowledgements(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{})
	b.store.answer = func(Delivery) (Accepted, error) { return Accepted{Outcome: AnsweredQuestion, Wake: true}, nil }
	b.mustAccept(new(fakeAdapter), channels.Inbound{Kind: channels.KindPress, Button: "tok.y"})
	if len(b.hooks) != 1 {
		t.Errorf("hooks %v", b.hooks)
	}
}
