package channels

import (
	"context"
	"time"
)

// DeliveryState is what became of a message after the platform took it.
type DeliveryState string

// The states. Platforms may repeat them, skip some and report them in any
// order; Undelivered is final.
const (
	// Delivered: it reached the person's device.
	Delivered DeliveryState = "delivered"
	// Read: it was shown to the person.
	Read DeliveryState = "read"
	// Undelivered: it will not arrive, although Send had succeeded.
	Undelivered DeliveryState = "failed"
)

// StatusUpdate is what a platform reports later of a message that Send handed
// over. It names the message by Key, by Chat and ID, or by both.
type StatusUpdate struct {
	// Key is Part.Key, where the platform hands it back: it names the message
	// even where its id isn't known yet.
	Key   string
	Chat  Chat
	ID    MessageID
	State DeliveryState
	// At is the platform's own time of it; zero where it has none.
	At time.Time
	// Err says why, for Undelivered. Its text holds no credential.
	Err *SendError
}

// StatusSink is a Sink that wants to hear what became of messages. It is
// optional: an adapter asks its sink for it.
type StatusSink interface {
	// Status returns nil once the report is committed, or there is nothing to
	// do about it (a message that isn't known, a report that is). An error
	// means that the platform should report again.
	Status(ctx context.Context, u StatusUpdate) error
}
