package twilio

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/parley-bot/parley/channels"
)

var (
	_ channels.Adapter          = (*Adapter)(nil)
	_ channels.Checker          = (*Adapter)(nil)
	_ channels.WebhookReceiver  = (*Adapter)(nil)
	_ channels.WebhookRegistrar = (*Adapter)(nil)
)

// The platform's limits.
const (
	textMax       = 1600
	buttonsMax    = 2 // those that the template has
	labelMax      = 20
	buttonIDMax   = 200
	buttonTextMax = 1024
	replyWindow   = 24 * time.Hour
)

const whatsapp = "whatsapp:"

// Adapter is one sender.
type Adapter struct {
	cfg     Config
	log     *slog.Logger
	api     *url.URL
	http    *http.Transport
	webhook string   // its address
	signs   []string // the addresses that Twilio may sign
	// noContent is set once the quick-reply template has turned out not to
	// work: questions are asked in words from then on.
	noContent atomic.Bool
}

// New makes an adapter. An error names the keys that are wrong.
func New(cfg Config, deps Deps) (*Adapter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("twilio: %w", err)
	}
	if deps.Name == "" {
		return nil, errors.New("twilio: no name")
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	api, err := url.Parse(strings.TrimRight(cfg.APIURL, "/"))
	if err != nil {
		return nil, fmt.Errorf("twilio: api_url: %w", err)
	}
	public, err := url.Parse(strings.TrimRight(cfg.PublicURL, "/"))
	if err != nil {
		return nil, fmt.Errorf("twilio: server.public_url: %w", err)
	}
	hook := public.JoinPath("webhooks", deps.Name)
	return &Adapter{
		cfg:     cfg,
		log:     deps.Log.With("component", "twilio", "channel", deps.Name),
		api:     api,
		http:    channels.NewTransport(32),
		webhook: hook.String(),
		signs:   variants(hook),
	}, nil
}

// Capabilities go by the address: WhatsApp or SMS.
func (a *Adapter) Capabilities(chat channels.Chat) channels.Capabilities {
	c := channels.Capabilities{TextMax: textMax, Unit: channels.UnitUTF16}
	if !strings.HasPrefix(string(chat.ID), whatsapp) {
		return c
	}
	c.Markup, c.ReplyWindow = channels.MarkupWhatsApp, replyWindow
	if a.cfg.ContentSID != "" {
		c.Buttons = &channels.ButtonLimits{Max: buttonsMax, LabelMax: labelMax, IDBytes: buttonIDMax, TextMax: buttonTextMax}
	}
	return c
}

// Run waits for ctx: everything comes in by the webhook.
func (a *Adapter) Run(ctx context.Context, _ channels.Sink) error {
	<-ctx.Done()
	a.http.CloseIdleConnections()
	return nil
}
