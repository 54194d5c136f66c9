package whatsappweb

import (
	"errors"
	"slices"
	"strconv"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/parley-bot/parley/channels"
)

// message hands a message to the core; true lets the SDK acknowledge it.
func (c *connection) message(e *events.Message) bool {
	if c.stalled.Load() {
		return false
	}
	in, ok := content(e)
	if !ok || c.ignored(&e.Info) {
		return true
	}
	if err := c.place(e, &in); err != nil {
		c.a.log.Error("sender could not be looked up", "err", err)
		c.stall("a sender could not be looked up")
		return false
	}
	err := c.sink.Accept(c.ctx, in)
	if refused, is := errors.AsType[*channels.RefusedError](err); is && refused.Reason != channels.RefusedUnavailable {
		// It will never be taken: nothing is won by having it again.
		c.a.log.Info("message refused", "reason", refused.Reason)
		return true
	}
	if err != nil {
		if c.ctx.Err() == nil {
			c.a.log.Warn("message could not be taken: it comes again on a new connection", "err", err)
		}
		c.stall("a message could not be taken")
		return false
	}
	if in.Kind != channels.KindEdit {
		c.a.people.saw(in.Chat.ID, sight{addr: e.Info.Chat.ToNonAD(), id: e.Info.ID, from: e.Info.Sender.ToNonAD(), at: e.Info.Timestamp})
	}
	return true
}

// ignored tells what nobody wants an answer to: what the account itself wrote,
// on the phone or another device; status posts, broadcast lists and channels;
// and what is older than the link.
func (c *connection) ignored(info *types.MessageInfo) bool {
	switch info.Chat.Server {
	case types.DefaultUserServer, types.HiddenUserServer, types.GroupServer:
	default:
		return true
	}
	if info.IsFromMe || !info.BroadcastListOwner.IsEmpty() || info.Category == "peer" {
		return true
	}
	since := c.d.since()
	return !since.IsZero() && info.Timestamp.Before(since)
}

// place fills in the chat, the sender and the id.
func (c *connection) place(e *events.Message, in *channels.Inbound) error {
	info := &e.Info
	phone, lid, err := both(c.ctx, c.cli.Store.LIDs, info.Sender, info.SenderAlt)
	if err != nil {
		return err
	}
	person, err := c.a.people.chat(c.ctx, phone, lid)
	if err != nil {
		return err
	}
	claims := map[string]string{}
	if !phone.IsEmpty() {
		claims["phone"] = "+" + phone.User
	}
	if !lid.IsEmpty() {
		claims["whatsapp_lid"] = lid.User
	}
	in.From = channels.User{ID: channels.UserID(person), Name: info.PushName, Claims: claims}
	in.Chat = channels.Chat{ID: person}
	in.At = info.Timestamp
	if info.IsGroup {
		// Whoever writes chooses the id: in a group it must not be able to
		// stand for another person's.
		in.Chat = channels.Chat{ID: channels.ChatID(info.Chat.String()), Group: true}
		in.ID += channels.MessageID("/" + string(person))
	}
	c.refer(e, in)
	return nil
}

// content is what the message says; ok is false for what wants no answer.
func content(e *events.Message) (in channels.Inbound, ok bool) {
	in = channels.Inbound{Kind: channels.KindMessage, ID: channels.MessageID(e.Info.ID)}
	m := e.Message
	if pm := m.GetProtocolMessage(); pm != nil {
		if pm.GetType() != waE2E.ProtocolMessage_MESSAGE_EDIT || pm.GetEditedMessage() == nil {
			return in, false // deleted, timers, keys, history
		}
		in.Kind, in.EditStamp = channels.KindEdit, e.Info.ID
		in.ID = channels.MessageID(pm.GetKey().GetID())
		in.Text, _ = words(pm.GetEditedMessage())
		if in.EditStamp == string(in.ID) {
			in.EditStamp = strconv.FormatInt(pm.GetTimestampMS(), 10)
		}
		return in, in.ID != ""
	}
	var said bool
	if in.Text, said = words(m); said {
		return in, true
	}
	if media, is := file(m); is {
		in.Media = []channels.Media{media}
		in.Text = caption(m)
		return in, true
	}
	if !meaningful(m) {
		return in, false
	}
	in.Media = []channels.Media{{Type: "other"}}
	return in, true
}

// words are a text, also that of a button of somebody else's.
func words(m *waE2E.Message) (string, bool) {
	switch {
	case m.Conversation != nil:
		return m.GetConversation(), true
	case m.ExtendedTextMessage != nil:
		return m.GetExtendedTextMessage().GetText(), true
	case m.ButtonsResponseMessage != nil:
		return m.GetButtonsResponseMessage().GetSelectedDisplayText(), true
	case m.ListResponseMessage != nil:
		return m.GetListResponseMessage().GetTitle(), true
	case m.TemplateButtonReplyMessage != nil:
		return m.GetTemplateButtonReplyMessage().GetSelectedDisplayText(), true
	}
	return "", false
}

func caption(m *waE2E.Message) string {
	for _, c := range []string{
		m.GetImageMessage().GetCaption(), m.GetVideoMessage().GetCaption(), m.GetDocumentMessage().GetCaption(),
	} {
		if c != "" {
			return c
		}
	}
	return ""
}

func file(m *waE2E.Message) (channels.Media, bool) {
	size := func(n uint64) int64 { return int64(min(n, 1<<50)) }
	switch {
	case m.ImageMessage != nil:
		f := m.GetImageMessage()
		return channels.Media{Type: "image", MIME: f.GetMimetype(), Size: size(f.GetFileLength())}, true
	case m.VideoMessage != nil:
		f := m.GetVideoMessage()
		return channels.Media{Type: "video", MIME: f.GetMimetype(), Size: size(f.GetFileLength())}, true
	case m.AudioMessage != nil:
		f := m.GetAudioMessage()
		return channels.Media{Type: "audio", MIME: f.GetMimetype(), Size: size(f.GetFileLength())}, true
	case m.DocumentMessage != nil:
		f := m.GetDocumentMessage()
		return channels.Media{Type: "document", MIME: f.GetMimetype(), Name: f.GetFileName(), Size: size(f.GetFileLength())}, true
	case m.StickerMessage != nil:
		f := m.GetStickerMessage()
		return channels.Media{Type: "sticker", MIME: f.GetMimetype(), Size: size(f.GetFileLength())}, true
	case m.LocationMessage != nil, m.LiveLocationMessage != nil:
		return channels.Media{Type: "location", Name: m.GetLocationMessage().GetName()}, true
	case m.ContactMessage != nil:
		return channels.Media{Type: "contact", Name: m.GetContactMessage().GetDisplayName()}, true
	case m.ContactsArrayMessage != nil:
		return channels.Media{Type: "contact", Name: m.GetContactsArrayMessage().GetDisplayName()}, true
	}
	return channels.Media{}, false
}

// meaningful tells whether a message of a kind that isn't known here is
// something that a person sent, and no reaction, vote, pin or key.
func meaningful(m *waE2E.Message) bool {
	silent := []protoreflect.Name{
		"senderKeyDistributionMessage", "messageContextInfo", "reactionMessage", "encReactionMessage", "pollUpdateMessage",
		"keepInChatMessage", "pinInChatMessage", "stickerSyncRmrMessage", "call", "chat", "deviceSentMessage",
		"fastRatchetKeySenderKeyDistributionMessage", "encCommentMessage", "encEventResponseMessage", "placeholderMessage",
		"secretEncryptedMessage", "albumMessage", "messageHistoryNotice", "messageHistoryBundle",
	}
	found := false
	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		found = !slices.Contains(silent, f.Name())
		return !found
	})
	return found
}

// receipt tells the core what became of its messages.
func (c *connection) receipt(e *events.Receipt) bool {
	s, ok := c.sink.(channels.StatusSink)
	if !ok || e.IsFromMe {
		return true
	}
	u := channels.StatusUpdate{At: e.Timestamp}
	switch e.Type {
	case types.ReceiptTypeDelivered:
		u.State = channels.Delivered
	case types.ReceiptTypeRead, types.ReceiptTypePlayed:
		u.State = channels.Read
	default:
		return true
	}
	if e.IsGroup {
		u.Chat = channels.Chat{ID: channels.ChatID(e.Chat.String()), Group: true}
	} else {
		phone, lid, err := both(c.ctx, c.cli.Store.LIDs, e.Sender, e.SenderAlt)
		if err == nil {
			u.Chat.ID, err = c.a.people.chat(c.ctx, phone, lid)
		}
		if err != nil {
			c.a.log.Warn("receipt could not be assigned", "err", err)
			return true // nothing hangs on it
		}
	}
	for _, id := range e.MessageIDs {
		u.ID = channels.MessageID(id)
		if err := s.Status(c.ctx, u); err != nil {
			c.a.log.Warn("receipt could not be kept", "err", err)
			return c.ctx.Err() == nil
		}
	}
	return true
}
