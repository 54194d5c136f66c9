package channels

import (
	"errors"
	"fmt"
	"time"
)

// SendClass says what to do about a call that failed.
type SendClass string

// The classes.
const (
	// PermanentChat: nothing can be sent to that chat (blocked, left, gone).
	PermanentChat SendClass = "permanent_chat"
	// PermanentMessage: this message will never be taken; others may.
	PermanentMessage SendClass = "permanent_message"
	// PermanentToken: the account's credentials are refused.
	PermanentToken SendClass = "permanent_token"
	// RateLimited: try again after After.
	RateLimited SendClass = "rate_limited"
	// Temporary: certainly not sent; try again.
	Temporary SendClass = "temporary"
	// Unknown: the platform may have taken it (the connection was lost
	// after the request had left).
	Unknown SendClass = "unknown"
)

// SendError is a failed Send or Edit. Its text never holds a credential nor a
// URL that carries one.
type SendError struct {
	Class SendClass
	// After is how long the platform asked to wait; 0 if it didn't say.
	After time.Duration
	// Code is the platform's own error code, or "".
	Code string
	Err  error
}

func (e *SendError) Error() string {
	if e.Code != "" {
		return fmt.Sprintf("%s (code %s): %v", e.Class, e.Code, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Class, e.Err)
}

func (e *SendError) Unwrap() error { return e.Err }

// ClassOf tells the class of err. An error that is no SendError is Unknown:
// nobody can say whether the call took effect.
func ClassOf(err error) SendClass {
	if se, ok := errors.AsType[*SendError](err); ok {
		return se.Class
	}
	return Unknown
}

// RefusedReason says why Sink.Accept won't take a message.
type RefusedReason string

// The reasons.
const (
	RefusedBlank       RefusedReason = "blank"       // 422: nothing to answer
	RefusedTooLarge    RefusedReason = "too_large"   // 413: over limits.message_bytes
	RefusedInvalid     RefusedReason = "invalid"     // 422: not UTF-8, no ids
	RefusedQueueFull   RefusedReason = "queue_full"  // 429: over limits.queue_per_chat
	RefusedRate        RefusedReason = "rate"        // 429: over limits.per_user
	RefusedUnavailable RefusedReason = "unavailable" // 503: the store can't take it now
)

// RefusedError is a message that was not taken; it will not be answered.
type RefusedError struct {
	Reason RefusedReason
	// After is when to try again; 0 where that makes no sense.
	After time.Duration
	Err   error
}

func (e *RefusedError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("message refused (%s): %v", e.Reason, e.Err)
	}
	return fmt.Sprintf("message refused (%s)", e.Reason)
}

func (e *RefusedError) Unwrap() error { return e.Err }
