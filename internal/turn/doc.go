// Package turn answers one message: the tool loop, as a state machine whose
// every step is committed before the next begins.
//
// It owns the order of things in a turn: model call, validation, duplicates,
// confirmation, run, results, final text; what is put aside when a person must
// be asked, and how it goes on after the answer, days later or in another
// process. It owns the wording of results that a model sees.
//
// It doesn't own who works when (internal/dispatch), how a question reads or
// what an answer means (internal/confirm), how a tool runs (internal/tool) or
// a text leaves (internal/outbox). It knows no platform, only capabilities,
// and no SQL.
//
// Nothing is held while a question waits: Work returns, and the lane's next
// claim, after the answer, starts from the journal.
package turn
