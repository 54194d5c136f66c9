package whatsappweb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"

	"github.com/parley-bot/parley/channels"
)

// Send makes one message. While the account isn't connected nothing is sent,
// and the outbox tries again, also where a person has to link a device first.
func (a *Adapter) Send(ctx context.Context, part channels.Part) (channels.Receipt, error) {
	id, err := a.deliver(ctx, part, a.draft(part), nil)
	return channels.Receipt{ID: channels.MessageID(id)}, err
}

// Edit replaces the text of a message.
func (a *Adapter) Edit(ctx context.Context, id channels.MessageID, part channels.Part) error {
	_, err := a.deliver(ctx, part, a.draft(part), func(cli *whatsmeow.Client, to types.JID, m *waE2E.Message) *waE2E.Message {
		return cli.BuildEdit(to, string(id), m)
	})
	return err
}

// deliver sends m, or what wrap makes of it, under the id that part.Key has.
func (a *Adapter) deliver(ctx context.Context, part channels.Part, m *waE2E.Message, wrap func(*whatsmeow.Client, types.JID, *waE2E.Message) *waE2E.Message) (types.MessageID, error) {
	to, err := a.people.address(part.Chat.ID)
	if err != nil {
		return "", &channels.SendError{Class: channels.PermanentChat, Err: err}
	}
	c := a.conn.Load()
	if c == nil {
		return "", &channels.SendError{Class: channels.Temporary, Err: fmt.Errorf("not connected to WhatsApp (%s)", a.Link().State)}
	}
	id, err := a.sent.id(ctx, a.deps.Name, part)
	if err != nil {
		return "", &channels.SendError{Class: channels.Temporary, Err: err}
	}
	if to, err = hidden(ctx, c.cli, to, true); err != nil {
		return "", err
	}
	if wrap != nil {
		m = wrap(c.cli, to, m)
	}
	// Before the message leaves: a device may ask for it again at once.
	a.sent.keep(id, m)
	resp, err := a.post(ctx, c.cli, to, m, whatsmeow.SendRequestExtra{ID: id, Timeout: sendTime})
	if err != nil {
		return "", sendError(err)
	}
	if err := a.sent.save(ctx); err != nil {
		a.log.Warn("sent message was not kept for devices that ask again", "err", err)
	}
	return resp.ID, nil
}

// draft is the message as the SDK wants it.
func (a *Adapter) draft(part channels.Part) *waE2E.Message {
	quote := a.quote(part)
	if quote == nil {
		return &waE2E.Message{Conversation: new(part.Text)}
	}
	return &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: new(part.Text), ContextInfo: quote}}
}

// quote refers to the message that is answered, where its author is known.
func (a *Adapter) quote(part channels.Part) *waE2E.ContextInfo {
	id, _, _ := strings.Cut(string(part.ReplyTo), "/")
	s, ok := a.people.last(part.Chat.ID)
	if id == "" || !ok || s.id != id {
		return nil
	}
	return &waE2E.ContextInfo{
		StanzaID: new(id), Participant: new(s.from.String()), QuotedMessage: &waE2E.Message{Conversation: new("")},
	}
}

// markRead marks messages as read, those of one sender at a time.
func (a *Adapter) markRead(ctx context.Context, cli *whatsmeow.Client, list []unread) error {
	var errs []error
	for len(list) > 0 {
		first := list[0]
		var ids []types.MessageID
		list = slices.DeleteFunc(list, func(u unread) bool {
			same := u.addr == first.addr && u.from == first.from
			if same {
				ids = append(ids, u.id)
			}
			return same
		})
		errs = append(errs, cli.MarkRead(ctx, ids, a.now(), first.addr, first.from))
	}
	return errors.Join(errs...)
}

// Typing shows the sign of writing, or takes it away, and marks what was
// written in the chat until now as read.
func (a *Adapter) Typing(ctx context.Context, chat channels.Chat, until time.Time) {
	c := a.conn.Load()
	to, err := a.people.address(chat.ID)
	if c == nil || err != nil {
		return
	}
	presence := types.ChatPresenceComposing
	if until.IsZero() {
		presence = types.ChatPresencePaused
	}
	var errs []error
	if a.cfg.MarkRead && !until.IsZero() {
		errs = append(errs, a.markRead(ctx, c.cli, a.people.read(chat.ID)))
	}
	if to, err = hidden(ctx, c.cli, to, false); err == nil {
		err = c.cli.SendChatPresence(ctx, to, presence, types.ChatPresenceMediaText)
	}
	errs = append(errs, err)
	if err := errors.Join(errs...); err != nil {
		a.log.Debug("sign of typing was not shown", "err", err)
	}
}
