package app

import (
	"context"
	"errors"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/audit"
	"github.com/parley-bot/parley/internal/config"
	"github.com/parley-bot/parley/internal/confirm"
	"github.com/parley-bot/parley/internal/inbox"
	"github.com/parley-bot/parley/internal/llm"
	"github.com/parley-bot/parley/internal/locale"
	"github.com/parley-bot/parley/internal/problem"
	"github.com/parley-bot/parley/internal/tool"
	"github.com/parley-bot/parley/internal/turn"
)

// brain is what a bot thinks, says and does by: everything that is made anew
// when the configuration is read again. It never changes; a reload makes
// another one.
type brain struct {
	of     *config.Config
	texts  *locale.Catalog
	words  *confirm.Words
	tools  *toolset
	model  turn.Model
	models []llm.Provider
	redact *audit.Redactor
}

// think makes a brain; remote are the tools of MCP servers that have a pin. The error tells all that is wrong; nothing is left
// behind then.
func (b *Bot) think(ctx context.Context, cfg *config.Config, remote []tool.Tool) (*brain, error) {
	out := &brain{of: cfg}
	var errs []error
	keep := func(err error) { errs = append(errs, err) }
	var err error
	if out.texts, err = locale.New(cfg.Bot.Lang, overrides(cfg.Locale)); err != nil {
		keep(problem.Text.Errorf("locale: %w", err)) // each text was checked in its place
	}
	if out.words, err = confirm.NewWords(cfg.Confirm.Yes, cfg.Confirm.No, cfg.Confirm.YesAdd, cfg.Confirm.NoAdd); err != nil {
		keep(problem.Words.Wrap(err))
	}
	if out.tools, err = newTools(ctx, cfg, b.cacheDir(), remote, b.log, b.spare.long, b.opts.Tools); err != nil {
		keep(err)
	}
	if cfg.Model.Provider != "" || !b.opts.Partial {
		chain, models, err := newChain(cfg, b.calls, b.log)
		if err != nil {
			keep(problem.Model.Errorf("model: %w", err))
		}
		out.model, out.models = chain, models
	}
	if b.opts.Model != nil {
		out.model = b.opts.Model
	}
	if out.redact, err = audit.NewRedactor(cfg.Audit.Redact, cfg.Audit.RedactMode == "drop"); err != nil {
		keep(problem.Redact.Errorf("audit.redact: %w", err))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, out.close(ctx))
	}
	return out, nil
}

// close ends what the brain holds open.
func (b *brain) close(ctx context.Context) error {
	if b == nil || b.tools == nil {
		return nil
	}
	return b.tools.close(ctx)
}

// rules are what messages are taken in by.
func (b *brain) rules() inbox.Rules {
	l := b.of.Limits
	return inbox.Rules{
		Words: b.words, Texts: b.texts, QueueMax: l.QueuePerChat, MessageBytes: int(l.MessageBytes),
		PerUser: inbox.Rate{N: l.PerUser.N, Per: l.PerUser.Per},
	}
}

// overrides are the configured texts in the form that locale takes.
func overrides(texts config.Texts) map[string]map[string]any {
	out := make(map[string]map[string]any, len(texts))
	for lang, keys := range texts {
		out[lang] = make(map[string]any, len(keys))
		for k, v := range keys {
			out[lang][k] = v
		}
	}
	return out
}

// setup is what turns go by.
func (b *brain) setup() turn.Setup {
	c := b.of
	answer := confirm.AnswerBy{Anyone: c.Confirm.AnswerBy.Who == config.Anyone}
	for _, u := range c.Confirm.AnswerBy.Users {
		answer.Users = append(answer.Users, channels.UserID(u))
	}
	return turn.Setup{
		Persona: c.Bot.Persona, Model: b.model, Tools: b.tools.registry, Texts: b.texts,
		Stream:          c.Bot.Stream,
		HistoryMessages: c.Bot.History.Messages, HistoryTokens: c.Bot.History.Tokens,
		MaxSteps: c.Loop.MaxSteps, MaxStepsMessage: c.Loop.MaxStepsMessage,
		ToolTimeout: c.Loop.ToolTimeout, Deadline: c.Loop.TurnDeadline, OutputCap: tool.DefaultOutputCap,
		Redact: b.redact,
		Confirm: turn.Confirm{
			Timeout: c.Confirm.Timeout, Buttons: c.Confirm.Buttons,
			AnsweredNotice: c.Confirm.AnsweredNotice, ExpiredNotice: c.Confirm.ExpiredNotice, AnswerBy: answer,
			NoNote: !c.Confirm.SystemNote.On && c.Confirm.SystemNote.Text == "", Note: c.Confirm.SystemNote.Text,
		},
	}
}
