// Package webchat is the built-in web chat: a channel without a platform.
//
// It owns the HTTP API below /chat/api/ (sessions, messages, presses, live
// events), the page at /chat/, the widget script that embeds it elsewhere, and
// the sessions of visitors. A visitor is a random token; only its SHA-256 is
// kept, in channels.State, so that nobody who reads the store can write as a
// visitor.
//
// It doesn't own what was said. The core writes every message and edit to the
// chat's log, and that is the delivery: visitors read the log, wait for it to
// grow, and resume at any number they have seen. So Send and Edit do nothing
// but name the message, which is why they can be repeated freely
// (Capabilities.Idempotent), and why every replica shows the same ids.
//
// The sign of typing is the one thing that isn't in the log: it is passed on
// to the streams that are open in this process, and lost otherwise.
package webchat
