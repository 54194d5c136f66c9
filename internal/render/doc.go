// Package render turns what is to be said into messages that a platform takes:
// in its dialect, within its limits, cut where a reader would pause.
//
// It owns the length of a text in each unit, what a model's Markdown becomes
// in each dialect, the cutting, and how a question and its buttons fit. It
// doesn't own the words (internal/locale, internal/confirm) nor sending them
// (internal/outbox). All of it is pure.
//
// A reply is parsed as CommonMark with the tables, strikethrough and bare
// addresses of GitHub's extension, and laid out as a [sheet]: the text that a
// reader sees, and the styles on it. The sheet is cut, and each piece written
// in the dialect, so that what is open at a cut closes before it and opens
// again after it. A question is a sheet without styles: nothing in it formats.
//
// A dialect is a file of its own: html.go (Telegram), discord.go, whatsapp.go,
// plain.go.
package render
