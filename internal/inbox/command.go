package inbox

import (
	"context"
	"strings"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/locale"
)

// chatCommand is a command as it was typed.
type chatCommand struct {
	name string
	arg  string
	// named is true where it bore a name: /reset@parley_bot. Platforms
	// deliver such a one only to the bot it names.
	named bool
}

// parseCommand reads a known command; any other /x is text.
func parseCommand(text string) (chatCommand, bool) {
	word, arg, _ := strings.Cut(strings.TrimSpace(text), " ")
	name, ok := strings.CutPrefix(word, "/")
	if !ok {
		return chatCommand{}, false
	}
	name, _, named := strings.Cut(name, "@")
	c := chatCommand{name: strings.ToLower(name), arg: strings.TrimSpace(arg), named: named}
	switch c.name {
	case "start", "help", "reset", "cancel", "lang":
		return c, true
	}
	return chatCommand{}, false
}

// command carries a command out. It is not queued behind a running turn and
// meets no limit.
func (s *sink) command(ctx context.Context, m message, c chatCommand) error {
	lang, err := s.language(ctx, m)
	if err != nil {
		return err
	}
	cmd := Command{Place: m.place, DedupeKey: s.dedupeKey(m.in), In: m.in, Action: ActSay}
	switch c.name {
	case "start":
		cmd.Say = s.say(m, lang, locale.CommandStart)
	case "help":
		cmd.Say = s.say(m, lang, locale.CommandHelp)
	case "reset":
		cmd.Action, cmd.Say = ActReset, s.say(m, lang, locale.CommandReset)
	case "cancel":
		cmd.Action = ActCancel
		cmd.Say, cmd.SayNothing = s.say(m, lang, locale.CommandCancelDone), s.say(m, lang, locale.CommandCancelNothing)
	case "lang":
		s.langCommand(m, c.arg, lang, &cmd)
	}
	acc, err := s.deps.Store.Command(ctx, cmd)
	if err != nil {
		return err
	}
	s.done(m.place, acc)
	return nil
}

func (s *sink) langCommand(m message, arg, lang string, cmd *Command) {
	t := s.deps.Texts
	list := locale.Arg{Name: "languages", Value: t.List()}
	if arg == "" {
		cmd.Say = s.say(m, lang, locale.CommandLangCurrent, locale.Arg{Name: "language", Value: t.Name(lang)}, list)
		return
	}
	to, ok := t.Match(arg)
	if !ok {
		cmd.Say = s.say(m, lang, locale.CommandLangUnknown, list)
		return
	}
	cmd.Action, cmd.Lang = ActLang, to
	cmd.Say = s.say(m, to, locale.CommandLangSet, locale.Arg{Name: "language", Value: t.Name(to)})
}

// press lets a button answer. The adapter acknowledges it once: with its
// outcome right after the commit, or bare where that takes over a second.
func (s *sink) press(ctx context.Context, m message) error {
	ack := s.acker(ctx, m.in)
	d := Delivery{Place: m.place, DedupeKey: s.dedupeKey(m.in), In: m.in, Refuse: m.caps.Refuses}
	acc, err := s.deps.Store.Accept(ctx, d)
	if err != nil {
		ack.give(channels.PressAck{Outcome: channels.PressPending})
		return err
	}
	out := channels.PressAck{Outcome: channels.PressStale}
	switch acc.Outcome {
	case AnsweredQuestion:
		out.Outcome = channels.PressAccepted
	case NotYours:
		out.Outcome = channels.PressNotYours
		out.Notice = s.deps.Texts.Text(s.deps.Texts.Resolve(m.in.From.Lang), locale.NotYours)
	}
	ack.give(out)
	s.done(m.place, acc)
	return nil
}
