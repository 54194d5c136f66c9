// Package inbox accepts what channels receive, once.
//
// It owns the way of a message from an adapter to its place in the store: who
// may write, where it belongs (chat, lane), whether it is a command, what
// limits it meets, and the acknowledgement of presses. All that depends on what
// is saved (known before? a question's answer? a full queue?) is decided within
// the one commit that accepts it, by the store.
//
// It doesn't own what happens next: internal/dispatch is told which lane has
// work. Nor what an answer means: internal/confirm.
package inbox
