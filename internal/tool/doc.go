// Package tool is the contract between the tool loop and what it can run, and
// the registry of a bot's tools.
//
// It owns a tool's definition, the validation of arguments by JSON Schema,
// canonical arguments, limits on time and size, and the shape of results. It
// doesn't own the kinds of tools (one package each below), the decision to
// run (internal/turn), the question to the person (internal/confirm) nor the
// memory of runs (internal/ledger).
package tool
