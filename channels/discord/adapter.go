package discord

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/parley-bot/parley/channels"
)

var (
	_ channels.Adapter          = (*Adapter)(nil)
	_ channels.Editor           = (*Adapter)(nil)
	_ channels.Typer            = (*Adapter)(nil)
	_ channels.Acker            = (*Adapter)(nil)
	_ channels.WebhookReceiver  = (*Adapter)(nil)
	_ channels.WebhookRegistrar = (*Adapter)(nil)
	_ channels.Checker          = (*Adapter)(nil)
	_ channels.Linker           = (*Adapter)(nil)
	_ channels.Holder           = (*Adapter)(nil)
)

// Adapter is one bot.
type Adapter struct {
	cfg    Config
	name   string
	log    *slog.Logger
	state  channels.State
	rest   *client
	dialer *websocket.Dialer
	key    ed25519.PublicKey

	me       atomic.Pointer[identity]
	trouble  trouble
	brake    brake
	link     channels.Teller
	textless atomic.Bool // it was said that texts are missing

	// Replaced by tests.
	now       func() time.Time
	wait      func(ctx context.Context, d time.Duration) error
	handshake time.Duration
}

// New makes an adapter; it makes no call. An error tells what is wrong with
// cfg, without the token.
func New(cfg Config, deps Deps) (*Adapter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if deps.Host == nil || deps.Log == nil {
		return nil, errors.New("discord: Host and Log are required")
	}
	cfg.complete()
	key, err := hex.DecodeString(cfg.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("discord: public key: %w", err)
	}
	a := &Adapter{
		cfg: cfg, name: deps.Name, log: deps.Log, state: deps.Host.State(), key: key, now: time.Now, wait: channels.Rest, handshake: handshakeTime,
		dialer: &websocket.Dialer{HandshakeTimeout: handshakeTime, Proxy: http.ProxyFromEnvironment, ReadBufferSize: 16 << 10},
	}
	if a.rest, err = newClient(cfg, deps.Transport, func() time.Time { return a.now() }); err != nil {
		return nil, fmt.Errorf("discord client: %w", err)
	}
	return a, nil
}

// Capabilities are the same for every chat. A text counts in code points
// (https://github.com/discord/discord-api-docs/issues/1315).
func (a *Adapter) Capabilities(channels.Chat) channels.Capabilities {
	return channels.Capabilities{
		TextMax: maxText, Unit: channels.UnitRune, Markup: channels.MarkupDiscord,
		Buttons: &channels.ButtonLimits{Max: maxRows * perRow, LabelMax: maxLabel, IDBytes: maxCustomID},
		Edit:    channels.EditLimits{Text: true, MinInterval: time.Second, Draft: 1500 * time.Millisecond},
		Typing:  10 * time.Second,
		// Whoever presses a button can be shown a notice of their own.
		Private: true,
		Threads: true,
		// By nonces, which Discord compares for some minutes.
		Idempotent: true,
		// Discord allows 50 calls a second, of which edits and signs of
		// typing are a part.
		Budget: channels.Budget{Account: channels.Rate{Sends: 45, Per: time.Second}},
	}
}

// Run receives until ctx ends. It returns an error where the token or an
// intent is refused, and where Discord has been out of reach for a minute.
func (a *Adapter) Run(ctx context.Context, sink channels.Sink) error {
	defer a.rest.CloseIdleConnections()
	a.link.Begin(ctx, sink)
	defer a.link.End()
	var extra sync.WaitGroup
	defer extra.Wait()
	if a.cfg.Mode == ModeInteractions {
		return a.serve(ctx)
	}
	// Not before the gateway: messages come first.
	extra.Go(func() { _, _ = a.introduce(ctx) }) // the gateway tells what is wrong, too
	return a.receive(ctx, sink)
}

// serve waits while Discord calls. Interactions are taken even while it can't
// be reached; commands are registered when it can.
func (a *Adapter) serve(ctx context.Context) error {
	if !a.trouble.token {
		a.link.Set(channels.LinkUp, "")
	}
	for n := 1; ctx.Err() == nil; n++ {
		told, err := a.introduce(ctx)
		if err != nil && ctx.Err() == nil {
			a.trouble.token = true
			a.link.Set(stateOf(err), err.Error())
			return err
		}
		if told {
			a.trouble.token = false
			a.link.Set(channels.LinkUp, "")
			a.registerCommands(ctx)
			break
		}
		_ = a.wait(ctx, channels.BackOff(n, longestWait)) // which fails when ctx ends
	}
	<-ctx.Done()
	return nil
}

// Holds implements channels.Holder: each connection to the gateway gets all
// events.
func (a *Adapter) Holds() bool { return a.cfg.Mode != ModeInteractions }

// Link tells how the connection stands.
func (a *Adapter) Link() channels.Link { return a.link.Link() }

// theirs is the time by Discord's clock, as far as its answers told: ids of
// messages are by that, and this machine's may be wrong.
func (a *Adapter) theirs() time.Time { return a.now().Add(time.Duration(a.rest.ahead.Load())) }

// stateOf is the state that an error of Run stands for.
func stateOf(err error) channels.LinkState {
	if refused, ok := errors.AsType[*refusedError](err); ok && refused != nil {
		return channels.LinkRefused
	}
	return channels.LinkConnecting
}

// longestWait is the longest wait before something is tried again.
const longestWait = 30 * time.Second
