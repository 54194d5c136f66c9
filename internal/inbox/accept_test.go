package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/locale"
)

func reasonOf(err error) channels.RefusedReason {
	if r, ok := errors.AsType[*channels.RefusedError](err); ok {
		return r.Reason
	}
	return ""
}

func TestAccept_RefusesWhatCannotBeAMessage(t *testing.T) {
	t.Parallel()
	text := func(s string) channels.Inbound { return channels.Inbound{Text: s} }
	tests := []struct {
		name string
		in   channels.Inbound
		want channels.RefusedReason
	}{
		{"text", text("hi"), ""},
		{"blank", text(" \t\n"), channels.RefusedBlank},
		{"nothing to see", text("\u200b\u2060\u00ad\ufeff\u2800\u3164\ufe0f"), channels.RefusedBlank},
		{"only NUL", text("\x00"), channels.RefusedBlank},
		{"emoji", text("👍🏽"), ""},
		{"not UTF-8", text("a\xffb"), channels.RefusedInvalid},
		{"id not UTF-8", channels.Inbound{ID: "\xff", Text: "x"}, channels.RefusedInvalid},
		{"id with NUL", channels.Inbound{From: channels.User{ID: "a\x00"}, Text: "x"}, channels.RefusedInvalid},
		{"huge id", channels.Inbound{Chat: channels.Chat{ID: channels.ChatID(strings.Repeat("x", 600))}, Text: "x"}, channels.RefusedInvalid},
		{"huge thread", channels.Inbound{Chat: channels.Chat{Thread: channels.ThreadID(strings.Repeat("x", 600))}, Text: "x"}, channels.RefusedInvalid},
		{"unknown kind", channels.Inbound{Kind: "poke", Text: "x"}, channels.RefusedInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, Config{})
			err := b.accept(new(fakeAdapter), tt.in)
			if got := reasonOf(err); got != tt.want || (err == nil) != (tt.want == "") {
				t.Errorf("Accept = %v, want reason %q", err, tt.want)
			}
			if kept := len(b.store.deliveries); kept != 0 && tt.want != "" {
				t.Error("a refused message reached the store")
			}
		})
	}
	t.Run("no ids", func(t *testing.T) {
		t.Parallel()
		b := newBed(t, Config{})
		if got := reasonOf(b.inbox.Sink("tg", new(fakeAdapter)).Accept(t.Context(), channels.Inbound{Kind: channels.KindMessage, Text: "x"})); got != channels.RefusedInvalid {
			t.Errorf("reason %q", got)
		}
	})
}

func TestAccept_WhatOnlyDescribesIsMadeRight(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{})
	claims := map[string]string{"phone": "+1", "bad": "\xff"}
	in := channels.Inbound{
		Text: "a\x00b", ReplyTo: "\xff", From: channels.User{ID: "u", Name: "An\xffa" + strings.Repeat("é", 400), Claims: claims},
		Media: slices.Repeat([]channels.Media{{Type: "image", Ref: strings.Repeat("r", 5000)}}, 50),
	}
	b.mustAccept(new(fakeAdapter), in)
	got := b.store.deliveries[0].In
	if got.Text != "ab" || got.ReplyTo != "" || !strings.HasPrefix(got.From.Name, "Anaé") || len(got.From.Name) > maxName {
		t.Errorf("stored %+v", got)
	}
	if diff := cmp.Diff(map[string]string{"phone": "+1"}, got.From.Claims); diff != "" || len(claims) != 2 {
		t.Errorf("claims (-want +got), and the adapter's own must stay:\n%s", diff)
	}
	if len(got.Media) != maxMedia || got.Media[0].Ref != "" {
		t.Errorf("%d media, first %+v", len(got.Media), got.Media[0])
	}
}

func TestAccept_PlaceAndKeys(t *testing.T) {
	t.Parallel()
	group := channels.Chat{ID: "g", Group: true}
	topic := channels.Chat{ID: "g", Group: true, Thread: "7"}
	tests := []struct {
		name   string
		policy Policy
		in     channels.Inbound
		lane   string
		key    string
	}{
		{"private", Policy{}, channels.Inbound{ID: "1"}, "tg:c", "tg:tg:c:message:1"},
		{"private with a topic", Policy{}, channels.Inbound{ID: "1", Chat: channels.Chat{ID: "c", Thread: "7"}}, "tg:c:7", "tg:tg:c:message:1"},
		{"group, own sessions", Policy{}, channels.Inbound{ID: "1", Chat: group, Mentioned: true}, "tg:g:u", "tg:tg:g:message:1"},
		{"group, one session", Policy{Shared: true}, channels.Inbound{ID: "1", Chat: group, Mentioned: true}, "tg:g", "tg:tg:g:message:1"},
		{"topic, own sessions", Policy{}, channels.Inbound{ID: "1", Chat: topic, Mentioned: true}, "tg:g:7:u", "tg:tg:g:message:1"},
		{"topic, one session", Policy{Shared: true}, channels.Inbound{ID: "1", Chat: topic, Mentioned: true}, "tg:g:7", "tg:tg:g:message:1"},
		{"colons", Policy{}, channels.Inbound{ID: "1:2", Chat: channels.Chat{ID: "a:b", Thread: "c:d%"}}, "tg:a:b:c%3Ad%25", "tg:tg:a%3Ab:message:1%3A2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, Config{Channels: map[string]Policy{"tg": tt.policy}})
			tt.in.Text = "hi"
			b.mustAccept(new(fakeAdapter), tt.in)
			d := b.store.deliveries[0]
			if d.Place.Lane != tt.lane || d.DedupeKey != tt.key {
				t.Errorf("lane %q, key %q; want %q, %q", d.Place.Lane, d.DedupeKey, tt.lane, tt.key)
			}
			if want := "tg:" + string(d.In.Chat.ID); d.Place.ChatKey != want || d.Place.Channel != "tg" || d.Place.Chat != d.In.Chat {
				t.Errorf("place %+v, want chat key %q", d.Place, want)
			}
		})
	}
}

func TestAccept_WhoMayWriteAndWhatIsMeantForTheBot(t *testing.T) {
	t.Parallel()
	group := channels.Chat{ID: "g", Group: true}
	only := func(u ...channels.UserID) []channels.UserID { return u }
	tests := []struct {
		name    string
		policy  Policy
		in      channels.Inbound
		reaches bool
		routed  bool
	}{
		{"everybody in private", Policy{}, channels.Inbound{}, true, true},
		{"listed", Policy{Allow: only("u", "v")}, channels.Inbound{}, true, true},
		{"not listed", Policy{Allow: only("v")}, channels.Inbound{}, false, false},
		{"nobody is listed", Policy{Allow: []channels.UserID{}}, channels.Inbound{}, false, false},
		{"not listed, in a group", Policy{Allow: only("v")}, channels.Inbound{Chat: group, Mentioned: true}, false, false},
		{"group, mentioned", Policy{}, channels.Inbound{Chat: group, Mentioned: true}, true, true},
		{"group, not mentioned", Policy{}, channels.Inbound{Chat: group}, true, false},
		{"group, all", Policy{All: true}, channels.Inbound{Chat: group}, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, Config{Channels: map[string]Policy{"tg": tt.policy}})
			tt.in.Text = "yes"
			b.mustAccept(new(fakeAdapter), tt.in)
			if reached := len(b.store.deliveries) == 1; reached != tt.reaches {
				t.Fatalf("reached the store: %v, want %v", reached, tt.reaches)
			}
			if tt.reaches {
				if d := b.store.deliveries[0]; d.Routed != tt.routed || !d.Answers || d.Class != confirm.Yes {
					t.Errorf("routed %v, answers %v, class %v", d.Routed, d.Answers, d.Class)
				}
			} else if n := testutil.ToFloat64(b.inbox.metrics.messages.WithLabelValues("tg", "ignored")); n != 1 {
				t.Errorf("%v counted as ignored", n)
			}
		})
	}
}

func TestAccept_B3_EditNeverAnswers(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{})
	b.mustAccept(new(fakeAdapter), channels.Inbound{Kind: channels.KindEdit, Text: "yes", EditStamp: "2"})
	if len(b.store.deliveries)+len(b.store.commands) != 0 {
		t.Error("an edit reached the store")
	}
	if n := testutil.ToFloat64(b.inbox.metrics.messages.WithLabelValues("tg", "ignored")); n != 1 {
		t.Errorf("%v counted as ignored", n)
	}
}

func TestAccept_B3_MediaIsNoticedAtOnceAndAnswersNothing(t *testing.T) {
	t.Parallel()
	voice := []channels.Media{{Type: "audio"}}
	b := newBed(t, Config{})
	b.mustAccept(new(fakeAdapter), channels.Inbound{Media: voice, From: channels.User{ID: "u", Lang: "es"}})
	if len(b.store.deliveries) != 0 || len(b.store.commands) != 1 {
		t.Fatalf("%d deliveries, %d commands; want the notice only", len(b.store.deliveries), len(b.store.commands))
	}
	c := b.store.commands[0]
	want := b.inbox.deps.Texts.Media("es", "audio")
	if c.Action != ActSay || !slices.Equal(textsOf(c.Say), []string{want}) {
		t.Errorf("action %s, says %q, want %q", c.Action, textsOf(c.Say), want)
	}
	b.mustAccept(new(fakeAdapter), channels.Inbound{Media: voice, Text: "yes"})
	if len(b.store.deliveries) != 1 || !b.store.deliveries[0].Answers {
		t.Error("a caption must answer")
	}
	b.mustAccept(new(fakeAdapter), channels.Inbound{Media: voice, Chat: channels.Chat{ID: "g", Group: true}})
	if len(b.store.commands) != 1 {
		t.Error("a file in a group that isn't for the bot got a notice")
	}
}

func TestAccept_TooLarge(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("é", 51)
	b := newBed(t, Config{MessageBytes: 100})
	err := b.accept(&fakeAdapter{channels.Capabilities{Refuses: true}}, channels.Inbound{Text: big})
	if reasonOf(err) != channels.RefusedTooLarge || len(b.store.commands)+len(b.store.deliveries) != 0 {
		t.Errorf("where the sender sees it: %v", err)
	}
	for range 2 { // delivered again: said once, by the dedupe key
		b.mustAccept(new(fakeAdapter), channels.Inbound{ID: "same", Text: big})
	}
	if len(b.store.deliveries) != 0 || b.store.commands[0].In.Text != "" || b.store.commands[0].DedupeKey != b.store.commands[1].DedupeKey {
		t.Errorf("commands: %+v", b.store.commands)
	}
	if want := b.inbox.deps.Texts.Text("en", locale.LimitTooLarge); textsOf(b.store.commands[0].Say)[0] != want {
		t.Errorf("said %q", textsOf(b.store.commands[0].Say))
	}
	b.mustAccept(new(fakeAdapter), channels.Inbound{Text: big, Chat: channels.Chat{ID: "g", Group: true}})
	if len(b.store.commands) != 2 {
		t.Error("a long text in a group that isn't for the bot got a notice")
	}
	b.mustAccept(new(fakeAdapter), channels.Inbound{Text: strings.Repeat("é", 50)})
	if len(b.store.deliveries) != 1 {
		t.Error("a text at the limit wasn't taken")
	}
	if got := newBed(t, Config{}).inbox.maxBytes(); got != 16<<10 {
		t.Errorf("default %d", got)
	}
}

func TestAccept_G6_PerUserLimit(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	b := newBed(t, Config{PerUser: Rate{N: 3, Per: time.Minute}, QueueMax: 50}, func(d *Deps) { d.Now = func() time.Time { return now } })
	a := new(fakeAdapter)
	over := func() (got []string) {
		for _, d := range b.store.deliveries {
			switch {
			case d.OverRate && len(d.RateNotice) > 0:
				got = append(got, "notice")
			case d.OverRate:
				got = append(got, "over")
			default:
				got = append(got, "ok")
			}
		}
		b.store.deliveries = nil
		return got
	}
	for range 6 {
		b.mustAccept(a, channels.Inbound{Text: "hi"})
	}
	b.mustAccept(a, channels.Inbound{Text: "hi", From: channels.User{ID: "other"}})
	if diff := cmp.Diff([]string{"ok", "ok", "ok", "notice", "over", "over", "ok"}, over()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.mustAccept(a, channels.Inbound{Text: "/help"})
	b.mustAccept(a, channels.Inbound{Kind: channels.KindPress, Button: "x"})
	if d := b.store.deliveries; len(b.store.commands) != 1 || len(d) != 1 || d[0].OverRate {
		t.Error("commands and presses must not be limited")
	}
	b.store.deliveries = nil
	// Media and over-long texts are limited too: their notices would flood.
	for range 3 {
		b.mustAccept(a, channels.Inbound{Media: []channels.Media{{Type: "sticker"}}})
	}
	if len(b.store.commands) != 1 {
		t.Errorf("%d notices past the limit", len(b.store.commands)-1)
	}
	now = now.Add(time.Minute)
	for range 4 {
		b.mustAccept(a, channels.Inbound{Text: "hi"})
	}
	if diff := cmp.Diff([]string{"ok", "ok", "ok", "notice"}, over()); diff != "" {
		t.Errorf("next window (-want +got):\n%s", diff)
	}
}

func TestAccept_G6_AnswersAndRepeatsDoNotCount(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{PerUser: Rate{N: 2, Per: time.Minute}}, func(d *Deps) { d.Now = func() time.Time { return time.Unix(0, 0) } })
	a := new(fakeAdapter)
	b.store.answer = func(Delivery) (Accepted, error) { return Accepted{Outcome: AnsweredQuestion}, nil }
	for range 5 {
		b.mustAccept(a, channels.Inbound{Text: "yes"})
	}
	b.store.answer = func(Delivery) (Accepted, error) { return Accepted{}, errors.New("disk full") }
	for range 5 {
		if b.accept(a, channels.Inbound{Text: "hi"}) == nil {
			t.Fatal("no error")
		}
	}
	b.store.answer = nil
	for range 5 {
		b.mustAccept(a, channels.Inbound{ID: "same", Text: "hi"})
	}
	b.mustAccept(a, channels.Inbound{Text: "hi"})
	for i, d := range b.store.deliveries {
		if d.OverRate {
			t.Errorf("delivery %d is over the limit", i)
		}
	}
	b.mustAccept(a, channels.Inbound{Text: "one too many"})
	if d := b.store.deliveries; !d[len(d)-1].OverRate {
		t.Error("the limit doesn't hold")
	}
}

func TestAccept_G6_ChannelsThatRefuseSayWhenToComeAgain(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	b := newBed(t, Config{PerUser: Rate{N: 1, Per: time.Minute}, QueueMax: 50}, func(d *Deps) { d.Now = func() time.Time { return now } })
	a := &fakeAdapter{channels.Capabilities{Refuses: true}}
	b.mustAccept(a, channels.Inbound{Text: "hi"})
	now = now.Add(20 * time.Second)
	for _, in := range []channels.Inbound{{Text: "hi"}, {Media: []channels.Media{{Type: "image"}}}} {
		refused, ok := errors.AsType[*channels.RefusedError](b.accept(a, in))
		if !ok || refused.Reason != channels.RefusedRate || refused.After != 40*time.Second {
			t.Errorf("refused %+v, want rate after 40 s", refused)
		}
	}
	d := b.store.deliveries[1]
	if !d.Refuse || d.RateNotice != nil || d.QueueNotice != nil || d.QueueMax != 50 {
		t.Errorf("delivery %+v", d)
	}
}

func TestAccept_NoticesAreRenderedForTheChat(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{QueueMax: 5})
	b.mustAccept(&fakeAdapter{channels.Capabilities{TextMax: 20}}, channels.Inbound{Text: "hi", Chat: channels.Chat{ID: "c", Thread: "t"}})
	parts := b.store.deliveries[0].QueueNotice
	if len(parts) < 2 {
		t.Fatalf("%d parts", len(parts))
	}
	for _, p := range parts {
		if len([]rune(p.Text)) > 20 || p.Chat != (channels.Chat{ID: "c", Thread: "t"}) {
			t.Errorf("part %+v", p)
		}
	}
}

func TestAccept_F1_Language(t *testing.T) {
	t.Parallel()
	tests := []struct{ set, from, notice, kept string }{
		{"", "es-MX", "es", "es"},
		{"", "", "en", "en"},
		{"", "xx-unknown", "en", "en"},
		{"es", "en", "es", "en"},
		{"en", "es", "en", "es"},
	}
	for _, tt := range tests {
		t.Run(tt.set+"/"+tt.from, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, Config{QueueMax: 5})
			b.store.langs["tg:c"] = tt.set
			for range 3 {
				b.mustAccept(new(fakeAdapter), channels.Inbound{Text: "hi", From: channels.User{ID: "u", Lang: tt.from}})
			}
			d := b.store.deliveries[2]
			if want := b.inbox.deps.Texts.Text(tt.notice, locale.LimitQueue); textsOf(d.QueueNotice)[0] != want {
				t.Errorf("notice %q, want %q", textsOf(d.QueueNotice), want)
			}
			if d.In.From.Lang != tt.kept {
				t.Errorf("stored language %q, want %q", d.In.From.Lang, tt.kept)
			}
			if b.store.langAsked != 1 {
				t.Errorf("the store was asked %d times", b.store.langAsked)
			}
		})
	}
}

// Two processes on one database: what /lang sets in one is seen by the other
// within seconds.
func TestAccept_F1_LanguageSetByAnotherProcess(t *testing.T) {
	t.Parallel()
	now := time.Now()
	clock := func(d *Deps) { d.Now = func() time.Time { return now } }
	one, other := newBed(t, Config{QueueMax: 5}, clock), newBed(t, Config{QueueMax: 5}, clock)
	other.store = one.store
	other.inbox.deps.Store = one.store
	other.n = 100
	notice := func() string {
		t.Helper()
		other.mustAccept(new(fakeAdapter), channels.Inbound{Text: "hi"})
		return textsOf(one.store.deliveries[len(one.store.deliveries)-1].QueueNotice)[0]
	}
	before := notice()
	one.mustAccept(new(fakeAdapter), channels.Inbound{Text: "/lang es"})
	now = now.Add(5 * time.Second)
	if after := notice(); before == after || after != one.inbox.deps.Texts.Text("es", locale.LimitQueue) {
		t.Errorf("%q, then %q", before, after)
	}
}

func TestAccept_HooksAfterTheCommit(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{})
	a := new(fakeAdapter)
	b.store.answer = func(Delivery) (Accepted, error) {
		if len(b.hooks) != 0 {
			t.Error("a hook was called before the commit")
		}
		return Accepted{Outcome: AnsweredQuestion, Lane: "tg:c:asker", Wake: true, Cut: true, Speak: true, Logged: true,
			Resolved: &Resolved{Tool: "place_order", Outcome: "approved", Waited: time.Second}}, nil
	}
	b.mustAccept(a, channels.Inbound{Text: "yes"})
	want := []string{"cut tg:c:asker", "wake tg:c:asker", "speak tg tg:c", "logged tg:c"}
	if diff := cmp.Diff(want, b.hooks); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
	if n := testutil.ToFloat64(b.inbox.metrics.confirms.WithLabelValues("place_order", "approved")); n != 1 {
		t.Errorf("%v approvals counted", n)
	}
	b.hooks, b.store.answer = nil, nil
	b.mustAccept(a, channels.Inbound{ID: "x", Text: "hi"})
	b.mustAccept(a, channels.Inbound{ID: "x", Text: "hi"})
	if diff := cmp.Diff([]string{"wake tg:c", "logged tg:c"}, b.hooks); diff != "" {
		t.Errorf("the second delivery must call none (-want +got):\n%s", diff)
	}
	if n := testutil.ToFloat64(b.inbox.metrics.duplicates.WithLabelValues("tg")); n != 1 {
		t.Errorf("%v duplicates counted", n)
	}
}

func TestAccept_G9_StoreErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("row is damaged")
	tests := []struct {
		name  string
		err   error
		want  channels.RefusedReason
		after time.Duration
		label string
	}{
		{"can't write", fmt.Errorf("committing: %w", ErrUnavailable), channels.RefusedUnavailable, unavailableFor, "unavailable"},
		{"queue full", &channels.RefusedError{Reason: channels.RefusedQueueFull, After: time.Second}, channels.RefusedQueueFull, time.Second, "queue_full"},
		{"else", broken, "", 0, "error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, in := range []channels.Inbound{{Text: "hi"}, {Text: "/reset"}, {Kind: channels.KindPress, Button: "b"}, {Media: []channels.Media{{}}}} {
				b := newBed(t, Config{})
				b.store.err = tt.err
				err := b.accept(new(fakeAdapter), in)
				refused, ok := errors.AsType[*channels.RefusedError](err)
				if ok != (tt.want != "") || ok && (refused.Reason != tt.want || refused.After != tt.after) || !errors.Is(err, tt.err) {
					t.Errorf("%s %q: %v", in.Kind, in.Text, err)
				}
				if n := testutil.ToFloat64(b.inbox.metrics.messages.WithLabelValues("tg", tt.label)); n != 1 || len(b.hooks) != 0 {
					t.Errorf("%v counted as %s, hooks %v", n, tt.label, b.hooks)
				}
			}
		})
	}
}

type panicAdapter struct{ fakeAdapter }

func (*panicAdapter) Capabilities(channels.Chat) channels.Capabilities { panic("PIN 4711") }

func TestAccept_PanicDoesNotEscape(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{})
	err := b.accept(new(panicAdapter), channels.Inbound{Text: "hi"})
	if err == nil || strings.Contains(err.Error(), "4711") {
		t.Errorf("Accept = %v, want an error that doesn't quote", err)
	}
}

func TestMetrics_NoChatNoUserAndSeriesFromTheStart(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	b := newBed(t, Config{Channels: map[string]Policy{"tg": {}}}, func(d *Deps) { d.Registerer, d.Tools = reg, []string{"place_order"} })
	before, err := testutil.GatherAndCount(reg)
	if err != nil {
		t.Fatal(err)
	}
	b.inbox.Asked("place_order")
	b.inbox.Ended("place_order", "expired", time.Minute)
	for _, in := range []channels.Inbound{{Text: "hi"}, {Text: ""}, {Text: "/help"}, {Kind: channels.KindPress, Button: "b"}, {Kind: channels.KindEdit, Text: "x"}} {
		in.Chat.ID, in.From.ID = "secret-chat", "secret-user"
		_ = b.accept(new(fakeAdapter), in)
	}
	after, err := testutil.GatherAndCount(reg)
	if err != nil || after != before {
		t.Errorf("%d series became %d (%v): all must exist from the start", before, after, err)
	}
	families, _ := reg.Gather()
	for _, f := range families {
		if strings.Contains(f.String(), "secret") {
			t.Errorf("a chat or a user is a label of %s", f.GetName())
		}
	}
	if _, err := New(Config{}, Deps{Registerer: reg}); err == nil {
		t.Error("registering twice gave no error")
	}
}

func TestLimiter_MemoryIsBounded(t *testing.T) {
	t.Parallel()
	l := newLimiter(Rate{N: 1, Per: time.Hour}, time.Now)
	for i := range 3 * maxWindows {
		l.take("tg", channels.UserID(fmt.Sprint(i)))
		l.take("tg", "regular")
	}
	if n := len(l.young) + len(l.old); n > maxWindows {
		t.Errorf("%d windows are kept, want %d at the most", n, maxWindows)
	}
	if !l.take("tg", "regular").over {
		t.Error("a flood of new people made the limiter forget one who writes all the time")
	}
}

func TestLimiter_NoticeThatWasNotGivenIsGivenLater(t *testing.T) {
	t.Parallel()
	l := newLimiter(Rate{N: 1, Per: time.Hour}, func() time.Time { return time.Unix(0, 0) })
	l.take("tg", "u")
	first := l.take("tg", "u")
	l.undo(first)
	if again := l.take("tg", "u"); !first.first || !again.first || l.take("tg", "u").first {
		t.Errorf("first %+v, again %+v", first, again)
	}
}

func TestLimiter_ClockThatGoesBackLocksNobodyOut(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	l := newLimiter(Rate{N: 1, Per: time.Minute}, func() time.Time { return now })
	l.take("tg", "u")
	now = now.Add(-time.Hour)
	if l.take("tg", "u").over {
		t.Error("the window lasts until the clock is back where it was")
	}
}

func TestAccept_G1_WhatCannotBeKeptIsLeftOut(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{})
	claims := map[string]string{}
	for i := range 500 {
		claims[fmt.Sprintf("c%03d", i)] = "x"
	}
	noon := time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC)
	for i, tt := range []struct{ at, kept time.Time }{
		{time.Unix(1<<40, 0), time.Time{}},
		{time.Unix(-1<<40, 0), time.Time{}},
		{noon.In(time.FixedZone("", 30*60*60)), noon},
		{noon, noon},
		{time.Time{}, time.Time{}},
	} {
		b.mustAccept(new(fakeAdapter), channels.Inbound{Text: "hi", At: tt.at, From: channels.User{ID: "u", Claims: claims}})
		in := b.store.deliveries[i].In
		if in.At != tt.kept || len(in.From.Claims) != maxClaims || in.From.Claims["c000"] != "x" {
			t.Errorf("%v: kept %v and %d claims", tt.at, in.At, len(in.From.Claims))
		}
	}
	if len(claims) != 500 {
		t.Error("the adapter's own claims were changed")
	}
	long := strings.Repeat(":", maxID)
	err := b.accept(new(fakeAdapter), channels.Inbound{Text: "hi", ID: channels.MessageID(long), Chat: channels.Chat{ID: channels.ChatID(long)}})
	if refused, ok := errors.AsType[*channels.RefusedError](err); !ok || refused.Reason != channels.RefusedInvalid {
		t.Errorf("ids that no index takes: %v", err)
	}
}

func TestMemo_BoundedAndNotForEver(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	c := newMemo[string, string](func() time.Time { return now })
	for i := range 3 * maxMemo {
		c.set(fmt.Sprint(i), "es")
	}
	if n := len(c.young) + len(c.old); n > maxMemo {
		t.Errorf("%d kept", n)
	}
	c.set("a", "es")
	if lang, ok := c.get("a"); lang != "es" || !ok {
		t.Errorf("%q, %v", lang, ok)
	}
	now = now.Add(memoAge)
	if _, ok := c.get("a"); ok {
		t.Error("what another replica changes would never be seen")
	}
}

// FuzzAccept: no message makes Accept panic, and what is stored is sound.
func FuzzAccept(f *testing.F) {
	f.Add("message", "1", "c", "t", "u", "hello", "b", true, true)
	f.Add("press", "1", "a:b", "", "u%", "", "x.y", false, false)
	f.Add("message", "1", "c", "", "u", "/lang@bot es\x00", "", true, false)
	f.Fuzz(func(t *testing.T, kind, id, chat, thread, user, text, button string, group, mentioned bool) {
		b := newBed(t, Config{MessageBytes: 64, QueueMax: 1, PerUser: Rate{N: 1, Per: time.Hour}})
		in := channels.Inbound{
			Kind: channels.Kind(kind), ID: channels.MessageID(id), Text: text, Button: channels.ButtonID(button), Mentioned: mentioned,
			Chat: channels.Chat{ID: channels.ChatID(chat), Thread: channels.ThreadID(thread), Group: group}, From: channels.User{ID: channels.UserID(user)},
		}
		err := b.inbox.Sink("tg", new(fakeAcker)).Accept(context.Background(), in)
		if err != nil && reasonOf(err) == "" {
			t.Fatalf("error that is no refusal: %v", err)
		}
		for _, d := range b.store.deliveries {
			if !sound(d.In.Text, 64) || !sound(d.Place.Lane, 4096) || !sound(string(d.In.Button), maxID) || !strings.HasPrefix(d.Place.Lane, d.Place.ChatKey) {
				t.Errorf("stored %+v", d)
			}
		}
	})
}

// FuzzKeys: two messages share a dedupe key only if they are the same.
func FuzzKeys(f *testing.F) {
	f.Add("a:message", "1", "a", "message:1")
	f.Add("a%3A", "1", "a:", "1")
	f.Fuzz(func(t *testing.T, chat1, id1, chat2, id2 string) {
		key := func(chat, id string) string {
			return dedupeKey("tg", channels.Inbound{Kind: channels.KindMessage, ID: channels.MessageID(id), Chat: channels.Chat{ID: channels.ChatID(chat)}})
		}
		if same := chat1 == chat2 && id1 == id2; (key(chat1, id1) == key(chat2, id2)) != same {
			t.Errorf("%q %q and %q %q: keys %q and %q", chat1, id1, chat2, id2, key(chat1, id1), key(chat2, id2))
		}
	})
}
