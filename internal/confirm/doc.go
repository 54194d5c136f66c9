// Package confirm asks a person whether a tool may run, and understands the
// answer.
//
// It owns how a question reads ([Prompt], [ArgLines], [Summarize]), what was
// approved ([Digest]), what a typed text means ([Words]), the saved form of a
// question ([Wait]) and which question an answer belongs to ([MatchText],
// [MatchPress]). All of it is pure.
//
// It doesn't own when to ask, nor what follows from an answer: that is
// internal/turn. Keeping a Wait is the store's, cutting a question into
// messages internal/render's, remembering what ran internal/ledger's.
//
// Everything in a question comes from a model and is taken for hostile: it is
// shown as literal text, complete, without characters that hide or reorder
// others. What can't be shown like that isn't asked.
package confirm
