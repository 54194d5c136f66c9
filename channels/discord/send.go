package discord

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"github.com/parley-bot/parley/channels"
)

// Discord's limits on messages.
const (
	maxText     = 2000 // code points
	maxRows     = 5
	perRow      = 5
	maxLabel    = 80
	maxCustomID = 100
	maxNonce    = 25
)

// outgoing is a message as it is sent or edited. discordgo's own has no nonce,
// and sends lists as null.
type outgoing struct {
	Content    string                            `json:"content"`
	Components []discordgo.MessageComponent      `json:"components"`
	Mentions   *discordgo.MessageAllowedMentions `json:"allowed_mentions"`
	Flags      discordgo.MessageFlags            `json:"flags,omitempty"`
	Reference  *discordgo.MessageReference       `json:"message_reference,omitempty"`
	Nonce      string                            `json:"nonce,omitempty"`
	Enforce    bool                              `json:"enforce_nonce,omitempty"`
}

// message is a text for Discord: nobody is notified by what a model writes,
// and links have no previews.
func message(part channels.Part) (*outgoing, error) {
	rows, err := components(part.Buttons)
	if err != nil {
		return nil, err
	}
	return &outgoing{Content: part.Text, Components: rows, Mentions: nobody(), Flags: discordgo.MessageFlagsSuppressEmbeds}, nil
}

func nobody() *discordgo.MessageAllowedMentions {
	return &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}
}

// Send makes one call that creates a message. The same key again within some
// minutes gives the same message.
func (a *Adapter) Send(ctx context.Context, part channels.Part) (channels.Receipt, error) {
	if part.Private != "" && part.Chat.Group {
		return channels.Receipt{}, never(errors.New("in a group only a press can be answered privately"))
	}
	m, err := message(part)
	if err == nil {
		err = snowflakes(string(part.Chat.ID))
	}
	if err != nil {
		return channels.Receipt{}, never(err)
	}
	if part.Key != "" {
		m.Nonce, m.Enforce = nonce(part.Key), true
	}
	reply := route{http.MethodPost, string(part.Chat.ID), replies}
	if part.ReplyTo != "" && snowflakes(string(part.ReplyTo)) == nil && a.brake.refused(reply, a.now()) == nil {
		m.Reference = &discordgo.MessageReference{MessageID: string(part.ReplyTo), FailIfNotExists: new(bool)}
	}
	var sent struct {
		ID string `json:"id"`
	}
	if err := a.at(ctx, http.MethodPost, string(part.Chat.ID), messages, m, &sent); err != nil {
		if e, ok := errors.AsType[*apiError](err); ok && e.code == codeCantReply {
			a.brake.cantReply(reply.channel, e, a.now()) // the next try goes without
		}
		return channels.Receipt{}, sendError(err)
	}
	if sent.ID == "" {
		return channels.Receipt{}, &channels.SendError{Class: channels.Unknown, Err: errors.New("sent message has no id")}
	}
	return channels.Receipt{ID: channels.MessageID(sent.ID)}, nil
}

// Edit makes one call that replaces text and buttons. It goes by the message
// and not by an interaction, whose token dies after 15 minutes.
func (a *Adapter) Edit(ctx context.Context, id channels.MessageID, part channels.Part) error {
	m, err := message(part)
	if err == nil {
		err = snowflakes(string(part.Chat.ID), string(id))
	}
	if err != nil {
		return never(err)
	}
	if err := a.at(ctx, http.MethodPatch, string(part.Chat.ID), messages+"/"+string(id), m, nil); err != nil {
		return sendError(err)
	}
	return nil
}

// Typing makes one call. The sign can't be taken away; it ends by itself, or
// with the next message.
func (a *Adapter) Typing(ctx context.Context, chat channels.Chat, until time.Time) {
	if until.IsZero() || !until.After(a.now()) || snowflakes(string(chat.ID)) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := a.at(ctx, http.MethodPost, string(chat.ID), typing, nil, nil); err != nil && ctx.Err() == nil {
		a.log.Debug("sign of typing failed", "err", err)
	}
}

func never(err error) error {
	return &channels.SendError{Class: channels.PermanentMessage, Err: err}
}

// snowflakes tells what is no id of Discord's; such a thing must not get into
// a path.
func snowflakes(ids ...string) error {
	for _, id := range ids {
		if snowflake(id) == 0 {
			return fmt.Errorf("%.30q is no id of discord's", id)
		}
	}
	return nil
}

// nonce makes of a key what Discord takes for one.
func nonce(key string) string {
	sum := sha256.Sum256([]byte(key))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:maxNonce]
}

// components lays buttons out: short labels up to five in a row, others below
// each other as long as there is room.
func components(buttons []channels.Button) ([]discordgo.MessageComponent, error) {
	rows := []discordgo.MessageComponent{}
	if len(buttons) > maxRows*perRow {
		return nil, fmt.Errorf("%d buttons: %d are possible", len(buttons), maxRows*perRow)
	}
	n := perRow
	for _, b := range buttons {
		if utf8.RuneCountInString(b.Label) > 20 && len(buttons) <= maxRows {
			n = 1
		}
	}
	var row discordgo.ActionsRow
	for i, b := range buttons {
		if size := utf8.RuneCountInString(string(b.ID)); size == 0 || size > maxCustomID {
			return nil, fmt.Errorf("id of a button has %d characters; 1 to %d are possible", size, maxCustomID)
		}
		style := discordgo.SecondaryButton
		if b.Value == "yes" {
			style = discordgo.PrimaryButton
		}
		row.Components = append(row.Components, discordgo.Button{Label: b.Label, Style: style, CustomID: string(b.ID)})
		if len(row.Components) == n || i == len(buttons)-1 {
			rows = append(rows, row)
			row = discordgo.ActionsRow{}
		}
	}
	return rows, nil
}
