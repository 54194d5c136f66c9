// Package control is how a command reaches the daemon that has the database: by
// HTTP over a socket beside the file, which only its owner may open.
//
// It owns the socket and the form of the calls. What they do is their
// Operations': the daemon's, or the store's own where no daemon runs. It
// doesn't decide which of the two a command takes: internal/app does.
package control

import (
	"context"

	"github.com/parley-bot/parley/channels"
)

// Operations are what commands change.
type Operations interface {
	// Approve lets in whom a code was given to; found is false where no good
	// code reads so.
	Approve(ctx context.Context, code string) (channel string, user channels.UserID, found bool, err error)
	// PutOut takes that back.
	PutOut(ctx context.Context, channel string, user channels.UserID) (found bool, err error)
	// ForgetChat removes what is known of a chat; known is false where nothing
	// ever was.
	ForgetChat(ctx context.Context, chat string) (known bool, err error)
}

// Path is the socket of a database file.
func Path(database string) string { return database + ".sock" }

// approval is the call of Approve and its answer.
type approval struct {
	Code    string          `json:"code,omitempty"`
	Channel string          `json:"channel,omitempty"`
	User    channels.UserID `json:"user,omitempty"`
	Found   bool            `json:"found,omitempty"`
}

// oblivion is the call of ForgetChat and its answer.
type oblivion struct {
	Chat  string `json:"chat,omitempty"`
	Known bool   `json:"known,omitempty"`
}

// The paths of the calls.
const (
	forgetPath  = "/chats/forget"
	approvePath = "/senders/approve"
	putOutPath  = "/senders/remove"
)
