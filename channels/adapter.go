package channels

import (
	"context"
	"net/http"
	"time"
)

// Adapter is one account on one platform.
//
// Construction does no I/O. Methods may be called from many goroutines at
// once, Send and Edit of one chat never are: the outbox keeps them in order.
type Adapter interface {
	// Capabilities tells what the platform can do in that chat. It is pure:
	// no I/O, the same answer for the same chat.
	Capabilities(chat Chat) Capabilities

	// Run receives until ctx ends, and hands each message to sink. It returns
	// nil when ctx ended, otherwise why receiving can't go on. An adapter that
	// only serves webhooks waits for ctx.
	Run(ctx context.Context, sink Sink) error

	// Send makes exactly one platform call for one part: no retry, no sleep,
	// no splitting. A failure is a *SendError.
	Send(ctx context.Context, part Part) (Receipt, error)
}

// Editor is an adapter that can replace the text and the buttons of a message
// it sent. Capabilities.Edit says how far.
type Editor interface {
	// Edit makes one platform call. Part.Buttons empty takes the buttons
	// away. A failure is a *SendError; "not modified" is a success. An edit
	// with Part.Draft is a hint: whoever comes later need not see it.
	Edit(ctx context.Context, id MessageID, part Part) error
}

// Typer is an adapter that can show that an answer is being written.
type Typer interface {
	// Typing shows the sign no longer than until, or takes it away when until
	// is zero. It is a hint: errors are not reported.
	Typing(ctx context.Context, chat Chat, until time.Time)
}

// Acker is an adapter whose platform wants a press acknowledged.
type Acker interface {
	// Ack answers the press exactly once. It is called from within
	// Sink.Accept of that press, before it returns. in.Handle carries what
	// the adapter put there.
	Ack(ctx context.Context, in Inbound, ack PressAck) error
}

// WebhookReceiver is an adapter that is called by its platform over HTTP.
type WebhookReceiver interface {
	// Webhook serves everything below /webhooks/{instance}, with that prefix
	// stripped. It verifies the raw body before it parses it, and answers 2xx
	// only after Sink.Accept returned nil. Called once, before Run.
	Webhook(sink Sink) http.Handler
}

// PageServer is an adapter that brings pages of its own, as the web chat does.
type PageServer interface {
	// Pages serves everything below Prefix (which starts and ends in a
	// slash), with the prefix kept. Called once, before Run.
	Pages(sink Sink) (prefix string, h http.Handler)
}

// WebhookRegistrar is an adapter whose webhook is set by an API call.
type WebhookRegistrar interface {
	// RegisterWebhook sets url and is idempotent; an empty url removes it.
	RegisterWebhook(ctx context.Context, url string) error
	// WebhookStatus tells what the platform has now.
	WebhookStatus(ctx context.Context) (WebhookStatus, error)
}

// WebhookStatus is what a platform says of the webhook it has for an account.
type WebhookStatus struct {
	URL       string
	Pending   int
	LastError string
}

// MediaFetcher is an adapter that can fetch a file it was told of.
type MediaFetcher interface {
	// Fetch opens the file; the caller closes it and bounds what it reads.
	Fetch(ctx context.Context, m Media) (body ReadCloser, err error)
}

// ReadCloser is io.ReadCloser, spelled out so that fakes need no import.
type ReadCloser interface {
	Read(p []byte) (int, error)
	Close() error
}

// Pairer is an adapter that is linked to an account by a person's device.
type Pairer interface {
	// Pair reports codes to show until the device is linked or ctx ends.
	Pair(ctx context.Context, phone string, show func(code string)) error
}

// Checker is an adapter that can prove its credentials.
type Checker interface {
	// Check makes one harmless call and describes the account it reached.
	Check(ctx context.Context) (account string, err error)
}

// Sink takes what an adapter received.
type Sink interface {
	// Accept returns nil once the message is committed, or was known before.
	// Only then may the adapter acknowledge it to its platform. A message
	// that won't be taken gives a *RefusedError; any other error means that
	// nothing was stored and the platform should deliver again.
	Accept(ctx context.Context, in Inbound) error
}

// Host is what the core gives an adapter when it is constructed.
type Host interface {
	// State is the account's own small key/value store.
	State() State
	// Log reads the chat's log, entries with N > after in order, limit at
	// the most.
	Log(ctx context.Context, chat Chat, after int64, limit int) ([]LogEntry, error)
	// Watch returns a channel that receives after the chat's log grew. It
	// has room for one signal, so a slow reader misses none. stop ends it.
	Watch(chat Chat) (grown <-chan struct{}, stop func())
}

// State keeps what an adapter must remember over a restart: a poll offset, a
// gateway session, web chat sessions. Values are small (64 KiB at the most).
type State interface {
	// Get returns nil without an error when there is no such key.
	Get(ctx context.Context, key string) ([]byte, error)
	// Swap sets key to value if it now holds old (nil: no such key), and
	// tells whether it did. A nil value deletes the key.
	Swap(ctx context.Context, key string, old, value []byte) (bool, error)
}
