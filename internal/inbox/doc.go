// Package inbox accepts what channels receive, once.
//
// It owns the way of a message from an adapter to its place in the store: who
// may write and when the bot is addressed, the keys of chats, lanes and
// messages, the commands of chats (/reset, /cancel, /help, /start, /lang), the
// limits of a person and of a message, and the acknowledgement of presses. All
// that depends on what is saved (known before? a question's answer? a full
// queue?) is decided within the one commit that accepts it, by the store.
//
// It doesn't own what happens next: internal/dispatch is told which lane has
// work. Nor what an answer means: internal/confirm.
//
// An edit of a message is counted and ignored: it never answers a question, and
// what it changes may have been answered already.
package inbox
