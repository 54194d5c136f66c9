package whatsappweb

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"go.mau.fi/whatsmeow/store"

	"github.com/parley-bot/parley/channels"
)

// Config is what the operator sets under channels.NAME.
type Config struct {
	// DeviceName is how the bot is called in the phone's list of linked
	// devices. It counts when the device is linked. The default is parley.
	DeviceName string `yaml:"device_name"`
	// MarkRead marks what was written in a chat as read when the bot begins to
	// answer. The default is true.
	MarkRead bool `yaml:"mark_read"`
}

// Defaults are the values of keys that the operator leaves out.
func Defaults() Config { return Config{DeviceName: "parley", MarkRead: true} }

// Store is the SDK's own store, open.
type Store interface {
	// Device is the linked device; its ID is nil where none is linked.
	Device(ctx context.Context) (*store.Device, error)
	// Forget deletes it.
	Forget(ctx context.Context) error
	Close() error
}

// Deps is what the program gives an adapter.
type Deps struct {
	Host channels.Host
	// Log has no default.
	Log *slog.Logger
	// Name is the key under channels.
	Name string
	// Open opens the SDK's store; who has it open may hold the account's
	// connection. InUse tells whether its error is that somebody else has.
	Open  func(ctx context.Context) (Store, error)
	InUse func(error) bool
	// Transport replaces the adapter's own HTTP transport, in tests.
	Transport http.RoundTripper
}

const (
	// lookAgain is how often it is looked whether a device was linked.
	lookAgain = 3 * time.Second
	// dialTime bounds the connection and its handshake, loginTime what comes
	// after until messages are received.
	dialTime  = 45 * time.Second
	loginTime = time.Minute
	// readTime is how long the last thing that was read may take to be
	// decrypted, on a busy machine; drainTime bounds the handling of what came
	// before it.
	readTime  = 200 * time.Millisecond
	drainTime = 5 * time.Second
	// leaveTime bounds the goodbye.
	leaveTime = 2 * time.Second
	// sendTime bounds the wait for the server's answer to a message.
	sendTime = 30 * time.Second
	// aliveTime is more than passes between two signs of life: the SDK asks
	// for one every 20 to 30 s and waits 10 s for it.
	aliveTime = 2 * time.Minute
)
