package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/parley-bot/parley/channels"
)

// identity is who the bot is.
type identity struct {
	ID       int64  `json:"id"`
	Username string `json:"username"`
	// ReadsAll is true where privacy mode is off: the bot gets everything
	// that is said in groups.
	ReadsAll bool `json:"reads_all,omitempty"`
}

const keyMe = "me"

// introduce learns the bot's name. Telegram being away is no reason not to
// begin; a refused token is.
func (a *Adapter) introduce(ctx context.Context) error {
	a.naming.Lock()
	defer a.naming.Unlock()
	me, err := a.getMe(ctx)
	switch {
	case err == nil:
		a.remember(ctx, me)
		return nil
	case ctx.Err() != nil:
		return nil
	case refusedToken(err):
		return a.tokenRefused(err)
	}
	a.log.Warn("bot's name could not be asked for", "err", err)
	a.recall(ctx)
	return nil
}

func (a *Adapter) getMe(ctx context.Context) (identity, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	u, err := a.api.GetMe(ctx)
	if err != nil {
		return identity{}, a.http.sendError(err)
	}
	if u.ID == 0 {
		return identity{}, lost(true, fmt.Errorf("getMe names no bot"))
	}
	return identity{u.ID, u.Username, u.CanReadAllGroupMessages}, nil
}

func (a *Adapter) remember(ctx context.Context, me identity) {
	a.me.Store(&me)
	text, err := json.Marshal(me)
	if err == nil {
		err = channels.Put(ctx, a.state, keyMe, text)
	}
	if err != nil && ctx.Err() == nil {
		a.log.Warn("bot's name could not be saved", "err", err)
	}
}

// recall takes the name from an earlier run.
func (a *Adapter) recall(ctx context.Context) {
	text, err := a.state.Get(ctx, keyMe)
	var me identity
	if err == nil && text != nil && json.Unmarshal(text, &me) == nil && me.ID != 0 {
		a.me.Store(&me)
	}
}

// known is what is known of the bot without asking: its id is the number that
// the token begins with.
func (a *Adapter) known() identity {
	if me := a.me.Load(); me != nil {
		return *me
	}
	id, _, _ := strings.Cut(a.cfg.Token.Reveal(), ":")
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return identity{}
	}
	return identity{ID: n}
}

// whoami is the bot with its name, which messages in groups need: without it
// nobody can say whether they are for the bot.
func (a *Adapter) whoami(ctx context.Context) (identity, error) {
	if me := a.me.Load(); me != nil {
		return *me, nil
	}
	a.naming.Lock()
	defer a.naming.Unlock()
	if a.me.Load() == nil {
		a.recall(ctx)
	}
	if me := a.me.Load(); me != nil {
		return *me, nil
	}
	me, err := a.getMe(ctx)
	if err != nil {
		return identity{}, fmt.Errorf("asking for the bot's name: %w", err)
	}
	a.remember(ctx, me)
	return me, nil
}

// Check asks who the token belongs to, and describes it.
func (a *Adapter) Check(ctx context.Context) (string, error) {
	me, err := a.getMe(ctx)
	if err != nil {
		return "", fmt.Errorf("getMe: %w", err)
	}
	groups := "in groups it sees commands and replies only, unless privacy mode is turned off with @BotFather"
	if me.ReadsAll {
		groups = "privacy mode is off: it sees everything in groups"
	}
	return fmt.Sprintf("@%s (id %d; %s)", me.Username, me.ID, groups), nil
}

const keyCommands = "commands"

// menu is the list of commands that Telegram shows beside the text field.
func menu(lang string) []models.BotCommand {
	if strings.HasPrefix(strings.ToLower(lang), "es") {
		return []models.BotCommand{
			{Command: "reset", Description: "Empezar de nuevo y olvidar esta conversación"},
			{Command: "cancel", Description: "Detener lo que está en curso"},
			{Command: "lang", Description: "Ver o cambiar el idioma"},
			{Command: "help", Description: "Mostrar la ayuda"},
		}
	}
	return []models.BotCommand{
		{Command: "reset", Description: "Start over and forget this conversation"},
		{Command: "cancel", Description: "Stop what is going on"},
		{Command: "lang", Description: "See or change the language"},
		{Command: "help", Description: "Show the help"},
	}
}

// registerCommands sets the menu, once until it changes. Failing is no
// trouble: the commands work without.
func (a *Adapter) registerCommands(ctx context.Context) {
	lists := []*tg.SetMyCommandsParams{
		{Commands: menu(a.lang)}, {Commands: menu("en"), LanguageCode: "en"}, {Commands: menu("es"), LanguageCode: "es"},
	}
	want, err := json.Marshal(lists)
	if err != nil {
		return
	}
	if have, err := a.state.Get(ctx, keyCommands); err != nil || string(have) == string(want) {
		return
	}
	for _, l := range lists {
		call, cancel := context.WithTimeout(ctx, callTime)
		_, err := a.api.SetMyCommands(call, l)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				a.log.Warn("commands could not be registered", "err", a.http.sendError(err))
			}
			return
		}
	}
	if err := channels.Put(ctx, a.state, keyCommands, want); err != nil {
		a.log.Warn("registered commands could not be noted", "err", err)
		return
	}
	a.log.Debug("commands registered")
}
