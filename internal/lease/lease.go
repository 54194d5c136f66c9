// Package lease names ownership that can be lost: of a lane, of an account.
//
// It owns the token that proves it, nothing else. The store hands tokens out
// and checks them in every commit; internal/dispatch holds a lane while work
// goes on, internal/app an account while its channel receives.
package lease

import "errors"

// ErrLost is what a commit returns when its token is no longer the newest:
// the work was reset, expired or taken over. Nothing of the commit was kept.
var ErrLost = errors.New("lease lost")

// Lane is the right to work on one lane: one chat, thread, or user in a group.
type Lane struct {
	// Key is the lane's key: {channel}:{chat} and :{user or thread} where a
	// session is narrower than the chat.
	Key string
	// Fence grows whenever the lane changes hands or its turn is ended from
	// outside.
	Fence int64
	// Attempt counts how often work on the head of this lane was cut short
	// by a crash since its last committed step.
	Attempt int
}
