// Package telegram is the channel for bots on Telegram.
//
// It owns the translation between the Bot API (https://core.telegram.org/bots/api)
// and package channels: a webhook, a long poll, messages, presses, edits,
// buttons, the classes of its errors, the bot's own name and commands, and the
// move of a group to a supergroup. It doesn't own retries, the cutting of
// texts, duplicates or order: those are the core's.
//
// Sending uses github.com/go-telegram/bot. Receiving doesn't: that library
// confirms updates before they are handled, answers 200 to a wrong secret, and
// its types refuse a whole message for one part of a kind they don't know.
// Here an update is confirmed, by the next poll's offset or by the webhook's
// 200, after the core has committed it, and only the fields that are used are
// read, so that no update of a new kind stands in the way of the others.
//
// What must outlive a restart is kept in channels.State: the poll's offset
// (key offset), the bot's name (me), what commands were registered (commands),
// and where groups have moved to (moved:ID).
package telegram
