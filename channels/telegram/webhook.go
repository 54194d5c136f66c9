package telegram

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	tg "github.com/go-telegram/bot"

	"github.com/parley-bot/parley/channels"
)

const (
	secretHeader = "X-Telegram-Bot-Api-Secret-Token"
	// maxUpdate bounds a request. The longest messages are far below.
	maxUpdate = 4 << 20
	// comeAgain is when an update may be delivered again that couldn't be
	// taken; Telegram heeds it.
	comeAgain = 5 * time.Second
)

// Webhook takes updates. Without the secret nothing is read; 200 comes after
// the commit; an update that can't be taken now is answered 503, so that
// Telegram delivers it again, and one that never can is answered 200, since it
// would hold up its chat for a day.
func (a *Adapter) Webhook(sink channels.Sink) http.Handler {
	want := sha256.Sum256([]byte(a.cfg.SecretToken.Reveal()))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.cfg.Mode != ModeWebhook || a.cfg.SecretToken.Empty() {
			http.Error(w, "this channel takes no webhooks", http.StatusNotFound)
			return
		}
		got := r.Header.Values(secretHeader)
		if len(got) != 1 {
			got = []string{""}
		}
		// Sums are compared, so that neither content nor length shows in the
		// time it takes.
		if have := sha256.Sum256([]byte(got[0])); subtle.ConstantTimeCompare(have[:], want[:]) != 1 {
			a.log.Warn("webhook request with a wrong secret")
			http.Error(w, "wrong secret", http.StatusUnauthorized)
			return
		}
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "use POST", http.StatusMethodNotAllowed)
			return
		}
		a.webhook(w, r, sink)
	})
}

func (a *Adapter) webhook(w http.ResponseWriter, r *http.Request, sink channels.Sink) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxUpdate))
	if _, big := errors.AsType[*http.MaxBytesError](err); big {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil || !json.Valid(body) {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	u, err := decode(body)
	if err != nil {
		a.log.Error("update can't be read and is skipped", "err", err)
		w.WriteHeader(http.StatusOK)
		return
	}
	if err := a.accept(r.Context(), sink, u); err != nil {
		after := comeAgain
		if refused, ok := errors.AsType[*channels.RefusedError](err); ok && refused.After > 0 {
			after = refused.After
		}
		if r.Context().Err() == nil {
			a.log.Warn("update could not be taken: telegram will deliver it again", "update", u.ID, "retry_in", after, "err", err)
		}
		w.Header().Set("Retry-After", strconv.Itoa(int((after+time.Second-1)/time.Second)))
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// RegisterWebhook sets the webhook, with the configured secret, or removes it
// where url is empty. What waits to be delivered is kept in both cases.
func (a *Adapter) RegisterWebhook(ctx context.Context, url string) error {
	if url == "" {
		return a.deleteWebhook(ctx)
	}
	if a.cfg.Mode != ModeWebhook {
		return fmt.Errorf("channels.%s polls: set its mode to webhook first", a.name)
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, err := a.api.SetWebhook(ctx, &tg.SetWebhookParams{
		URL: url, SecretToken: a.cfg.SecretToken.Reveal(), AllowedUpdates: allowedUpdates(), MaxConnections: a.cfg.MaxConnections,
	})
	if err != nil {
		return a.http.sendError(err)
	}
	return nil
}

func (a *Adapter) deleteWebhook(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if _, err := a.api.DeleteWebhook(ctx, &tg.DeleteWebhookParams{}); err != nil {
		return a.http.sendError(err)
	}
	return nil
}

// WebhookStatus tells what Telegram has.
func (a *Adapter) WebhookStatus(ctx context.Context) (channels.WebhookStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	info, err := a.api.GetWebhookInfo(ctx)
	if err != nil {
		return channels.WebhookStatus{}, a.http.sendError(err)
	}
	s := channels.WebhookStatus{URL: info.URL, Pending: info.PendingUpdateCount, LastError: a.http.redact(info.LastErrorMessage)}
	if s.LastError != "" && info.LastErrorDate > 0 {
		s.LastError = time.Unix(int64(info.LastErrorDate), 0).UTC().Format(time.RFC3339) + ": " + s.LastError
	}
	return s, nil
}

// lookAtWebhook warns of a webhook that was never set: nothing would come.
func (a *Adapter) lookAtWebhook(ctx context.Context) {
	s, err := a.WebhookStatus(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		a.log.Warn("webhook could not be looked at", "err", err)
	case s.URL == "":
		a.log.Warn("no webhook is set for this bot: nothing comes until one is")
	case s.LastError != "":
		a.log.Warn("telegram's last delivery failed", "last_error", s.LastError, "pending", s.Pending)
	}
}
