package telegram

import (
	"strconv"
	"strings"
	"time"

	"github.com/parley-bot/parley/channels"
)

// update is the part of an Update that is used
// (https://core.telegram.org/bots/api#update).
type update struct {
	ID            int64         `json:"update_id"`
	Message       *message      `json:"message"`
	EditedMessage *message      `json:"edited_message"`
	CallbackQuery *press        `json:"callback_query"`
	MyChatMember  *chatMembered `json:"my_chat_member"`
}

type user struct {
	ID           int64  `json:"id"`
	IsBot        bool   `json:"is_bot"`
	FirstName    string `json:"first_name"`
	LastName     string `json:"last_name"`
	Username     string `json:"username"`
	LanguageCode string `json:"language_code"`
}

type chat struct {
	ID       int64  `json:"id"`
	Type     string `json:"type"`
	Title    string `json:"title"`
	Username string `json:"username"`
}

type message struct {
	ID               int64    `json:"message_id"`
	Date             int64    `json:"date"`
	EditDate         int64    `json:"edit_date"`
	Chat             chat     `json:"chat"`
	From             *user    `json:"from"`
	SenderChat       *chat    `json:"sender_chat"`
	ThreadID         int64    `json:"message_thread_id"`
	IsTopicMessage   bool     `json:"is_topic_message"`
	AutomaticForward bool     `json:"is_automatic_forward"`
	ReplyTo          *message `json:"reply_to_message"`
	TopicCreated     present  `json:"forum_topic_created"`
	Text             string   `json:"text"`
	Entities         []entity `json:"entities"`
	Caption          string   `json:"caption"`
	CaptionEntities  []entity `json:"caption_entities"`
	MigrateTo        int64    `json:"migrate_to_chat_id"`
	MigrateFrom      int64    `json:"migrate_from_chat_id"`

	files
}

type press struct {
	ID      string   `json:"id"`
	From    user     `json:"from"`
	Message *message `json:"message"` // may be inaccessible: ids only, date 0
	Data    string   `json:"data"`
}

type chatMembered struct {
	Chat chat `json:"chat"`
	New  struct {
		Status string `json:"status"`
	} `json:"new_chat_member"`
}

// chatID is the chat that the update belongs to, 0 where it names none.
func (u *update) chatID() int64 {
	switch {
	case u.Message != nil:
		return u.Message.Chat.ID
	case u.EditedMessage != nil:
		return u.EditedMessage.Chat.ID
	case u.CallbackQuery != nil && u.CallbackQuery.Message != nil:
		return u.CallbackQuery.Message.Chat.ID
	case u.MyChatMember != nil:
		return u.MyChatMember.Chat.ID
	default:
		return 0
	}
}

// inbound translates an update. It is pure. ok is false for what isn't a
// person's doing or has nothing in it.
func (u *update) inbound(me identity) (in channels.Inbound, ok bool) {
	switch {
	case u.Message != nil:
		return u.Message.inbound(me)
	case u.EditedMessage != nil:
		in, ok = u.EditedMessage.inbound(me)
		in.Kind, in.EditStamp = channels.KindEdit, strconv.FormatInt(u.EditedMessage.EditDate, 10)
		return in, ok
	case u.CallbackQuery != nil:
		return u.CallbackQuery.inbound()
	}
	return channels.Inbound{}, false
}

// group tells whether the update was made in one.
func (u *update) group() bool {
	m := u.Message
	if m == nil {
		m = u.EditedMessage
	}
	return m != nil && m.Chat.group()
}

func (c chat) group() bool { return c.Type != "private" }

// place is where the message is. The thread is told for topics only: a plain
// reply has a thread id too, which must not be sent back.
func (m *message) place() channels.Chat {
	c := channels.Chat{ID: channels.ChatID(strconv.FormatInt(m.Chat.ID, 10)), Group: m.Chat.group()}
	if m.IsTopicMessage && m.ThreadID > generalTopic {
		c.Thread = channels.ThreadID(strconv.FormatInt(m.ThreadID, 10))
	}
	return c
}

// generalTopic is the id of a forum's topic General, which is refused when
// sent.
const generalTopic = 1

// sender is who wrote it. An anonymous administrator, or a channel that takes
// part, writes under a placeholder that all such share: the chat they speak
// for is told instead.
func (m *message) sender(me identity) (channels.User, bool) {
	switch {
	case m.AutomaticForward:
		return channels.User{}, false
	case m.SenderChat != nil && m.SenderChat.ID != 0:
		return channels.User{ID: channels.UserID(strconv.FormatInt(m.SenderChat.ID, 10)), Name: m.SenderChat.Title}, true
	case m.From == nil, m.From.ID == 0, m.From.IsBot, m.From.ID == me.ID:
		return channels.User{}, false
	}
	return m.From.user(), true
}

func (u user) user() channels.User {
	out := channels.User{
		ID:   channels.UserID(strconv.FormatInt(u.ID, 10)),
		Name: strings.TrimSpace(u.FirstName + " " + u.LastName), Lang: u.LanguageCode,
	}
	if out.Name == "" {
		out.Name = u.Username
	}
	if u.Username != "" {
		out.Claims = map[string]string{"username": u.Username}
	}
	return out
}

func (m *message) inbound(me identity) (channels.Inbound, bool) {
	from, ok := m.sender(me)
	if !ok || m.ID == 0 || m.Chat.ID == 0 || m.Chat.Type == "channel" {
		return channels.Inbound{}, false
	}
	in := channels.Inbound{
		Kind: channels.KindMessage, ID: channels.MessageID(strconv.FormatInt(m.ID, 10)), Chat: m.place(), From: from,
		Text: m.Text, Media: m.media(),
	}
	entities := m.Entities
	if in.Text == "" {
		in.Text, entities = m.Caption, m.CaptionEntities
	}
	if in.Text == "" && len(in.Media) == 0 {
		return channels.Inbound{}, false // a service message
	}
	if m.Date > 0 {
		in.At = time.Unix(m.Date, 0)
	}
	if r := m.ReplyTo; r != nil && r.ID != 0 && !bool(r.TopicCreated) && !(m.IsTopicMessage && r.ID == m.ThreadID) {
		// Every message of a topic "replies" to the topic's creation.
		in.ReplyTo = channels.MessageID(strconv.FormatInt(r.ID, 10))
		in.Mentioned = r.From != nil && r.From.ID == me.ID && me.ID != 0
	}
	if in.Chat.Group {
		named, text := me.addressed(in.Text, entities)
		in.Mentioned = in.Mentioned || named
		in.Text = text
	} else {
		in.Mentioned = false
	}
	return in, true
}

// handle is what a press needs to be acknowledged.
type handle struct{ query string }

func (p *press) inbound() (channels.Inbound, bool) {
	if p.ID == "" || p.From.ID == 0 || p.Data == "" || p.Message == nil || p.Message.Chat.ID == 0 {
		return channels.Inbound{}, false
	}
	in := channels.Inbound{
		Kind: channels.KindPress, ID: channels.MessageID(p.ID), Chat: p.Message.place(), From: p.From.user(),
		Button: channels.ButtonID(p.Data), Handle: handle{p.ID},
	}
	in.Mentioned = in.Chat.Group // a button of the bot's is meant for the bot
	return in, true
}
