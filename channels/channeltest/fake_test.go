package channeltest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
)

type sinkFunc func(ctx context.Context, in channels.Inbound) error

func (f sinkFunc) Accept(ctx context.Context, in channels.Inbound) error { return f(ctx, in) }

func buttons(n int) []channels.Button {
	out := make([]channels.Button, n)
	for i := range out {
		out[i] = channels.Button{ID: channels.ButtonID("0123456789abcde" + string(rune('a'+i))), Label: "Yes", Value: "yes"}
	}
	return out
}

func TestFake_RefusesWhatACorrectCoreNeverSends(t *testing.T) {
	t.Parallel()
	chat, _ := channeltest.Direct("ana")
	for name, tc := range map[string]struct {
		cfg  channeltest.Config
		part channels.Part
		want string
	}{
		"too long":        {channeltest.TextOnly(), channels.Part{Chat: chat, Text: strings.Repeat("x", 1601)}, "limit is 1600"},
		"utf16":           {channeltest.Rich(), channels.Part{Chat: chat, Text: strings.Repeat("🥐", 2049)}, "text of 4098"},
		"beside buttons":  {channeltest.ButtonsOnly(), channels.Part{Chat: chat, Text: strings.Repeat("x", 1025), Buttons: buttons(2)}, "limit is 1024"},
		"blank":           {channeltest.TextOnly(), channels.Part{Chat: chat, Text: " \n"}, "empty text"},
		"no chat":         {channeltest.TextOnly(), channels.Part{Text: "x"}, "without a chat"},
		"not utf8":        {channeltest.TextOnly(), channels.Part{Chat: chat, Text: "\xff"}, "UTF-8"},
		"foreign markup":  {channeltest.TextOnly(), channels.Part{Chat: chat, Text: "x", Markup: channels.MarkupHTML}, "markup"},
		"no buttons":      {channeltest.TextOnly(), channels.Part{Chat: chat, Text: "x", Buttons: buttons(1)}, "has none"},
		"too many":        {channeltest.ButtonsOnly(), channels.Part{Chat: chat, Text: "x", Buttons: buttons(4)}, "4 buttons"},
		"same id":         {channeltest.Rich(), channels.Part{Chat: chat, Text: "x", Buttons: append(buttons(1), buttons(1)...)}, "one id"},
		"guessable id":    {channeltest.Rich(), channels.Part{Chat: chat, Text: "x", Buttons: []channels.Button{{ID: "yes", Label: "Yes"}}}, "id of 3"},
		"private nowhere": {channeltest.Rich(), channels.Part{Chat: chat, Text: "x", Private: "u"}, "private"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := channeltest.New(tc.cfg)
			_, err := f.Adapter().Send(t.Context(), tc.part)
			if channels.ClassOf(err) != channels.PermanentMessage || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Send = %v, want a permanent refusal with %q", err, tc.want)
			}
			if len(f.Violations()) != 1 || len(f.Messages(chat.ID)) != 0 {
				t.Errorf("violations %q, messages %d; want one and none", f.Violations(), len(f.Messages(chat.ID)))
			}
		})
	}
}

func TestFake_Edits(t *testing.T) {
	t.Parallel()
	f := channeltest.New(channeltest.Rich())
	chat, _ := channeltest.Direct("ana")
	a := f.Adapter()
	sent, err := a.Send(t.Context(), channels.Part{Chat: chat, Text: "sure?", Buttons: buttons(2), Key: "1"})
	if err != nil {
		t.Fatal(err)
	}
	e := a.(channels.Editor)
	steps := []struct {
		id       channels.MessageID
		text     string
		key      string
		violates bool
	}{
		{sent.ID, "sure? → Yes", "2", false},
		{sent.ID, "sure? → Yes", "2", false}, // made again after a crash
		{sent.ID, "sure? → Yes", "3", true},
		{"out-99", "other", "4", true},
	}
	for i, st := range steps {
		before := len(f.Violations())
		err := e.Edit(t.Context(), st.id, channels.Part{Chat: chat, Text: st.text, Key: st.key})
		if (err != nil) != st.violates || (len(f.Violations()) > before) != st.violates {
			t.Errorf("step %d: %v, violations %q", i, err, f.Violations())
		}
	}
	m := f.Messages(chat.ID)[0]
	if m.Text != "sure? → Yes" || len(m.Buttons) != 0 || m.Edits != 1 {
		t.Errorf("message is %+v", m)
	}
}

func TestFake_UnknownOutcomes(t *testing.T) {
	t.Parallel()
	chat, _ := channeltest.Direct("ana")
	for name, tc := range map[string]struct {
		cfg   channeltest.Config
		shown bool
		want  []string // after the part was sent again
	}{
		"delivered, plain":          {channeltest.TextOnly(), true, []string{"x", "x"}},
		"not delivered, plain":      {channeltest.TextOnly(), false, []string{"x"}},
		"delivered, idempotent":     {channeltest.Idempotent(), true, []string{"x"}},
		"not delivered, idempotent": {channeltest.Idempotent(), false, []string{"x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := channeltest.New(tc.cfg)
			f.FailNext(channeltest.Failure{Class: channels.Unknown, Shown: tc.shown})
			part := channels.Part{Chat: chat, Text: "x", Key: "1"}
			if _, err := f.Adapter().Send(t.Context(), part); channels.ClassOf(err) != channels.Unknown {
				t.Fatalf("Send = %v, want an unknown outcome", err)
			}
			if _, err := f.Adapter().Send(t.Context(), part); err != nil {
				t.Fatal(err)
			}
			if got := f.Texts(chat.ID); !slices.Equal(got, tc.want) {
				t.Errorf("shown %q, want %q", got, tc.want)
			}
		})
	}
}

func TestFake_WaitsWithoutSleeping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := channeltest.New(channeltest.Rich())
		chat, ana := channeltest.Direct("ana")
		a := f.Adapter()
		sink := sinkFunc(func(ctx context.Context, in channels.Inbound) error {
			if in.Kind == channels.KindPress {
				return a.(channels.Acker).Ack(ctx, in, channels.PressAck{Outcome: channels.PressAccepted})
			}
			_, err := a.Send(ctx, channels.Part{Chat: chat, Text: "re: " + in.Text, Buttons: buttons(1), Key: string(in.ID)})
			return err
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { // the adapter starts after the person wrote
			<-time.After(time.Minute)
			_ = a.Run(ctx, sink)
		}()
		if _, err := f.Say(ctx, chat, ana, "hi"); err != nil {
			t.Fatal(err)
		}
		if m, err := f.NthMessage(ctx, chat.ID, 1); err != nil || m.Text != "re: hi" {
			t.Errorf("NthMessage = %q, %v", m.Text, err)
		}
		ack, err := f.PressValue(ctx, chat, ana, "yes")
		if err != nil || ack.Outcome != channels.PressAccepted {
			t.Errorf("PressValue = %+v, %v", ack, err)
		}
		if _, err := f.NthAck(ctx, chat.ID, 1); err != nil {
			t.Error(err)
		}
		short, stop := context.WithTimeout(ctx, time.Hour)
		defer stop()
		if _, err := f.NthMessage(short, chat.ID, 2); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting for what never comes: %v", err)
		}
		cancel()
		synctest.Wait()
	})
}

func TestFake_PressMustBeAckedOnce_B20(t *testing.T) {
	t.Parallel()
	for name, acks := range map[string]int{"never": 0, "once": 1, "twice": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := channeltest.New(channeltest.Rich())
			chat, ana := channeltest.Direct("ana")
			a := f.Adapter()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				_ = a.Run(ctx, sinkFunc(func(ctx context.Context, in channels.Inbound) error {
					for range acks {
						_ = a.(channels.Acker).Ack(ctx, in, channels.PressAck{Outcome: channels.PressStale})
					}
					return nil
				}))
			}()
			if _, err := f.Press(ctx, chat, ana, "0123456789abcdef"); err != nil {
				t.Fatal(err)
			}
			if bad := len(f.Violations()) > 0; bad != (acks != 1) {
				t.Errorf("%d acks: violations %q", acks, f.Violations())
			}
		})
	}
}

func TestFake_OverlappingSendsOfOneChat_G5(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := channeltest.New(channeltest.TextOnly())
		chat, _ := channeltest.Direct("ana")
		other, _ := channeltest.Direct("bob")
		hold := make(chan struct{})
		f.FailNext(channeltest.Failure{Chat: chat.ID, Hold: hold})
		first := make(chan error, 1)
		go func() {
			_, err := f.Adapter().Send(t.Context(), channels.Part{Chat: chat, Text: "1"})
			first <- err
		}()
		synctest.Wait()
		if _, err := f.Adapter().Send(t.Context(), channels.Part{Chat: other, Text: "x"}); err != nil {
			t.Errorf("another chat: %v", err)
		}
		if _, err := f.Adapter().Send(t.Context(), channels.Part{Chat: chat, Text: "2"}); err == nil {
			t.Error("two sends of one chat at once were taken")
		}
		close(hold)
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
}

func TestFake_DeliverToAll_B26(t *testing.T) {
	t.Parallel()
	f := channeltest.New(channeltest.Rich())
	chat, ana := channeltest.Direct("ana")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := make(chan channels.MessageID, 4)
	for range 2 {
		a := f.Adapter()
		ready := make(chan struct{})
		go func() {
			close(ready)
			_ = a.Run(ctx, sinkFunc(func(_ context.Context, in channels.Inbound) error {
				got <- in.ID
				return nil
			}))
		}()
		<-ready
	}
	in := channels.Inbound{Kind: channels.KindMessage, ID: "m", Chat: chat, From: ana, Text: "x"}
	if err := f.WaitRunning(ctx, 2); err != nil {
		t.Fatal(err)
	}
	if err := f.DeliverToAll(ctx, in); err != nil {
		t.Fatal(err)
	}
	if a, b := <-got, <-got; a != "m" || b != "m" {
		t.Errorf("received %q and %q", a, b)
	}
}
