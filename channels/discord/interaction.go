package discord

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/parley-bot/parley/channels"
)

// The kinds of interactions that are worked on.
const (
	kindPing    = 1
	kindCommand = 2
	kindPress   = 3

	componentButton = 2
)

// interaction is the part of one that is used.
type interaction struct {
	ID        string  `json:"id"`
	AppID     string  `json:"application_id"`
	Token     string  `json:"token"`
	Type      int     `json:"type"`
	GuildID   string  `json:"guild_id"`
	ChannelID string  `json:"channel_id"`
	Member    *member `json:"member"` // in a server
	User      *user   `json:"user"`   // in a direct conversation
	Locale    string  `json:"locale"`
	Data      struct {
		ComponentType int    `json:"component_type"`
		CustomID      string `json:"custom_id"`
		Name          string `json:"name"`
		Options       []struct {
			Name  string `json:"name"`
			Value any    `json:"value"`
		} `json:"options"`
	} `json:"data"`
}

// inbound translates an interaction: a press, or a command as if it had been
// written. ok is false for what is neither.
func (i *interaction) inbound() (in channels.Inbound, ok bool) {
	u := i.User
	if i.Member != nil && i.Member.User != nil {
		u = i.Member.User
	}
	if i.ID == "" || i.ChannelID == "" || u == nil || u.ID == "" {
		return in, false
	}
	in = channels.Inbound{
		ID: channels.MessageID(i.ID), Chat: channels.Chat{ID: channels.ChatID(i.ChannelID), Group: i.GuildID != ""},
		From: person(u, i.Member, i.Locale), At: born(i.ID),
	}
	in.Mentioned = in.Chat.Group // what is the bot's is meant for the bot
	switch {
	case i.Type == kindPress && i.Data.ComponentType == componentButton && i.Data.CustomID != "":
		in.Kind, in.Button = channels.KindPress, channels.ButtonID(i.Data.CustomID)
	case i.Type == kindCommand && i.Data.Name != "":
		in.Kind, in.Text = channels.KindMessage, i.text()
	default:
		return in, false
	}
	return in, in.Text != "" || in.Button != ""
}

// text is what a command would be in writing.
func (i *interaction) text() string {
	var words []string
	if i.Data.Name != commandAsk {
		words = append(words, "/"+i.Data.Name)
	}
	for _, o := range i.Data.Options {
		if s, ok := o.Value.(string); ok && s != "" {
			words = append(words, s)
		}
	}
	return strings.Join(words, " ")
}

// handle is how an interaction is answered, once.
type handle struct {
	interaction
	// deferred is closed when Discord has been told that an answer comes.
	deferred chan struct{}
	// answer takes the answer where it goes back on the request that brought
	// the interaction; otherwise it is nil.
	answer chan response
	given  atomic.Bool
}

// deferral is the answer that promises one: for a press it shows nothing, for
// a command, to the person alone, that the bot is thinking.
func (h *handle) deferral() response {
	if h.Type == kindPress {
		return response{Type: discordgo.InteractionResponseDeferredMessageUpdate}
	}
	return response{Type: discordgo.InteractionResponseDeferredChannelMessageWithSource, Data: &responseData{Flags: discordgo.MessageFlagsEphemeral}}
}

// notice is the answer that shows a text to the person alone; an empty one
// shows nothing.
func (h *handle) notice(text string) response {
	if text == "" {
		return h.deferral()
	}
	return response{Type: discordgo.InteractionResponseChannelMessageWithSource, Data: private(text)}
}

// response answers an interaction. discordgo's own can't leave fields out.
type response struct {
	Type discordgo.InteractionResponseType `json:"type"`
	Data *responseData                     `json:"data,omitempty"`
}

type responseData struct {
	Content  string                            `json:"content,omitempty"`
	Mentions *discordgo.MessageAllowedMentions `json:"allowed_mentions,omitempty"`
	Flags    discordgo.MessageFlags            `json:"flags"`
}

// deferTime bounds a deferral: after three seconds it is of no use.
const deferTime = 5 * time.Second

// deferNow promises an answer. One that comes too late, or a second time after
// a resume, is no trouble: what was pressed counts.
func (a *Adapter) deferNow(ctx context.Context, h *handle) {
	defer close(h.deferred)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deferTime)
	defer cancel()
	err := a.rest.call(ctx, http.MethodPost, "/interactions/"+h.ID+"/"+h.Token+"/callback", h.deferral(), nil)
	switch {
	case err == nil:
	case over(err):
		a.log.Info("interaction was acknowledged too late, or before", "kind", h.Type, "err", err)
	default:
		a.log.Warn("interaction could not be acknowledged", "kind", h.Type, "err", err)
	}
}

// private is a message that one person sees.
func private(text string) *responseData {
	return &responseData{Content: channels.Clip(text, maxText), Mentions: nobody(), Flags: discordgo.MessageFlagsEphemeral}
}

// Ack answers a press: with a notice that only the presser sees, or with
// nothing that shows. Where it was deferred the notice follows by one call.
func (a *Adapter) Ack(ctx context.Context, in channels.Inbound, ack channels.PressAck) error {
	h, ok := in.Handle.(*handle)
	if !ok || h.Token == "" {
		return errors.New("not a press of discord's")
	}
	if !h.given.CompareAndSwap(false, true) {
		return nil
	}
	if h.answer != nil {
		h.answer <- h.notice(ack.Notice)
		return nil
	}
	select {
	case <-h.deferred:
	case <-ctx.Done():
		return ctx.Err()
	}
	if ack.Notice == "" {
		return nil
	}
	if err := a.rest.call(ctx, http.MethodPost, h.webhook(), private(ack.Notice), nil); err != nil {
		return sendError(err)
	}
	return nil
}

// webhook is where more is said on an interaction, for 15 minutes.
func (h *handle) webhook() string { return "/webhooks/" + h.AppID + "/" + h.Token }

// The signs that a command was taken, or wasn't. What the bot says to it
// follows as a message.
const (
	signTaken   = "✓"
	signRefused = "✗"
)

// resolve ends the thinking that the deferral of a command shows.
func (a *Adapter) resolve(ctx context.Context, h *handle, sign string) {
	if h.Type != kindCommand {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deferTime)
	defer cancel()
	select {
	case <-h.deferred:
	case <-ctx.Done():
		return
	}
	err := a.rest.call(ctx, http.MethodPatch, h.webhook()+"/messages/@original", struct {
		Content string `json:"content"`
	}{sign}, nil)
	if err != nil && !over(err) {
		a.log.Debug("sign on a command failed", "err", err)
	}
}
