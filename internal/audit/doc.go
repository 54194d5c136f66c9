// Package audit is the record of what tools were asked to do and what became
// of it.
//
// It owns the form of an event, the rules that keep arguments out of it
// (audit.redact), and the way from the store to a file or a webhook: a
// [Follower] reads rows by cursor and gives them to a [Sink], each row at
// least once, in order. It doesn't write the rows: each is part of the commit
// of the step it tells of (internal/turn, internal/store), so that a sink can
// lag or fail without losing an event or slowing a turn.
package audit
