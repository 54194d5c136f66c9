package discord

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/parley-bot/parley/channels"
)

// identity is who the bot is.
type identity struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	App  string `json:"app"`
}

const keyMe = "me"

// application is the part of one that is used
// (https://docs.discord.com/developers/resources/application).
type application struct {
	ID        string `json:"id"`
	Flags     uint64 `json:"flags"`
	VerifyKey string `json:"verify_key"`
	Endpoint  string `json:"interactions_endpoint_url"`
	Bot       *user  `json:"bot"`
}

// Flags of an application: the message content intent is on.
const flagsContent = 1<<18 | 1<<19

func (a *Adapter) application(ctx context.Context) (application, error) {
	var app application
	if err := a.rest.call(ctx, http.MethodGet, "/applications/@me", nil, &app); err != nil {
		return app, err
	}
	if app.ID == "" {
		return app, lost(true, errors.New("the application has no id"))
	}
	if app.Bot == nil || app.Bot.ID == "" {
		app.Bot = new(user)
		if err := a.rest.call(ctx, http.MethodGet, "/users/@me", nil, app.Bot); err != nil {
			return app, err
		}
	}
	return app, nil
}

// introduce learns the bot's ids, and warns of what would keep it from
// hearing. Discord being away is no reason not to begin, though nothing is told
// then; a refused token is.
func (a *Adapter) introduce(ctx context.Context) (told bool, err error) {
	app, err := a.application(ctx)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil && refusedToken(err):
		return false, a.tokenError(err)
	case err != nil:
		a.log.Warn("application could not be asked for", "err", err)
		a.recall(ctx)
		return false, nil
	}
	a.remember(ctx, identity{app.Bot.ID, app.Bot.Username, app.ID})
	if problem := a.problem(app); problem != "" {
		a.log.Warn("bot is not set up for what it is to do", "problem", problem)
	}
	return true, nil
}

// problem is what of an application's settings keeps the bot from hearing.
func (a *Adapter) problem(app application) string {
	switch {
	case a.cfg.Mode == ModeGateway && app.Endpoint != "":
		return "an interactions endpoint is set, so that presses and commands go there and not to the gateway: take it away with `parley webhooks delete " + a.name + "`, or use mode interactions"
	case a.cfg.Mode == ModeGateway && *a.cfg.MessageContent && app.Flags&flagsContent == 0:
		return "the message content intent is off: turn it on in the developer portal (Bot, Privileged Gateway Intents), or set message_content to false"
	case a.cfg.PublicKey != "" && app.VerifyKey != "" && !strings.EqualFold(a.cfg.PublicKey, app.VerifyKey):
		return "public_key is not the application's: no interaction can be verified"
	case a.cfg.Mode == ModeInteractions && app.Endpoint == "":
		return "no interactions endpoint is set, so that nothing comes: set it with `parley webhooks register " + a.name + "`"
	}
	return ""
}

func (a *Adapter) remember(ctx context.Context, me identity) {
	if old := a.me.Swap(&me); old != nil && *old == me {
		return
	}
	text, err := json.Marshal(me)
	if err == nil {
		err = channels.Put(ctx, a.state, keyMe, text)
	}
	if err != nil && ctx.Err() == nil {
		a.log.Warn("bot's ids could not be saved", "err", err)
	}
}

// recall takes the ids from an earlier run.
func (a *Adapter) recall(ctx context.Context) {
	text, err := a.state.Get(ctx, keyMe)
	var me identity
	if err == nil && text != nil && json.Unmarshal(text, &me) == nil && me.ID != "" {
		a.me.CompareAndSwap(nil, &me)
	}
}

// known is what is known of the bot without asking: its id is the first part
// of the token.
func (a *Adapter) known() identity {
	if me := a.me.Load(); me != nil {
		return *me
	}
	head, _, _ := strings.Cut(a.cfg.Token.Reveal(), ".")
	id, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(head, "="))
	if err != nil || snowflake(string(id)) == 0 {
		return identity{}
	}
	return identity{ID: string(id)}
}

// Check asks who the token belongs to, and describes it. A setting that keeps
// the bot from hearing is an error.
func (a *Adapter) Check(ctx context.Context) (string, error) {
	app, err := a.application(ctx)
	if err != nil {
		if refusedToken(err) {
			err = a.tokenError(err)
		}
		return "", fmt.Errorf("asking for the application: %w", err)
	}
	if problem := a.problem(app); problem != "" {
		return "", errors.New(problem)
	}
	content := "message content intent on"
	if app.Flags&flagsContent == 0 {
		content = "message content intent off: in servers it hears mentions, replies that ping it and commands"
	}
	return fmt.Sprintf("%s (id %s; %s)", app.Bot.Username, app.Bot.ID, content), nil
}

const (
	keyCommands = "commands"
	// commandAsk takes a text: the way to write where messages don't come.
	commandAsk = "ask"
)

// command is a slash command. discordgo's own can't leave fields out that
// commands of this kind must not have.
type command struct {
	Name         string                      `json:"name"`
	Type         int                         `json:"type"`
	Description  string                      `json:"description"`
	Descriptions map[discordgo.Locale]string `json:"description_localizations,omitempty"`
	Options      []option                    `json:"options,omitempty"`
	Contexts     []int                       `json:"contexts"`
}

type option struct {
	Type         int                         `json:"type"`
	Name         string                      `json:"name"`
	Description  string                      `json:"description"`
	Descriptions map[discordgo.Locale]string `json:"description_localizations,omitempty"`
	Required     bool                        `json:"required,omitempty"`
	MaxLength    int                         `json:"max_length,omitempty"`
}

// commands are those of every chat, and ask.
func commands() []command {
	spanish := func(s string) map[discordgo.Locale]string {
		return map[discordgo.Locale]string{discordgo.SpanishES: s, discordgo.SpanishLATAM: s}
	}
	text := func(name, en, es string, required bool, most int) []option {
		return []option{{Type: 3, Name: name, Description: en, Descriptions: spanish(es), Required: required, MaxLength: most}}
	}
	list := []command{
		{Name: commandAsk, Description: "Say something to the bot", Descriptions: spanish("Decirle algo al bot"),
			Options: text("text", "What you want to say", "Lo que quieres decir", true, 4000)},
		{Name: "reset", Description: "Start over and forget this conversation", Descriptions: spanish("Empezar de nuevo y olvidar esta conversación")},
		{Name: "cancel", Description: "Stop what is going on", Descriptions: spanish("Detener lo que está en curso")},
		{Name: "lang", Description: "See or change the language", Descriptions: spanish("Ver o cambiar el idioma"),
			Options: text("language", "Its code, such as en or es", "Su código, como en o es", false, 20)},
		{Name: "help", Description: "Show the help", Descriptions: spanish("Mostrar la ayuda")},
		{Name: "start", Description: "Begin", Descriptions: spanish("Empezar")},
	}
	for i := range list {
		list[i].Type, list[i].Contexts = 1, []int{0, 1} // in servers, and with the bot
	}
	return list
}

// registerCommands sets the slash commands, once until they change. Failing is
// no trouble: the same works in writing.
func (a *Adapter) registerCommands(ctx context.Context) {
	me := a.known()
	want, err := json.Marshal(commands())
	if err != nil || me.App == "" {
		return
	}
	noted := append([]byte(me.App+" "), want...)
	if have, err := a.state.Get(ctx, keyCommands); err != nil || string(have) == string(noted) {
		return
	}
	if err := a.rest.call(ctx, http.MethodPut, "/applications/"+me.App+"/commands", json.RawMessage(want), nil); err != nil {
		if ctx.Err() == nil {
			a.log.Warn("commands could not be registered", "err", err)
		}
		return
	}
	// Also while stopping: the call was made.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := channels.Put(ctx, a.state, keyCommands, noted); err != nil {
		a.log.Warn("registered commands could not be noted", "err", err)
		return
	}
	a.log.Debug("commands registered")
}
