// Package outbox sends what was committed to be said: one entry at a time in a
// chat, in the chat's order, many chats at once.
//
// It owns the retries, by the class of the failure, the pauses of accounts
// that are refused or limited, how often a chat and an account are sent to, the
// sign of typing, and what a message shows while it is being written ([Draft]).
// It doesn't own the
// entries: what is unsent, and what is being sent, is the store's to know. Nor
// does it render: an entry is one platform call.
//
// Each channel has senders of its own, so that one that hangs never delays
// another. In memory there are only chats that are being sent to or wait for a
// retry; dropped hints are found again by a scan of the store.
//
// Rules that keep a message from being said twice:
//   - an entry is sent only while the store has it marked as sending, by Next,
//     by Sent of the one before, or by the commit that it was born in;
//   - what came of a send is committed before anything else is done in that
//     chat, however long the store is away;
//   - a send whose outcome nobody knows is repeated once, and freely only
//     where the platform recognizes the key. That one time comes after a
//     while, and where the adapter can ask, not before the platform answers.
package outbox
