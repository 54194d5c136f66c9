// Package ledger is the memory of what tools have done, so that nothing is
// done twice by mistake.
//
// It owns the rules: which runs are remembered and for how long, when a call
// is a repeat, and what the model is told of it. All of it is pure; the runs
// are kept by the store, for one session, until [Run].KeepUntil.
//
// It doesn't own how a person is asked about a repeat (internal/confirm), nor
// what makes two arguments the same: that is the hash it is given.
package ledger
