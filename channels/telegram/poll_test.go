package telegram_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/telegram"
	"github.com/parley-bot/parley/channels/telegram/telegramtest"
	"github.com/parley-bot/parley/internal/secret"
)

var errAway = errors.New("the store is away")

func TestPoll_G1_OffsetMovesAfterTheCommitOnly(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	unconfirmed := make(chan int, 64)
	b.SetRest(func(ctx context.Context, _ time.Duration) error {
		unconfirmed <- len(b.fake.Unconfirmed())
		return ctx.Err()
	})
	b.sink.fail(nil, errAway, errAway)
	for _, text := range []string{"one", "two", "three"} {
		b.fake.Say(ana, text, nil)
	}
	b.run()
	for _, want := range []string{"one", "two", "three"} {
		if in := b.next(); in.Text != want {
			t.Errorf("received %q, want %q", in.Text, want)
		}
	}
	b.confirmed()
	for range 2 {
		if n := <-unconfirmed; n != 3 {
			t.Errorf("%d updates unconfirmed while the core refuses one of three, want 3", n)
		}
	}
}

func TestPoll_G6_NoFurtherPollWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for range 40 { // more often than a failing core is borne
		b.sink.fail(&channels.RefusedError{Reason: channels.RefusedUnavailable, After: 5 * time.Second})
	}
	b.fake.Say(ana, "hi", nil)
	b.run()
	b.next()
	b.confirmed()
	polls := 0
	for _, c := range b.fake.Calls("getUpdates") {
		if c.Int("offset") == 0 {
			polls++
		}
	}
	if polls != 1 {
		t.Errorf("%d polls before the message was stored, want 1", polls)
	}
	for range 40 {
		if d := <-b.rests; d < 5*time.Second {
			t.Errorf("waited %s, want what the core asked for", d)
		}
	}
}

func TestPoll_G3_OffsetSurvivesARestart(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.fake.Say(ana, "before", nil)
	stop := b.run()
	b.next()
	b.confirmed()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	last := b.fake.Calls("getUpdates")
	b.restart(telegram.Config{Token: secret.New(telegramtest.Token), APIURL: b.fake.URL()})
	b.fake.Say(ana, "after", nil)
	b.run()
	if in := b.next(); in.Text != "after" {
		t.Errorf("received %q", in.Text)
	}
	b.confirmed()
	if first := b.fake.Calls("getUpdates")[len(last)]; first.Int("offset") == 0 {
		t.Error("the new process polled without the saved offset")
	}
}

// After a week without updates their ids begin anew. An offset above them
// would confirm what nobody has seen.
func TestPoll_AnOldOffsetIsForgotten(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.fake.SetNextUpdate(900_000)
	b.fake.Say(ana, "before", nil)
	stop := b.run()
	b.next()
	b.confirmed()
	_ = stop()
	b.SetNow(func() time.Time { return time.Now().Add(8 * 24 * time.Hour) })
	b.fake.SetNextUpdate(5)
	b.fake.Say(ana, "after", nil)
	b.run()
	if in := b.next(); in.Text != "after" {
		t.Errorf("received %q", in.Text)
	}
	b.confirmed()
}

func TestPoll_Mistake06_AnotherPoller(t *testing.T) {
	t.Parallel()
	conflict := telegramtest.Fault{Method: "getUpdates", Code: 409, Description: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"}
	t.Run("once is borne", func(t *testing.T) {
		t.Parallel()
		b := newBed(t)
		b.fake.Script(conflict)
		b.fake.Say(ana, "hi", nil)
		b.run()
		b.next()
		b.confirmed()
		if d := <-b.rests; d <= 0 {
			t.Errorf("polled again after %s", d)
		}
	})
	t.Run("for ever is named", func(t *testing.T) {
		t.Parallel()
		b := newBed(t)
		conflict := conflict
		conflict.Times = 1000
		b.fake.Script(conflict)
		err := b.ends()
		if err == nil || !strings.Contains(err.Error(), "another process polls with the token of channels.tg") {
			t.Errorf("Run returned %v", err)
		}
		// Started again it is down at once.
		before := len(b.fake.Calls("getUpdates"))
		if err := b.ends(); err == nil || len(b.fake.Calls("getUpdates")) != before+1 {
			t.Errorf("Run returned %v after %d polls, want 1", err, len(b.fake.Calls("getUpdates"))-before)
		}
	})
}

func TestPoll_Mistake06_AnActiveWebhookIsDeleted(t *testing.T) {
	t.Parallel()
	b := newBed(t, webhook)
	if err := b.RegisterWebhook(t.Context(), "https://old.example.com/hook"); err != nil {
		t.Fatal(err)
	}
	b.restart(telegram.Config{Token: secret.New(telegramtest.Token), APIURL: b.fake.URL()})
	b.run()
	b.wait("not deleted", func() bool { return len(b.fake.Calls("deleteWebhook")) == 1 })
	b.fake.Say(ana, "hi", nil)
	b.next()
	b.confirmed()
	if c := b.fake.Calls("deleteWebhook")[0]; c.Params["drop_pending_updates"] == true {
		t.Error("waiting updates were dropped")
	}
	if !strings.Contains(b.logs.String(), "a webhook is set for this bot, which polls: deleting it") {
		t.Error("nothing was said about it")
	}
}

func TestPoll_Mistake08_PoisonIsSkipped(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.fake.Push("message", map[string]any{"message_id": "not a number", "text": []int{1}})
	b.fake.Push("brand_new_kind", map[string]any{"x": 1})
	b.fake.Push("message", map[string]any{"message_id": 5})
	b.fake.Say(ana, "good", map[string]any{"forward_origin": map[string]any{"type": "brand_new"}})
	b.run()
	if in := b.next(); in.Text != "good" {
		t.Errorf("received %q", in.Text)
	}
	b.confirmed()
}

func TestPoll_Mistake08_ACoreThatFailsAtOneMessage(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for range telegram.MaxTries {
		b.sink.fail(errors.New("panic of type string"))
	}
	b.fake.Say(ana, "poison", nil)
	b.fake.Say(ana, "good", nil)
	b.run()
	if in := b.next(); in.Text != "good" {
		t.Errorf("received %q", in.Text)
	}
	b.confirmed()
	if !strings.Contains(b.logs.String(), "update is given up") {
		t.Error("nothing was said about it")
	}
}

func TestPoll_RefusedForGoodIsConfirmed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.sink.fail(&channels.RefusedError{Reason: channels.RefusedBlank}, &channels.RefusedError{Reason: channels.RefusedInvalid})
	for _, text := range []string{"a", "b", "c"} {
		b.fake.Say(ana, text, nil)
	}
	b.run()
	if in := b.next(); in.Text != "c" {
		t.Errorf("received %q", in.Text)
	}
	b.confirmed()
}

func TestPoll_Failures(t *testing.T) {
	t.Parallel()
	t.Run("rate limit is heeded", func(t *testing.T) {
		t.Parallel()
		b := newBed(t)
		b.fake.Script(telegramtest.Fault{Method: "getUpdates", Code: 429, RetryAfter: 17, Description: "Too Many Requests"})
		b.fake.Say(ana, "hi", nil)
		b.run()
		b.next()
		if d := <-b.rests; d != 17*time.Second {
			t.Errorf("waited %s", d)
		}
	})
	t.Run("nonsense and outages are waited for", func(t *testing.T) {
		t.Parallel()
		b := newBed(t)
		b.fake.Script(
			telegramtest.Fault{Method: "getUpdates", Status: 502, Raw: "<html>"},
			telegramtest.Fault{Method: "getUpdates", Raw: `{"ok":true,"result":{}}`},
			telegramtest.Fault{Method: "getUpdates", Raw: `{"ok":true,"result":[{"message":{}}]}`},
			telegramtest.Fault{Method: "getUpdates", Drop: true},
		)
		b.fake.Say(ana, "hi", nil)
		b.run()
		b.next()
		if len(b.rests) != 4 {
			t.Errorf("waited %d times", len(b.rests))
		}
	})
	t.Run("a minute is too long", func(t *testing.T) {
		t.Parallel()
		b := newBed(t)
		now := time.Now()
		b.SetNow(func() time.Time { return now })
		b.SetRest(func(context.Context, time.Duration) error { now = now.Add(20 * time.Second); return nil })
		b.fake.Script(telegramtest.Fault{Method: "getUpdates", Status: 502, Raw: "<html>", Times: 100})
		err := b.ends()
		if err == nil || !strings.Contains(err.Error(), "polling has failed for 1m0s") {
			t.Errorf("Run returned %v", err)
		}
	})
	t.Run("token", func(t *testing.T) {
		t.Parallel()
		b := newBed(t)
		b.fake.RevokeToken()
		err := b.ends()
		if err == nil || !strings.Contains(err.Error(), "check channels.tg.token") || strings.Contains(err.Error(), telegramtest.Token) {
			t.Errorf("Run returned %v", err)
		}
	})
}

func TestPoll_StateThatFailsLosesNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.host.Fail(errAway)
	b.fake.Say(ana, "hi", nil)
	b.run()
	b.next()
	b.confirmed()
}

// What was taken of a batch is not delivered again when the process stops in
// the middle of it.
func TestPoll_G7_StoppedWithinABatch(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	refused := make(chan struct{})
	b.SetRest(func(ctx context.Context, _ time.Duration) error {
		close(refused)
		<-ctx.Done()
		return ctx.Err()
	})
	b.sink.fail(nil, errAway)
	b.fake.Say(ana, "one", nil)
	b.fake.Say(ana, "two", nil)
	stop := b.run()
	b.next()
	<-refused
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	b.restart(cfgFor(b))
	b.run()
	if in := b.next(); in.Text != "two" {
		t.Errorf("received %q", in.Text)
	}
	b.confirmed()
	b.nothing()
}

// silent is a connection that died without a sign: its first poll is never
// answered. The second brings an update.
type silent struct{ polls chan time.Time }

func (s *silent) RoundTrip(r *http.Request) (*http.Response, error) {
	body := `{"ok":true,"result":true}`
	switch {
	case !strings.HasSuffix(r.URL.Path, "/getUpdates"):
	case len(s.polls) == cap(s.polls):
		<-r.Context().Done()
		return nil, r.Context().Err()
	default:
		s.polls <- time.Now()
		if len(s.polls) == 1 {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		body = `{"ok":true,"result":[` + update + `]}`
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// A poll that hangs for ever while the process looks well is given up.
func TestPoll_ADeadConnectionIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rt := &silent{polls: make(chan time.Time, 2)}
		a, err := telegram.New(telegram.Config{Token: secret.New(telegramtest.Token)}, telegram.Deps{
			Host: channeltest.NewHost(), Log: slog.New(slog.DiscardHandler), Name: "tg", Transport: rt,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		s := newSink()
		ended := make(chan error, 1)
		go func() { ended <- a.Run(ctx, s) }()
		synctest.Wait()
		time.Sleep(2 * time.Minute) // the bubble's
		synctest.Wait()
		if len(rt.polls) != 2 {
			t.Fatalf("%d polls within two minutes", len(rt.polls))
		}
		if first, second := <-rt.polls, <-rt.polls; second.Sub(first) > time.Minute {
			t.Errorf("given up after %s", second.Sub(first))
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if len(s.got) != 1 {
			t.Errorf("%d messages received, want 1", len(s.got))
		}
	})
}
