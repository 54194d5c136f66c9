package webchat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/parley-bot/parley/channels"
)

var (
	_ channels.Adapter    = (*Adapter)(nil)
	_ channels.Editor     = (*Adapter)(nil)
	_ channels.Typer      = (*Adapter)(nil)
	_ channels.Acker      = (*Adapter)(nil)
	_ channels.PageServer = (*Adapter)(nil)
)

// typingLife is how long one sign of typing is shown.
const typingLife = 10 * time.Second

// draftEvery is how often an answer that is being written is shown anew.
const draftEvery = 100 * time.Millisecond

// Adapter is one web chat.
type Adapter struct {
	cfg     Config
	host    channels.Host
	log     *slog.Logger
	page    *page
	streams *streams
	limiter *limiter
	stopped chan struct{}
	stop    func()
}

// New makes an adapter. An error names the key that is wrong.
func New(cfg Config, deps Deps) (*Adapter, error) {
	if err := cfg.complete(); err != nil {
		return nil, fmt.Errorf("webchat: %w", err)
	}
	if deps.Host == nil {
		return nil, errors.New("webchat: no host")
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	p, err := newPage(cfg)
	if err != nil {
		return nil, fmt.Errorf("webchat: building the page: %w", err)
	}
	stopped := make(chan struct{})
	return &Adapter{
		cfg:     cfg,
		host:    deps.Host,
		log:     deps.Log.With("component", "webchat", "channel", deps.Name),
		page:    p,
		streams: newStreams(cfg.MaxStreams),
		limiter: newLimiter(cfg.SessionsPerMinute),
		stopped: stopped,
		stop:    sync.OnceFunc(func() { close(stopped) }),
	}, nil
}

// Capabilities is the same for every visitor: plain text of any length, with
// buttons that an edit takes away.
func (a *Adapter) Capabilities(channels.Chat) channels.Capabilities {
	return channels.Capabilities{
		Buttons:    &channels.ButtonLimits{Max: 10},
		Edit:       channels.EditLimits{Text: true, Draft: draftEvery},
		Typing:     typingLife,
		Idempotent: true,
		Refuses:    true,
	}
}

// Run waits for ctx, and then ends the open streams, so that a server that
// shuts down isn't held by them.
func (a *Adapter) Run(ctx context.Context, _ channels.Sink) error {
	<-ctx.Done()
	a.stop()
	return nil
}

// Send names the message. The entry that the core writes to the chat's log is
// the delivery, so there is nothing that can fail.
func (a *Adapter) Send(_ context.Context, part channels.Part) (channels.Receipt, error) {
	a.streams.said(part.Chat.ID)
	if part.Key == "" {
		return channels.Receipt{ID: newMessageID()}, nil
	}
	return channels.Receipt{ID: derivedID("b", string(part.Chat.ID), part.Key)}, nil
}

// Edit can't fail, for the same reason. An answer that is still being written
// isn't in the log: the visitor's open streams are told of it.
func (a *Adapter) Edit(_ context.Context, id channels.MessageID, part channels.Part) error {
	if part.Draft {
		a.streams.draft(part.Chat.ID, editData{ID: id, Text: part.Text, Buttons: []channels.Button{}, Draft: true})
	} else {
		a.streams.written(part.Chat.ID)
	}
	return nil
}

// Typing tells the visitor's open streams.
func (a *Adapter) Typing(_ context.Context, chat channels.Chat, until time.Time) {
	a.streams.typing(chat.ID, until)
}

// Ack keeps the outcome for the request that carries the press.
func (a *Adapter) Ack(_ context.Context, in channels.Inbound, ack channels.PressAck) error {
	p, ok := in.Handle.(*press)
	if !ok {
		return errors.New("acknowledging a press: it isn't one of this channel")
	}
	return p.set(ack)
}

// Pages serves the page and the API.
func (a *Adapter) Pages(sink channels.Sink) (string, http.Handler) {
	return a.cfg.Prefix, a.handler(sink)
}

// derivedID is the same for the same words, and nobody can guess it without
// knowing them all.
func derivedID(kind, scope, key string) channels.MessageID {
	h := sha256.New()
	_, _ = io.WriteString(h, kind+"\x00"+scope+"\x00"+key)
	return channels.MessageID(kind + "-" + hex.EncodeToString(h.Sum(nil)[:16]))
}
