package inbox

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/locale"
)

func pairing(allow ...channels.UserID) Config {
	return Config{Channels: map[string]Policy{"tg": {Allow: allow, Pair: true}}}
}

func TestSenders_StrangerIsGivenACode(t *testing.T) {
	t.Parallel()
	b := newBed(t, pairing("owner"))
	b.mustAccept(new(fakeAdapter), channels.Inbound{
		From: channels.User{ID: "eva", Name: "Eva", Lang: "es"}, Text: "my card is 4111 1111", Media: []channels.Media{{Type: "image"}},
	})
	if len(b.store.deliveries) != 0 || len(b.store.knocks) != 1 {
		t.Fatalf("deliveries %d, knocks %d", len(b.store.deliveries), len(b.store.knocks))
	}
	k := b.store.knocks[0]
	if !regexp.MustCompile(`^[2-9A-HJ-NP-Z]{4}-[2-9A-HJ-NP-Z]{4}$`).MatchString(k.Code) {
		t.Errorf("code %q", k.Code)
	}
	if k.In.Text != "" || k.In.Media != nil {
		t.Errorf("what a stranger writes is kept: %+v", k.In)
	}
	if k.In.From.Name != "Eva" || k.Place.ChatKey != "tg:c" || k.For != time.Hour || k.Max < 1 {
		t.Errorf("%+v", k)
	}
	if got := strings.Join(textsOf(k.Say), ""); !strings.Contains(got, k.Code) || !strings.Contains(got, "Todavía no te conozco") {
		t.Errorf("said %q", got)
	}
	if !slices.Equal(b.hooks, []string{"speak tg tg:c"}) {
		t.Errorf("hooks %q", b.hooks)
	}
}

func TestSenders_CodesDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		seen[newCode()] = true
	}
	if len(seen) < 999 {
		t.Errorf("%d different codes of 1000", len(seen))
	}
}

func TestSenders_ListedAndLetIn(t *testing.T) {
	t.Parallel()
	b := newBed(t, pairing("owner"))
	b.store.letIn["eva"] = true
	for _, user := range []channels.UserID{"owner", "eva", "eva"} {
		b.mustAccept(new(fakeAdapter), channels.Inbound{From: channels.User{ID: user}, Text: "hello"})
	}
	if len(b.store.deliveries) != 3 || len(b.store.knocks) != 0 {
		t.Errorf("deliveries %d, knocks %d", len(b.store.deliveries), len(b.store.knocks))
	}
	ack := new(fakeAcker)
	b.mustAccept(ack, channels.Inbound{Kind: channels.KindPress, From: channels.User{ID: "eva"}, Button: "x"})
	b.mustAccept(ack, channels.Inbound{Kind: channels.KindPress, From: channels.User{ID: "leo"}, Button: "x"})
	if len(b.store.deliveries) != 4 || len(ack.acks) != 2 || ack.acks[1].Outcome != channels.PressNotYours {
		t.Errorf("presses: deliveries %d, acks %+v", len(b.store.deliveries), ack.acks)
	}
}

func TestSenders_NobodyIsRememberedAsAStranger(t *testing.T) {
	t.Parallel()
	b := newBed(t, pairing())
	b.mustAccept(new(fakeAdapter), channels.Inbound{From: channels.User{ID: "eva"}, Text: "hello"})
	b.store.letIn["eva"] = true
	b.mustAccept(new(fakeAdapter), channels.Inbound{From: channels.User{ID: "eva"}, Text: "hello again"})
	if len(b.store.knocks) != 1 || len(b.store.deliveries) != 1 {
		t.Errorf("knocks %d, deliveries %d", len(b.store.knocks), len(b.store.deliveries))
	}
}

// Whoever put them out, and however lately they wrote: the next text, command
// or press counts no more.
func TestSenders_PutOutIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t, pairing())
	b.store.letIn["eva"] = true
	eva := channels.User{ID: "eva"}
	ack := new(fakeAcker)
	b.mustAccept(ack, channels.Inbound{From: eva, Text: "hello"})
	delete(b.store.letIn, "eva")
	b.mustAccept(ack, channels.Inbound{From: eva, Text: "yes"})
	b.mustAccept(ack, channels.Inbound{From: eva, Text: "/reset"})
	b.mustAccept(ack, channels.Inbound{Kind: channels.KindPress, From: eva, Button: "x"})
	if len(b.store.knocks) != 2 || len(b.store.deliveries) != 1 || len(b.store.commands) != 0 {
		t.Errorf("knocks %d, deliveries %d, commands %d", len(b.store.knocks), len(b.store.deliveries), len(b.store.commands))
	}
	if len(ack.acks) != 1 || ack.acks[0].Outcome != channels.PressNotYours {
		t.Errorf("acks %+v", ack.acks)
	}
}

func TestSenders_GroupsGiveNoCodes(t *testing.T) {
	t.Parallel()
	b := newBed(t, pairing("owner"))
	b.mustAccept(new(fakeAdapter), channels.Inbound{
		Chat: channels.Chat{ID: "g", Group: true}, From: channels.User{ID: "eva"}, Text: "hello", Mentioned: true,
	})
	if len(b.store.knocks)+len(b.store.deliveries) != 0 {
		t.Errorf("knocks %d, deliveries %d", len(b.store.knocks), len(b.store.deliveries))
	}
}

func TestSenders_WithoutPairingOthersAreIgnored(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{Channels: map[string]Policy{"tg": {Allow: []channels.UserID{"owner"}}}})
	b.mustAccept(new(fakeAdapter), channels.Inbound{From: channels.User{ID: "eva"}, Text: "hello"})
	if len(b.store.knocks)+len(b.store.deliveries)+b.store.letInAsked != 0 {
		t.Errorf("knocks %d, deliveries %d, asked %d", len(b.store.knocks), len(b.store.deliveries), b.store.letInAsked)
	}
}

// A store that can't tell who was let in takes no message: it comes again.
func TestSenders_StoreFails(t *testing.T) {
	t.Parallel()
	b := newBed(t, pairing())
	b.store.err = ErrUnavailable
	err := b.accept(new(fakeAdapter), channels.Inbound{From: channels.User{ID: "eva"}, Text: "hello"})
	if refused, ok := errors.AsType[*channels.RefusedError](err); !ok || refused.Reason != channels.RefusedUnavailable {
		t.Errorf("got %v", err)
	}
}

func TestSenders_TextsHaveTheCode(t *testing.T) {
	t.Parallel()
	texts, err := locale.New("en", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := texts.Text("en", locale.SenderCode, locale.Arg{Name: "code", Value: "ABCD-2345"}); !strings.HasSuffix(got, " ABCD-2345") {
		t.Errorf("said %q", got)
	}
}
