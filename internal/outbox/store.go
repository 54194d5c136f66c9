package outbox

import (
	"context"
	"time"

	"github.com/parley-bot/parley/channels"
)

// Store is what sending needs. Each call is one step.
type Store interface {
	// Chats lists the chats of the channels that have something to send
	// and nobody sending, limit at the most, after the key given.
	Chats(ctx context.Context, channels []string, after string, limit int) ([]string, error)
	// Next is T7: it marks the chat's first unsent entry as sending and
	// returns it. ok is false where there is none, or where it isn't due
	// before due.
	Next(ctx context.Context, chatKey string) (e Entry, ok bool, due time.Time, err error)
	// Sent is T8: the entry has left. It starts the clock of the question
	// that it asks, and writes the chat's log. The chat's next entry, where
	// there is one due, is marked as sending and returned.
	Sent(ctx context.Context, e Entry, r channels.Receipt) (next Entry, ok bool, err error)
	// Retry puts the entry back for due, after a failure that says it was
	// not sent (unknown false) or may have been.
	Retry(ctx context.Context, e Entry, due time.Time, unknown bool, cause string) error
	// Failed ends the entry: it will not be sent (or, unknown, nobody can
	// say). A question that was not shown cancels its turn. More is true
	// where the chat has further entries.
	Failed(ctx context.Context, e Entry, unknown bool, cause string) (f Failure, err error)
	// Pending counts entries that wait to be sent.
	Pending(ctx context.Context) (int, error)
}

// Kind says what an entry is.
type Kind string

// The kinds.
const (
	Send Kind = "send"
	Edit Kind = "edit"
	// Finish gives a draft its final text: an edit, or a message of its own
	// where there is nothing to edit.
	Finish Kind = "finish"
)

// Entry is one thing to say to a chat, in the chat's order.
type Entry struct {
	ChatKey string
	Channel string
	// Seq counts within the chat.
	Seq  int64
	Kind Kind
	Part channels.Part
	// Target is the platform's id of the message to edit.
	Target channels.MessageID
	// Attempts counts sends, this one included.
	Attempts int
	// Maybe is true where an earlier attempt may have been delivered; Doubts
	// counts such attempts, also those that a crash cut short.
	Maybe   bool
	Doubts  int
	Created time.Time
	// Asks is the timeout of the question whose last part this is, so that
	// its end can be timed to the moment; 0 where it asks none, or the
	// timeout isn't known here (a sweep finds it then).
	Asks time.Duration
}

// Failure is what the end of an entry brought about.
type Failure struct {
	// More is true where the chat has further entries.
	More bool
	// Lane is the lane whose turn was cancelled since its question can't be
	// asked, or "". Ready is true where it has other work now.
	Lane  string
	Ready bool
	Tool  string
}
