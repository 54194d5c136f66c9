package whatsappweb

import (
	"strings"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/parley-bot/parley/channels"
)

// refer fills in what a message answers to, and whether it is meant for the
// bot.
func (c *connection) refer(e *events.Message, in *channels.Inbound) {
	quote := contextOf(e.Message)
	if quote == nil {
		return
	}
	in.ReplyTo = channels.MessageID(quote.GetStanzaID())
	if !e.Info.IsGroup {
		return
	}
	mine := c.mine(quote.GetParticipant())
	if !mine && quote.GetStanzaID() != "" {
		in.ReplyTo = "" // somebody else's: its id has another form
	}
	var names []string
	for _, addr := range quote.GetMentionedJID() {
		if c.mine(addr) {
			user, _, _ := strings.Cut(addr, "@")
			user, _, _ = strings.Cut(user, ":") // a device
			names = append(names, "@"+user)
		}
	}
	in.Mentioned = mine || len(names) > 0
	in.Text = unnamed(in.Text, names)
}

// unnamed is a text without the bot's name where it stands at the beginning or
// the end: "@15550002222 yes" is a yes. A text that is nothing else stays.
func unnamed(text string, names []string) string {
	for _, n := range names {
		t := strings.TrimSpace(text)
		rest, begins := strings.CutPrefix(t, n)
		switch {
		case begins && !startsWithDigit(rest):
			rest = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(rest), ",:"))
		case strings.HasSuffix(t, n):
			rest = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(strings.TrimSuffix(t, n)), ","))
		default:
			continue
		}
		if rest != "" {
			text = rest
		}
	}
	return text
}

// startsWithDigit tells whether what stands before is part of a longer number.
func startsWithDigit(s string) bool { return s != "" && digits(s[:1]) }

// mine tells whether an address is the account's own.
func (c *connection) mine(addr string) bool {
	jid, err := types.ParseJID(addr)
	if err != nil || jid.User == "" {
		return false
	}
	switch jid.Server {
	case types.DefaultUserServer:
		return jid.User == c.cli.Store.GetJID().User
	case types.HiddenUserServer:
		return jid.User == c.cli.Store.GetLID().User
	}
	return false
}

// contextOf is what a message refers to.
func contextOf(m *waE2E.Message) *waE2E.ContextInfo {
	if edited := m.GetProtocolMessage().GetEditedMessage(); edited != nil {
		m = edited
	}
	for _, c := range []*waE2E.ContextInfo{
		m.GetExtendedTextMessage().GetContextInfo(), m.GetImageMessage().GetContextInfo(), m.GetVideoMessage().GetContextInfo(),
		m.GetAudioMessage().GetContextInfo(), m.GetDocumentMessage().GetContextInfo(), m.GetStickerMessage().GetContextInfo(),
		m.GetLocationMessage().GetContextInfo(), m.GetContactMessage().GetContextInfo(), m.GetButtonsResponseMessage().GetContextInfo(),
	} {
		if c != nil {
			return c
		}
	}
	return nil
}
