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
	arg  string // the first word behind it
	// named is true where it bore a bot's name: /reset@parley_bot.
	named bool
}

// maxArgs is how much of what follows a command is looked at, in bytes.
const maxArgs = 1024

// parseCommand reads a known command; any other /x is text.
func parseCommand(text string) (chatCommand, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "/")
	if !ok {
		return chatCommand{}, false
	}
	word := rest
	if i := strings.IndexAny(rest, " \t\r\n"); i >= 0 {
		word, rest = rest[:i], rest[i:]
	} else {
		rest = ""
	}
	name, _, named := strings.Cut(word, "@")
	c := chatCommand{name: strings.ToLower(name), named: named}
	if args := strings.Fields(clip(rest, maxArgs)); len(args) > 0 {
		c.arg = args[0]
	}
	switch c.name {
	case "start", "help", "reset", "cancel", "lang":
		return c, true
	}
	return chatCommand{}, false
}

// command carries a command out. It is not queued behind a running turn and
// meets no limit.
func (s *sink) command(ctx context.Context, m message, c chatCommand) (Outcome, error) {
	m.in.Text = clip(m.in.Text, s.maxBytes())
	cmd := Command{Place: m.place, DedupeKey: m.key, In: m.in, Action: ActSay}
	switch c.name {
	case "start":
		cmd.Say = s.say(m, locale.CommandStart)
	case "help":
		cmd.Say = s.say(m, locale.CommandHelp)
	case "reset":
		cmd.Action, cmd.Say, cmd.SayBegun = ActReset, s.say(m, locale.CommandReset), s.sayBegun(m, locale.CommandReset)
	case "cancel":
		cmd.Action, cmd.SayBegun = ActCancel, s.sayBegun(m, locale.CommandCancelDone)
		cmd.Say, cmd.SayNothing = s.say(m, locale.CommandCancelDone), s.say(m, locale.CommandCancelNothing)
	case "lang":
		s.langCommand(m, c.arg, &cmd)
	}
	acc, err := s.deps.Store.Command(ctx, cmd)
	if err != nil {
		return "", err
	}
	if cmd.Action == ActLang && acc.Outcome != Duplicate {
		s.langs.set(m.place.Lane, cmd.Lang)
	}
	s.done(m.place, acc)
	return acc.Outcome, nil
}

// sayBegun is the answer to a command that ended a turn while a call was under
// way: nobody will tell the person what came of it.
func (s *sink) sayBegun(m message, key string) func(string) []channels.Part {
	t := s.texts()
	return func(title string) []channels.Part {
		return s.parts(m, t.Text(m.lang, key)+" "+t.Text(m.lang, locale.CommandUnderWay, locale.Arg{Name: "tool", Value: title}))
	}
}

func (s *sink) langCommand(m message, arg string, cmd *Command) {
	t := s.texts()
	list := locale.Arg{Name: "languages", Value: t.List()}
	if arg == "" {
		cmd.Say = s.say(m, locale.CommandLangCurrent, locale.Arg{Name: "language", Value: t.Name(m.lang)}, list)
		return
	}
	to, ok := t.Match(arg)
	if !ok {
		cmd.Say = s.say(m, locale.CommandLangUnknown, list)
		return
	}
	m.lang = to
	cmd.Action, cmd.Lang = ActLang, to
	cmd.Say = s.say(m, locale.CommandLangSet, locale.Arg{Name: "language", Value: t.Name(to)})
}
