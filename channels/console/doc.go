// Package console talks to the bot in a terminal, or through a pipe.
//
// It owns one conversation over an io.Reader and an io.Writer: a line is a
// message, and what the bot says is printed as it comes. Questions are asked
// in words and answered by typing, for a terminal has no buttons and what was
// printed can't be changed.
//
// It doesn't own the end of a conversation. When the input ends, Run returns;
// replies may still be on their way, and whoever runs the adapter waits for
// them (Config.Turn and Done are there for that).
package console
