package whatsappcloud

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/parley-bot/parley/channels"
)

// take hands everything of a change to the sink, in order. An error means that
// something was not committed, and that nothing behind it was tried: order in
// a chat is kept when the batch comes again.
func (a *Adapter) take(ctx context.Context, sink channels.Sink, v value) error {
	if v.Metadata.PhoneNumberID != a.cfg.PhoneNumberID {
		a.log.Debug("event of another number ignored", "phone_number_id", v.Metadata.PhoneNumberID)
		return nil
	}
	for _, raw := range v.Errors {
		a.log.Error("the platform reports an error of the account", "err", a.graph.clean(readError(raw)))
	}
	for _, raw := range v.Messages {
		var m wireMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			a.log.Error("message of an unknown shape was left out", "err", shape(err))
			continue
		}
		if err := a.message(ctx, sink, v, m); err != nil {
			return err
		}
	}
	return a.statuses(ctx, sink, v.Statuses)
}

// shape is a JSON error without what it quotes.
func shape(err error) string {
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return "wrong type at " + te.Field
	}
	return "no JSON"
}

func (a *Adapter) message(ctx context.Context, sink channels.Sink, v value, m wireMessage) error {
	in, ok := content(m)
	switch {
	case !ok:
		a.log.Debug("message that needs no answer ignored", "type", m.Type)
		return nil
	case m.ID == "" || m.From == "" && m.FromUserID == "":
		a.log.Error("message without id or sender was left out", "type", m.Type)
		return nil
	case m.From != "" && m.From == digits(v.Metadata.DisplayPhoneNumber):
		return nil // the number's own
	}
	person, err := a.people.chat(ctx, m.From, m.FromUserID)
	if err != nil {
		a.log.Error("sender could not be looked up", "err", err)
		return err
	}
	in.Chat = channels.Chat{ID: person}
	if m.GroupID != "" {
		in.Chat = channels.Chat{ID: channels.ChatID(m.GroupID), Group: true}
		in.Mentioned = m.Context.From != "" && digits(m.Context.From) == digits(v.Metadata.DisplayPhoneNumber)
	}
	in.From = channels.User{ID: channels.UserID(person), Name: nameOf(v.Contacts, m), Claims: claims(m)}
	in.ReplyTo, in.At = channels.MessageID(m.Context.ID), m.Timestamp.Time
	err = sink.Accept(ctx, in)
	if refused, ok := errors.AsType[*channels.RefusedError](err); ok && refused.Reason != channels.RefusedUnavailable {
		// It will never be taken: nothing is won by having it again.
		a.log.Info("message refused", "reason", refused.Reason)
		return nil
	}
	if err != nil {
		return err
	}
	if in.Kind != channels.KindEdit {
		a.people.saw(in.Chat.ID, in.ID, in.At)
	}
	return nil
}

// content is what the message says; ok is false for what wants no answer.
func content(m wireMessage) (in channels.Inbound, ok bool) {
	in = channels.Inbound{Kind: channels.KindMessage, ID: channels.MessageID(m.ID)}
	switch m.Type {
	case "text":
		in.Text = m.Text.Body
	case "interactive":
		pressed := m.Interactive.ButtonReply
		if m.Interactive.Type == "list_reply" {
			pressed = m.Interactive.ListReply
		}
		if pressed.ID == "" {
			in.Media = []channels.Media{{Type: "other"}}
			break
		}
		in.Kind, in.Button = channels.KindPress, channels.ButtonID(pressed.ID)
	case "button":
		// The quick reply of a template: no button of ours, but what the
		// person says by it.
		in.Text = m.Button.Text
		if in.Text == "" {
			in.Text = m.Button.Payload
		}
	case "image", "audio", "video", "document", "sticker":
		in.Text, in.Media = file(m)
	case "location":
		in.Media = []channels.Media{{
			Type: "location", Name: strings.TrimSpace(m.Location.Name + " " + m.Location.Address),
			Ref: m.Location.Latitude.String() + "," + m.Location.Longitude.String(),
		}}
	case "contacts":
		in.Media = []channels.Media{{Type: "contact"}}
		if len(m.Contacts) > 0 {
			in.Media[0].Name = m.Contacts[0].Name.FormattedName
		}
	case "edit":
		var now wireMessage
		if m.Edit.OriginalMessageID == "" || json.Unmarshal(m.Edit.Message, &now) != nil {
			return in, false
		}
		in.Kind, in.ID, in.EditStamp = channels.KindEdit, channels.MessageID(m.Edit.OriginalMessageID), m.ID
		in.Text = now.Text.Body
	case "reaction", "revoke", "system", "ephemeral", "request_welcome":
		return in, false
	default: // unsupported, order, and whatever comes next
		in.Media = []channels.Media{{Type: "other"}}
	}
	return in, true
}

func file(m wireMessage) (caption string, media []channels.Media) {
	f := map[string]wireMedia{
		"image": m.Image, "audio": m.Audio, "video": m.Video, "document": m.Document, "sticker": m.Sticker,
	}[m.Type]
	return f.Caption, []channels.Media{{Type: m.Type, MIME: f.MIMEType, Name: f.Filename, Ref: f.ID}}
}

// nameOf is what the sender calls themselves.
func nameOf(contacts []json.RawMessage, m wireMessage) string {
	for _, raw := range contacts {
		var c wireContact
		if json.Unmarshal(raw, &c) != nil {
			continue
		}
		if c.WAID != "" && c.WAID == m.From || c.UserID != "" && c.UserID == m.FromUserID || len(contacts) == 1 {
			if c.Profile.Name != "" {
				return c.Profile.Name
			}
			return c.Profile.Username
		}
	}
	return ""
}

// claims are what WhatsApp vouches for.
func claims(m wireMessage) map[string]string {
	c := map[string]string{}
	if m.From != "" {
		c["phone"] = "+" + strings.TrimPrefix(m.From, "+")
	}
	if m.FromUserID != "" {
		c["whatsapp_user_id"] = m.FromUserID
	}
	return c
}

// digits is a phone number without how it is written.
func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}
