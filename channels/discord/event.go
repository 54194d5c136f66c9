package discord

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-bot/parley/channels"
)

// The kinds of messages that people write; all others are Discord's own
// (https://docs.discord.com/developers/resources/message#message-object-message-types).
const (
	typeDefault = 0
	typeReply   = 19
)

type user struct {
	ID         string `json:"id"`
	Username   string `json:"username"`
	GlobalName string `json:"global_name"`
	Bot        bool   `json:"bot"`
}

type member struct {
	Nick string `json:"nick"`
	User *user  `json:"user"`
}

// incoming is the part of a message that is used.
type incoming struct {
	ID           string    `json:"id"`
	ChannelID    string    `json:"channel_id"`
	GuildID      string    `json:"guild_id"`
	Type         int       `json:"type"`
	Author       *user     `json:"author"`
	Member       *member   `json:"member"`
	WebhookID    string    `json:"webhook_id"`
	Content      string    `json:"content"`
	Edited       string    `json:"edited_timestamp"`
	Mentions     []user    `json:"mentions"`
	MentionRoles []string  `json:"mention_roles"`
	Attachments  []file    `json:"attachments"`
	Reference    reference `json:"message_reference"`
	Referenced   *struct {
		Author *user `json:"author"`
	} `json:"referenced_message"`

	// What may stand in a message without a text.
	Stickers   present `json:"sticker_items"`
	Embeds     present `json:"embeds"`
	Components present `json:"components"`
	Snapshots  present `json:"message_snapshots"` // what it forwards
	Poll       present `json:"poll"`
}

type reference struct {
	// Type is 0 for a reply and 1 for what is passed on.
	Type      int    `json:"type"`
	MessageID string `json:"message_id"`
	ChannelID string `json:"channel_id"`
}

type file struct {
	Name string `json:"filename"`
	MIME string `json:"content_type"`
	Size int64  `json:"size"`
	URL  string `json:"url"`
}

// present tells that a field is there and not empty, whatever it holds.
type present bool

// UnmarshalJSON reads nothing of it.
func (p *present) UnmarshalJSON(b []byte) error {
	*p = string(b) != "null" && string(b) != "[]"
	return nil
}

// inbound translates a message. It is pure. ok is false for what isn't a
// person's, or has nothing in it.
func (m *incoming) inbound(me identity, roles []string) (in channels.Inbound, ok bool) {
	if m.ID == "" || m.ChannelID == "" || m.Type != typeDefault && m.Type != typeReply || m.WebhookID != "" ||
		m.Author == nil || m.Author.ID == "" || m.Author.Bot || m.Author.ID == me.ID {
		return in, false
	}
	in = channels.Inbound{
		Kind: channels.KindMessage, ID: channels.MessageID(m.ID), From: person(m.Author, m.Member, ""),
		// A thread is a channel like others.
		Chat: channels.Chat{ID: channels.ChatID(m.ChannelID), Group: m.GuildID != ""},
		Text: m.Content, Media: m.media(), At: born(m.ID),
	}
	if in.Text == "" && len(in.Media) == 0 {
		return in, false
	}
	if m.Reference.MessageID != "" && m.Reference.Type == 0 && m.Reference.ChannelID == m.ChannelID {
		in.ReplyTo = channels.MessageID(m.Reference.MessageID)
	}
	named, text := m.addressed(me, roles)
	in.Text = text
	if in.Chat.Group {
		in.Mentioned = named || m.Referenced != nil && m.Referenced.Author != nil && m.Referenced.Author.ID == me.ID && me.ID != ""
	}
	return in, true
}

// edit is the message as a change of one; ok is false where nobody changed it:
// Discord also tells of previews that it adds.
func (m *incoming) edit(me identity, roles []string) (in channels.Inbound, ok bool) {
	if m.Edited == "" {
		return in, false
	}
	in, ok = m.inbound(me, roles)
	in.Kind, in.EditStamp = channels.KindEdit, m.Edited
	return in, ok
}

// bare tells whether a message has nothing at all in it, as those have whose
// contents the bot may not see.
func (m *incoming) bare() bool {
	return (m.Type == typeDefault || m.Type == typeReply) && m.GuildID != "" && m.Content == "" && len(m.Attachments) == 0 &&
		!bool(m.Stickers || m.Embeds || m.Components || m.Snapshots || m.Poll)
}

// addressed tells whether the text names the bot or its role, and gives the
// text without the name where it stands at the beginning or the end: “@bot
// yes” is a yes.
func (m *incoming) addressed(me identity, roles []string) (named bool, text string) {
	var forms []string
	if slices.ContainsFunc(m.Mentions, func(u user) bool { return u.ID == me.ID && me.ID != "" }) {
		forms = append(forms, "<@"+me.ID+">", "<@!"+me.ID+">")
		// Also true of a reply that pings; its text holds no name.
		named = true
	}
	for _, r := range m.MentionRoles {
		if slices.Contains(roles, r) {
			forms, named = append(forms, "<@&"+r+">"), true
		}
	}
	text = m.Content
	for _, f := range forms {
		t := strings.TrimSpace(text)
		if rest, ok := strings.CutPrefix(t, f); ok {
			rest = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(rest), ",:"))
			if rest != "" {
				text = rest
			}
		} else if rest, ok := strings.CutSuffix(t, f); ok {
			if rest = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(rest), ",")); rest != "" {
				text = rest
			}
		}
	}
	return named, text
}

// media is what came with the message.
func (m *incoming) media() []channels.Media {
	var out []channels.Media
	for _, f := range m.Attachments {
		kind, _, _ := strings.Cut(f.MIME, "/")
		switch kind {
		case "image", "audio", "video":
		default:
			kind = "document"
		}
		out = append(out, channels.Media{Type: kind, MIME: f.MIME, Name: f.Name, Size: max(f.Size, 0), Ref: f.URL})
	}
	if m.Stickers {
		out = append(out, channels.Media{Type: "sticker"})
	}
	if m.Poll || m.Snapshots {
		out = append(out, channels.Media{Type: "other"})
	}
	return out
}

// person is a user, by the name that others see.
func person(u *user, m *member, lang string) channels.User {
	out := channels.User{ID: channels.UserID(u.ID), Name: u.GlobalName, Lang: lang}
	if m != nil && m.Nick != "" {
		out.Name = m.Nick
	}
	if out.Name == "" {
		out.Name = u.Username
	}
	if u.Username != "" {
		out.Claims = map[string]string{"username": u.Username}
	}
	return out
}

// discordEpoch is the first millisecond of a snowflake
// (https://docs.discord.com/developers/reference#snowflakes).
const discordEpoch = 1420070400000

// snowflake reads an id, which tells its time; 0 is none.
func snowflake(id string) uint64 {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil || strconv.FormatUint(n, 10) != id {
		return 0
	}
	return n
}

// born is when an id was made; zero where it is none.
func born(id string) time.Time {
	n := snowflake(id)
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(n>>22) + discordEpoch)
}

// first is the first id of a time.
func first(at time.Time) uint64 {
	return uint64(max(1, at.UnixMilli()-discordEpoch)) << 22
}
