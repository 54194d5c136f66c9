package inbox

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/locale"
)

func TestParseCommand_B3_OnlyKnownOnes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want chatCommand // zero: text
	}{
		{"/reset", chatCommand{name: "reset"}},
		{"  /Reset  ", chatCommand{name: "reset"}},
		{"/CANCEL", chatCommand{name: "cancel"}},
		{"/help@bakery_bot", chatCommand{name: "help", named: true}},
		{"/lang es", chatCommand{name: "lang", arg: "es"}},
		{"/lang@bakery_bot\n\tes please", chatCommand{name: "lang", named: true, arg: "es"}},
		{"/start payload", chatCommand{name: "start", arg: "payload"}},
		{"/lang " + strings.Repeat("é", 5000), chatCommand{name: "lang", arg: strings.Repeat("é", 511)}},
		{"/menu", chatCommand{}},
		{"/", chatCommand{}},
		{"/ reset", chatCommand{}},
		{"reset", chatCommand{}},
		{"please /reset", chatCommand{}},
		{"/resetall", chatCommand{}},
		{"//reset", chatCommand{}},
		{"", chatCommand{}},
	}
	for _, tt := range tests {
		got, ok := parseCommand(tt.text)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(chatCommand{})); diff != "" || ok != (tt.want.name != "") {
			t.Errorf("parseCommand(%.40q), ok %v (-want +got):\n%s", tt.text, ok, diff)
		}
	}
}

func FuzzParseCommand(f *testing.F) {
	f.Add("/reset@x y")
	f.Add("/lang \xff")
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := parseCommand(text)
		if ok != (c.name != "") || len(c.arg) > maxArgs {
			t.Errorf("parseCommand(%q) = %+v, %v", text, c, ok)
		}
	})
}

func TestCommand_ActsAndAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text    string
		action  Action
		lang    string
		say     string
		nothing string
	}{
		{"/help", ActSay, "", locale.CommandHelp, ""},
		{"/start", ActSay, "", locale.CommandStart, ""},
		{"/reset", ActReset, "", locale.CommandReset, ""},
		{"/cancel", ActCancel, "", locale.CommandCancelDone, locale.CommandCancelNothing},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, Config{})
			b.mustAccept(new(fakeAdapter), channels.Inbound{Text: tt.text, From: channels.User{ID: "u", Lang: "es"}})
			c := b.store.commands[0]
			text := func(key string) []string {
				if key == "" {
					return nil
				}
				return []string{b.inbox.deps.Texts.Text("es", key)}
			}
			if c.Action != tt.action || !slices.Equal(textsOf(c.Say), text(tt.say)) || !slices.Equal(textsOf(c.SayNothing), text(tt.nothing)) {
				t.Errorf("%s says %q or %q", c.Action, textsOf(c.Say), textsOf(c.SayNothing))
			}
			if c.Place.Lane != "tg:c" || c.DedupeKey == "" || c.Say[0].Chat.ID != "c" {
				t.Errorf("command %+v", c)
			}
		})
	}
}

func TestCommand_Lang(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{QueueMax: 5})
	texts := b.inbox.deps.Texts
	list := locale.Arg{Name: "languages", Value: texts.List()}
	name := func(lang string) locale.Arg { return locale.Arg{Name: "language", Value: texts.Name(lang)} }
	steps := []struct {
		text   string
		action Action
		lang   string
		say    string
	}{
		{"/lang", ActSay, "", texts.Text("en", locale.CommandLangCurrent, name("en"), list)},
		{"/lang ES-mx", ActLang, "es", texts.Text("es", locale.CommandLangSet, name("es"))},
		{"/lang", ActSay, "", texts.Text("es", locale.CommandLangCurrent, name("es"), list)},
		{"/lang klingon", ActSay, "", texts.Text("es", locale.CommandLangUnknown, list)},
	}
	for i, st := range steps {
		b.mustAccept(new(fakeAdapter), channels.Inbound{Text: st.text, From: channels.User{ID: "u", Lang: "en"}})
		c := b.store.commands[i]
		if c.Action != st.action || c.Lang != st.lang || !slices.Equal(textsOf(c.Say), []string{st.say}) {
			t.Errorf("%s: %s %q says %q, want %q", st.text, c.Action, c.Lang, textsOf(c.Say), st.say)
		}
	}
	// Known at once, without asking the store again.
	b.mustAccept(new(fakeAdapter), channels.Inbound{Text: "hola"})
	if got := textsOf(b.store.deliveries[0].QueueNotice)[0]; got != texts.Text("es", locale.LimitQueue) || b.store.langAsked != 1 {
		t.Errorf("notice %q after %d questions to the store", got, b.store.langAsked)
	}
}

func TestCommand_InGroups(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		text      string
		policy    Policy
		mentioned bool
		command   bool
	}{
		{"for the bot", "/reset", Policy{}, true, true},
		{"with its name", "/reset@our_bot", Policy{}, true, true},
		{"for nobody", "/reset", Policy{}, false, false},
		{"another bot's", "/reset@other_bot", Policy{}, false, false},
		{"all, without a name", "/reset", Policy{All: true}, false, true},
		{"all, another bot's", "/reset@other_bot", Policy{All: true}, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, Config{Channels: map[string]Policy{"tg": tt.policy}})
			b.mustAccept(new(fakeAdapter), channels.Inbound{Text: tt.text, Mentioned: tt.mentioned, Chat: channels.Chat{ID: "g", Group: true}})
			if got := len(b.store.commands) == 1; got != tt.command {
				t.Errorf("carried out: %v, want %v", got, tt.command)
			}
			if len(b.store.deliveries) != 0 {
				t.Error("a command was taken for a text")
			}
		})
	}
}

func TestCommand_B5_ResetCutsTheTurn(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{})
	b.mustAccept(new(fakeAdapter), channels.Inbound{ID: "1", Text: "/reset"})
	b.mustAccept(new(fakeAdapter), channels.Inbound{ID: "1", Text: "/reset"}) // delivered again
	if diff := cmp.Diff([]string{"cut tg:c", "speak tg tg:c", "logged tg:c"}, b.hooks); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
}

func TestCommand_B5_SaysWhatWasUnderWay(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{})
	for i, text := range []string{"/cancel", "/reset", "/help"} {
		b.mustAccept(new(fakeAdapter), channels.Inbound{Text: text, From: channels.User{ID: "u", Lang: "es"}})
		c := b.store.commands[i]
		if (c.SayBegun != nil) != (c.Action != ActSay) {
			t.Errorf("%s: %+v", text, c)
		}
		if c.SayBegun == nil {
			continue
		}
		want := textsOf(c.Say)[0] + " «Crear pedido» ya estaba en marcha y es posible que se haya hecho."
		if got := textsOf(c.SayBegun("Crear pedido")); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestCommand_UnknownIsText(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{})
	b.mustAccept(new(fakeAdapter), channels.Inbound{Text: "/menu"})
	if len(b.store.commands) != 0 || len(b.store.deliveries) != 1 || !b.store.deliveries[0].Answers {
		t.Error("/menu wasn't taken as text")
	}
}
