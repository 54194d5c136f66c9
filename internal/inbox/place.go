package inbox

import (
	"slices"
	"strings"

	"github.com/parley-bot/parley/channels"
)

// place is where the message belongs: the chat's key is {channel}:{chat}, the
// lane's has the thread where there is one, and the person in groups whose
// sessions are personal.
func (p Policy) place(channel string, in channels.Inbound) Place {
	key := channel + ":" + string(in.Chat.ID)
	place := Place{Channel: channel, ChatKey: key, Lane: key, Chat: in.Chat}
	if in.Chat.Thread != "" {
		place.Lane += ":" + escape(string(in.Chat.Thread))
	}
	if in.Chat.Group && !p.Shared {
		place.Lane += ":" + escape(string(in.From.ID))
	}
	return place
}

// allows tells whether the configuration lets the person write.
func (p Policy) allows(user channels.UserID) bool {
	return p.Allow == nil && !p.Pair || slices.Contains(p.Allow, user)
}

// routed tells whether the message is meant for the bot.
func (p Policy) routed(in channels.Inbound) bool {
	return !in.Chat.Group || p.All || in.Mentioned
}

// dedupeKey names the message among all that were ever received:
// channel:account:chat:kind:id, and an edit's stamp. The account is the
// instance: its name is unique and stays.
func dedupeKey(channel string, in channels.Inbound) string {
	key := channel + ":" + channel + ":" + escape(string(in.Chat.ID)) + ":" + string(in.Kind) + ":" + escape(string(in.ID))
	if in.Kind == channels.KindEdit {
		key += ":" + escape(in.EditStamp)
	}
	return key
}

// escape keeps the colons of an id from being read as ours: no two messages
// share a key.
func escape(id string) string {
	if !strings.ContainsAny(id, ":%") {
		return id
	}
	return strings.NewReplacer("%", "%25", ":", "%3A").Replace(id)
}
