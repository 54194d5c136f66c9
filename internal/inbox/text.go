package inbox

import (
	"context"
	"strings"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/locale"
	"github.com/parley-bot/parley/internal/render"
)

// message takes a text, a caption or a file.
func (s *sink) message(ctx context.Context, m message) error {
	in := m.in
	routed := !in.Chat.Group || s.policy.All || in.Mentioned
	blank := strings.TrimSpace(in.Text) == ""
	switch {
	case blank && len(in.Media) == 0:
		return &channels.RefusedError{Reason: channels.RefusedBlank}
	case s.cfg.MessageBytes > 0 && len(in.Text) > s.cfg.MessageBytes:
		if m.caps.Refuses {
			return &channels.RefusedError{Reason: channels.RefusedTooLarge}
		}
		m.in.Text = "" // not kept: it is what is too large
		return s.notice(ctx, m, routed, "too_large", locale.LimitTooLarge)
	case blank:
		return s.media(ctx, m, routed)
	}
	if c, ok := parseCommand(in.Text); ok && (routed || c.named) {
		return s.command(ctx, m, c)
	}
	d := Delivery{
		Place: m.place, DedupeKey: s.dedupeKey(in), In: in, Answers: true, Class: s.deps.Words.Classify(in.Text),
		Routed: routed, QueueMax: s.cfg.QueueMax, Refuse: m.caps.Refuses,
	}
	if routed {
		if err := s.limit(ctx, m, &d); err != nil {
			return err
		}
	}
	acc, err := s.deps.Store.Accept(ctx, d)
	if err != nil {
		return err
	}
	s.done(m.place, acc)
	return nil
}

// limit fills in the limits that the message meets. Notices are for channels
// that can't refuse.
func (s *sink) limit(ctx context.Context, m message, d *Delivery) error {
	over, first := s.limits.take(s.channel, m.in.From.ID, s.deps.Now())
	d.OverRate = over
	if d.Refuse {
		return nil
	}
	// The queue's notice is made where it may be due, without asking the
	// store: few messages meet a full queue.
	d.QueueNotice = s.say(m, s.deps.Texts.Resolve(m.in.From.Lang), locale.LimitQueue)
	if over && first {
		lang, err := s.language(ctx, m)
		if err != nil {
			return err
		}
		d.RateNotice = s.say(m, lang, locale.LimitRate)
	}
	return nil
}

// language is the chat's: what /lang set, else the person's, else the bot's.
func (s *sink) language(ctx context.Context, m message) (string, error) {
	set, err := s.deps.Store.Language(ctx, m.place.Lane)
	if err != nil {
		return "", err
	}
	if set == "" {
		set = m.in.From.Lang
	}
	return s.deps.Texts.Resolve(set), nil
}

// media answers a file without a text: nothing reads files yet. An open
// question stays open.
func (s *sink) media(ctx context.Context, m message, routed bool) error {
	if !routed {
		s.metrics.inbound(s.channel, string(Ignored))
		return nil
	}
	lang, err := s.language(ctx, m)
	if err != nil {
		return err
	}
	return s.tell(ctx, m, "media", s.parts(m, s.deps.Texts.Media(lang, m.in.Media[0].Type)))
}

// notice answers a message that isn't worked on.
func (s *sink) notice(ctx context.Context, m message, routed bool, outcome, key string) error {
	if !routed {
		s.metrics.inbound(s.channel, string(Ignored))
		return nil
	}
	lang, err := s.language(ctx, m)
	if err != nil {
		return err
	}
	return s.tell(ctx, m, outcome, s.say(m, lang, key))
}

// tell takes a message and answers it at once, without a turn.
func (s *sink) tell(ctx context.Context, m message, outcome string, parts []channels.Part) error {
	acc, err := s.deps.Store.Command(ctx, Command{Place: m.place, DedupeKey: s.dedupeKey(m.in), In: m.in, Action: ActSay, Say: parts})
	if err != nil {
		return err
	}
	if acc.Outcome == Commanded {
		acc.Outcome = Outcome(outcome)
	}
	s.done(m.place, acc)
	return nil
}

func (s *sink) say(m message, lang, key string, args ...locale.Arg) []channels.Part {
	return s.parts(m, s.deps.Texts.Text(lang, key, args...))
}

// parts renders a text for the message's chat.
func (s *sink) parts(m message, text string) []channels.Part {
	rendered := render.Text(text, m.caps)
	out := make([]channels.Part, len(rendered))
	for i, r := range rendered {
		out[i] = channels.Part{Chat: m.in.Chat, Text: r.Text, Markup: r.Markup, Plain: r.Plain}
	}
	return out
}
