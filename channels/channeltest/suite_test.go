package channeltest_test

import (
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
)

func TestSuite_Fake(t *testing.T) {
	configs := map[string]channeltest.Config{
		"rich": channeltest.Rich(), "buttons": channeltest.ButtonsOnly(),
		"text": channeltest.TextOnly(), "idempotent": channeltest.Idempotent(),
	}
	for name, cfg := range configs {
		t.Run(name, func(t *testing.T) {
			channeltest.Run(t, channeltest.Setup{New: func(t *testing.T) channeltest.Case { return fakeCase(t, cfg) }})
		})
	}
}

func fakeCase(t *testing.T, cfg channeltest.Config) channeltest.Case {
	t.Helper()
	cfg.Report = t.Errorf
	f := channeltest.New(cfg)
	chat, ana := channeltest.Direct("ana")
	c := channeltest.Case{
		Adapter: f.Adapter(),
		Chat:    chat,
		Deliver: func(t *testing.T, id, text string) bool {
			return f.Deliver(t.Context(), channels.Inbound{
				Kind: channels.KindMessage, ID: channels.MessageID(id), Chat: chat, From: ana, Text: text,
			}) == nil
		},
		Calls: func() int { return len(f.Events()) },
		Shown: func() []string { return f.Texts(chat.ID) },
		Fail: func(fault channeltest.Fault) bool {
			class, ok := map[channeltest.Fault]channels.SendClass{
				channeltest.FaultBlocked: channels.PermanentChat, channeltest.FaultToken: channels.PermanentToken,
				channeltest.FaultRate: channels.RateLimited, channeltest.FaultServer: channels.Temporary,
				channeltest.FaultLost: channels.Unknown,
			}[fault]
			if ok {
				fail := channeltest.Failure{Class: class}
				if fault == channeltest.FaultRate {
					fail.After = channeltest.FaultAfter
				}
				f.FailNext(fail)
			}
			return ok
		},
		Secrets: []string{"canary"},
	}
	if cfg.Caps.Buttons != nil {
		c.Press = func(t *testing.T, button channels.ButtonID) bool {
			ack, err := f.Press(t.Context(), chat, ana, button)
			return err == nil && (!cfg.Acks || ack.Outcome == channels.PressAccepted)
		}
	}
	return c
}

func TestHost_StateIsCompareAndSet(t *testing.T) {
	t.Parallel()
	s, ctx := channeltest.NewHost().State(), t.Context()
	steps := []struct {
		old, value []byte
		want       bool
		now        string
	}{
		{[]byte("x"), []byte("y"), false, ""},
		{nil, []byte("a"), true, "a"},
		{nil, []byte("b"), false, "a"},
		{[]byte("a"), []byte("b"), true, "b"},
		{[]byte("a"), nil, false, "b"},
		{[]byte("b"), nil, true, ""},
		{nil, []byte{}, true, ""},
		{nil, []byte("c"), false, ""},
		{[]byte{}, []byte("c"), true, "c"},
	}
	for i, st := range steps {
		ok, err := s.Swap(ctx, "k", st.old, st.value)
		got, _ := s.Get(ctx, "k")
		if err != nil || ok != st.want || string(got) != st.now {
			t.Fatalf("step %d: Swap = %v, %v, then %q; want %v, then %q", i, ok, err, got, st.want, st.now)
		}
	}
	if _, err := s.Swap(ctx, "big", nil, make([]byte, 64<<10+1)); err == nil {
		t.Error("a value over 64 KiB was taken")
	}
}

func TestHost_LogAndWatch(t *testing.T) {
	t.Parallel()
	h, chat := channeltest.NewHost(), channels.Chat{ID: "c"}
	grown, stop := h.Watch(chat)
	for range 3 {
		h.Append(chat, channels.LogEntry{From: channels.FromBot, Text: "x"})
	}
	h.Append(channels.Chat{ID: "other"}, channels.LogEntry{Text: "y"})
	<-grown
	select {
	case <-grown:
		t.Error("two signals where there is room for one")
	default:
	}
	got, err := h.Log(t.Context(), chat, 1, 1)
	if err != nil || len(got) != 1 || got[0].N != 2 || got[0].At.After(time.Now()) {
		t.Errorf("Log = %+v, %v; want entry 2 alone", got, err)
	}
	if stop(); h.Watchers(chat) != 0 {
		t.Error("a watch that was stopped is still there")
	}
}
