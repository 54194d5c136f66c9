package whatsappcloud

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/parley-bot/parley/channels"
)

var (
	_ channels.Adapter          = (*Adapter)(nil)
	_ channels.Typer            = (*Adapter)(nil)
	_ channels.Checker          = (*Adapter)(nil)
	_ channels.WebhookReceiver  = (*Adapter)(nil)
	_ channels.WebhookRegistrar = (*Adapter)(nil)
)

// The platform's limits (Cloud API reference, messages).
const (
	textMax       = 4096
	buttonsMax    = 3
	labelMax      = 20
	buttonIDMax   = 256
	buttonTextMax = 1024
	templateMax   = 1000 // of a variable's text; the whole body has 1024
	callbackMax   = 512
	typingLife    = 25 * time.Second
	replyWindow   = 24 * time.Hour
)

// budget is Meta's: to one person 45 messages at once and one every 6 seconds
// then; for the number 80 a second, of which some are left for what comes in.
func budget() channels.Budget {
	return channels.Budget{
		Chat:    channels.Rate{Sends: 45, Per: 45 * 6 * time.Second},
		Account: channels.Rate{Sends: 70, Per: time.Second},
	}
}

// Adapter is one business number.
type Adapter struct {
	cfg    Config
	log    *slog.Logger
	graph  *graph
	people *people
	now    func() time.Time
}

// New makes an adapter. An error names the keys that are wrong.
func New(cfg Config, deps Deps) (*Adapter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("whatsapp_cloud: %w", err)
	}
	if deps.Host == nil {
		return nil, errors.New("whatsapp_cloud: no host")
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	return &Adapter{
		cfg:    cfg,
		log:    deps.Log.With("component", "whatsapp_cloud", "channel", deps.Name),
		graph:  newGraph(cfg),
		people: newPeople(deps.Host.State(), deps.Now),
		now:    deps.Now,
	}, nil
}

// Capabilities are the same in all private chats. Groups take no buttons.
func (a *Adapter) Capabilities(chat channels.Chat) channels.Capabilities {
	c := channels.Capabilities{
		TextMax: textMax, Unit: channels.UnitUTF16, Markup: channels.MarkupWhatsApp, ReplyWindow: replyWindow, Budget: budget(),
	}
	if a.cfg.MarkRead {
		c.Typing = typingLife
	}
	if !chat.Group {
		c.Buttons = &channels.ButtonLimits{Max: buttonsMax, LabelMax: labelMax, IDBytes: buttonIDMax, TextMax: buttonTextMax}
	}
	return c
}

// Run waits for ctx: everything comes in by the webhook.
func (a *Adapter) Run(ctx context.Context, _ channels.Sink) error {
	<-ctx.Done()
	a.graph.http.CloseIdleConnections()
	return nil
}

// Webhook takes Meta's handshake and its events.
func (a *Adapter) Webhook(sink channels.Sink) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/":
			w.WriteHeader(http.StatusNotFound)
		case r.Method == http.MethodGet:
			a.handshake(w, r)
		case r.Method == http.MethodPost:
			a.events(w, r, sink)
		default:
			w.Header().Set("Allow", "GET, POST")
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	})
}
