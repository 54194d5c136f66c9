package whatsappweb

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.mau.fi/whatsmeow"

	"github.com/parley-bot/parley/channels"
)

var (
	_ channels.Adapter = (*Adapter)(nil)
	_ channels.Editor  = (*Adapter)(nil)
	_ channels.Typer   = (*Adapter)(nil)
	_ channels.Linker  = (*Adapter)(nil)
	_ channels.Pairer  = (*Adapter)(nil)
	_ channels.Checker = (*Adapter)(nil)
	_ channels.Holder  = (*Adapter)(nil)
)

// Adapter is one account.
type Adapter struct {
	cfg   Config
	deps  Deps
	log   *slog.Logger
	state channels.State

	people *people
	sent   *sentBox
	conn   atomic.Pointer[connection] // the one that is up, or nil

	// deciding is held while a received message is looked up and decrypted, and
	// while one to be sent is encrypted.
	deciding chan struct{}

	mu   sync.Mutex
	link channels.Link
	// removed is set while the state says why WhatsApp removed the device;
	// Run's own.
	removed bool

	// Replaced by tests.
	now      func() time.Time
	rest     func(ctx context.Context, d time.Duration) error
	readTime time.Duration
	// codeTimes is how long the first code of a connection is good, and each
	// other.
	codeTimes [2]time.Duration
}

// New makes an adapter; it makes no call and opens nothing.
func New(cfg Config, deps Deps) (*Adapter, error) {
	if deps.Host == nil || deps.Log == nil || deps.Open == nil || deps.InUse == nil {
		return nil, errors.New("whatsappweb: Host, Log, Open and InUse are required")
	}
	a := &Adapter{
		cfg: cfg, deps: deps, log: deps.Log, state: deps.Host.State(), now: time.Now, rest: channels.Rest, readTime: readTime, codeTimes: [2]time.Duration{firstCodeTime, codeTime},
		link:     channels.Link{State: channels.LinkConnecting, Detail: "not started"},
		deciding: make(chan struct{}, 1),
	}
	hardenSignal()
	a.people = newPeople(a.state)
	a.sent = newSentBox(a.state)
	return a, nil
}

// Capabilities are the same for every chat. WhatsApp takes 65,536 characters;
// phones fold a text away long before that, so it is cut where the Cloud API
// cuts. The budget is far below what accounts were banned for, and above what
// a conversation needs.
func (a *Adapter) Capabilities(channels.Chat) channels.Capabilities {
	return channels.Capabilities{
		TextMax: 4096, Unit: channels.UnitUTF16, Markup: channels.MarkupWhatsApp,
		Edit:       channels.EditLimits{Text: true, MaxAge: editAge, MinInterval: time.Second},
		Typing:     10 * time.Second,
		Idempotent: true,
		Budget:     channels.Budget{Chat: channels.Rate{Sends: 60, Per: time.Minute}},
	}
}

// editAge is how long phones still take an edit (they offer it for 15 minutes;
// the SDK's window is 20).
const editAge = min(15*time.Minute, whatsmeow.EditWindow)

// Link implements channels.Linker.
func (a *Adapter) Link() channels.Link {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.link
}

// Holds implements channels.Holder: WhatsApp serves one connection of a device.
func (a *Adapter) Holds() bool { return true }

// tell sets the state, and tells the sink where it is another.
func (a *Adapter) tell(ctx context.Context, sink channels.Sink, l channels.Link) {
	a.mu.Lock()
	same := a.link == l
	a.link = l
	a.mu.Unlock()
	if s, ok := sink.(channels.LinkSink); ok && !same {
		s.Linked(ctx, l)
	}
}

// client makes a client of the SDK for one connection. received is called
// with each stanza that came from the server, before it is handled.
func (a *Adapter) client(d device, received func(stanza string)) *whatsmeow.Client {
	cli := whatsmeow.NewClient(d.Device, sdkLog{log: a.log, received: received})
	cli.EnableAutoReconnect = false
	cli.DisableLoginAutoReconnect = true
	cli.SynchronousAck = true
	cli.EnableDecryptedEventBuffer = true
	if _, ours := d.EventBuffer.(buffer); !ours {
		d.EventBuffer = buffer{d.EventBuffer, a.deciding}
		d.Sessions = sessions{d.Sessions, a.deciding}
		d.PrivacyTokens = tokens{d.PrivacyTokens}
	}
	cli.ManualHistorySyncDownload = true // of no use here, and large
	cli.GetMessageForRetry = a.sent.forRetry
	// The SDK calls it without a look whether there is one, where nobody can
	// recover.
	cli.RefreshCAT = func(context.Context) error { return errCAT }
	cli.GetClientPayload = d.payload(a.cfg.DeviceName)
	cli.SetForceActiveDeliveryReceipts(true)
	if t := a.deps.Transport; t != nil {
		for _, set := range []func(*http.Client){
			cli.SetMediaHTTPClient, cli.SetWebsocketHTTPClient, cli.SetPreLoginHTTPClient,
		} {
			set(&http.Client{Transport: t})
		}
	}
	return cli
}

// longestWait is the longest wait before something is tried again.
const longestWait = time.Minute
