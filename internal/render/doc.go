// Package render turns what is to be said into messages that a platform takes:
// within its limits, cut where a reader would pause.
//
// It owns the length of a text in each unit, the cutting, and how a question
// and its buttons fit. It doesn't own the words (internal/locale,
// internal/confirm) nor sending them (internal/outbox). All of it is pure.
//
// Texts are cut as they were written. A dialect of markup that needs more than
// that is a file of its own: it takes the text apart, and cuts with the same
// rules before it escapes.
package render
