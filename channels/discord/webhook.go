package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/parley-bot/parley/channels"
)

const (
	// maxInteraction bounds a request. Those with the longest messages are far
	// below.
	maxInteraction = 1 << 20
	// answerTime is how long an answer waits for the commit: Discord hangs up
	// after three seconds.
	answerTime = 2 * time.Second
)

// Webhook takes interactions. Nothing is read before the signature is right:
// Discord tests that now and then, and takes the address away where it isn't
// refused. An answer comes after the commit, or after two seconds without; an
// interaction that can't be taken is answered 503, which the person is shown
// as a failure. A request that is sent again is known by its id, so that its
// age needs no limit, which a wrong clock would break.
func (a *Adapter) Webhook(sink channels.Sink) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.cfg.Mode != ModeInteractions {
			http.Error(w, "this channel takes no webhooks", http.StatusNotFound)
			return
		}
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "use POST", http.StatusMethodNotAllowed)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxInteraction)
		if !discordgo.VerifyInteraction(r, a.key) {
			a.log.Warn("interaction with a wrong signature")
			http.Error(w, "wrong signature", http.StatusUnauthorized)
			return
		}
		body, err := io.ReadAll(r.Body)
		var i interaction
		if err != nil || json.Unmarshal(body, &i) != nil {
			http.Error(w, "no interaction", http.StatusBadRequest)
			return
		}
		if i.Type == kindPing {
			answer(w, response{Type: discordgo.InteractionResponsePong})
			return
		}
		a.take(w, r, sink, i)
	})
}

func (a *Adapter) take(w http.ResponseWriter, r *http.Request, sink channels.Sink, i interaction) {
	in, ok := i.inbound()
	if !ok {
		a.log.Debug("interaction of a kind that is not known", "kind", i.Type)
		answer(w, response{Type: discordgo.InteractionResponseChannelMessageWithSource, Data: private(signRefused)})
		return
	}
	h := &handle{interaction: i, answer: make(chan response, 1), deferred: make(chan struct{})}
	close(h.deferred)
	in.Handle = h
	ended := make(chan error, 1)
	// What the person did counts, even if Discord has hung up.
	go func() { ended <- sink.Accept(context.WithoutCancel(r.Context()), in) }()
	late := time.NewTimer(answerTime)
	defer late.Stop()
	select {
	case now := <-h.answer: // the core has decided, or leaves it open
		answer(w, now)
		if err := <-ended; err != nil {
			a.log.Warn("press could not be taken after it was acknowledged", "err", err)
		}
	case err := <-ended:
		a.answerEnded(w, h, err)
	case <-late.C:
		answer(w, h.deferral())
		sign := signTaken
		if err := <-ended; err != nil {
			sign = signRefused
			a.log.Warn("interaction could not be taken after it was acknowledged", "err", err)
		}
		a.resolve(r.Context(), h, sign)
	}
}

// answerEnded answers when the core is done with an interaction.
func (a *Adapter) answerEnded(w http.ResponseWriter, h *handle, err error) {
	refused, isRefused := errors.AsType[*channels.RefusedError](err)
	switch {
	case err == nil && h.Type == kindCommand:
		answer(w, response{Type: discordgo.InteractionResponseChannelMessageWithSource, Data: private(signTaken)})
	case err == nil:
		select {
		case now := <-h.answer:
			answer(w, now)
		default:
			answer(w, h.deferral())
		}
	case isRefused && refused.Reason != channels.RefusedUnavailable:
		a.log.Debug("interaction refused", "reason", string(refused.Reason))
		answer(w, response{Type: discordgo.InteractionResponseChannelMessageWithSource, Data: private(signRefused)})
	default:
		a.log.Warn("interaction could not be taken", "err", err)
		http.Error(w, "not now", http.StatusServiceUnavailable)
	}
}

func answer(w http.ResponseWriter, r response) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(r) // who called has gone then
	_ = http.NewResponseController(w).Flush()
}

// endpoint is the application's setting.
type endpoint struct {
	URL *string `json:"interactions_endpoint_url"`
}

// RegisterWebhook sets the interactions endpoint, or removes it where url is
// empty. Discord calls it at once, so the bot has to be running.
func (a *Adapter) RegisterWebhook(ctx context.Context, url string) error {
	var set endpoint
	if url != "" {
		if a.cfg.Mode != ModeInteractions {
			return fmt.Errorf("channels.%s uses the gateway: set its mode to interactions first", a.name)
		}
		set.URL = &url
	}
	if err := a.rest.call(ctx, http.MethodPatch, "/applications/@me", set, nil); err != nil {
		return fmt.Errorf("setting the interactions endpoint (Discord calls it at once: parley has to be running there): %w", sendError(err))
	}
	return nil
}

// WebhookStatus tells what Discord has.
func (a *Adapter) WebhookStatus(ctx context.Context) (channels.WebhookStatus, error) {
	app, err := a.application(ctx)
	if err != nil {
		return channels.WebhookStatus{}, fmt.Errorf("asking for the application: %w", sendError(err))
	}
	return channels.WebhookStatus{URL: app.Endpoint}, nil
}
