package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-bot/parley/channels"
)

// WebhookAction is what to do with the platforms' webhooks.
type WebhookAction string

// The actions.
const (
	WebhooksList     WebhookAction = "list"
	WebhooksRegister WebhookAction = "register"
	WebhooksDelete   WebhookAction = "delete"
)

// Webhook is the webhook that a platform calls for one channel.
type Webhook struct {
	Channel string
	Kind    string
	// Status is what the platform has, after the action.
	channels.WebhookStatus
	// Wanted is the bot's own address for it, "" where server.public_url
	// isn't set.
	Wanted string
	// Change says what was done, or would be: "" where nothing is known.
	Change string
	// Err is why the platform couldn't be asked, or refused.
	Err error
}

// Errors of Webhooks that are the caller's to mend.
var (
	// ErrNoPublicURL says that the bot doesn't know its own address.
	ErrNoPublicURL = errors.New("server.public_url is not set: it is how platforms reach the bot, such as https://bot.example.com")
	// ErrNoWebhook says that a channel has no webhook that could be set.
	ErrNoWebhook = errors.New("no webhook to set")
)

// webhookTime bounds what is asked of one platform.
const webhookTime = 30 * time.Second

// Webhooks shows, sets or removes the webhooks of the channels named, of all
// that have one where none is named, in the order of their names. With dryRun
// nothing is changed. A platform that fails is told of in its Webhook; the
// error is for what was asked, and then nothing was done: ErrNoPublicURL,
// ErrNoWebhook.
func (b *Bot) Webhooks(ctx context.Context, action WebhookAction, names []string, dryRun bool) ([]Webhook, error) {
	chosen, err := b.registrars(names)
	if err != nil {
		return nil, err
	}
	if action == WebhooksRegister && b.cfg.Server.PublicURL == "" && len(chosen) > 0 {
		return nil, ErrNoPublicURL
	}
	out := make([]Webhook, 0, len(chosen))
	for _, in := range chosen {
		w := Webhook{Channel: in.name, Kind: in.kind}
		if b.cfg.Server.PublicURL != "" {
			w.Wanted = b.cfg.Server.PublicURL + "/webhooks/" + in.name
		}
		w.Err = w.do(ctx, in.adapter.(channels.WebhookRegistrar), action, dryRun) //nolint:errcheck // chosen for being one
		if w.Err != nil {
			w.Err = fmt.Errorf("channel %s: %w", in.name, w.Err)
		}
		out = append(out, w)
	}
	return out, nil
}

// registrars are the channels named, or all with a webhook that can be set.
func (b *Bot) registrars(names []string) ([]*instance, error) {
	var chosen []*instance
	for i := range b.adapters {
		in := &b.adapters[i]
		_, able := in.adapter.(channels.WebhookRegistrar)
		named := slices.Contains(names, in.name)
		if named && !able {
			return nil, fmt.Errorf("channel %s (%s): %w by a call to its platform", in.name, in.kind, ErrNoWebhook)
		}
		if able && (named || len(names) == 0) {
			chosen = append(chosen, in)
		}
	}
	for _, name := range names {
		if all := b.Channels(); !slices.Contains(all, name) {
			slices.Sort(all)
			return nil, fmt.Errorf("channel %s is not configured (there are %s): %w", name, strings.Join(all, ", "), ErrNoWebhook)
		}
	}
	slices.SortFunc(chosen, func(a, b *instance) int { return strings.Compare(a.name, b.name) })
	return chosen, nil
}

// do asks the platform, and changes what is to be changed.
func (w *Webhook) do(ctx context.Context, r channels.WebhookRegistrar, action WebhookAction, dryRun bool) (err error) {
	ctx, cancel := context.WithTimeout(ctx, webhookTime)
	defer cancel()
	if w.WebhookStatus, err = r.WebhookStatus(ctx); err != nil {
		return fmt.Errorf("asking for the webhook: %w", err)
	}
	had, target := w.URL, ""
	if action != WebhooksDelete {
		target = w.Wanted
	}
	verb := change(had, target)
	if action == WebhooksList || dryRun {
		if action == WebhooksList && target == "" {
			return nil // nobody knows
		}
		w.Change = verb.would
		return nil
	}
	if target != "" || had != "" {
		// Also where the address is right: what goes with it, such as a
		// secret, may not be.
		if err := r.RegisterWebhook(ctx, target); err != nil {
			return fmt.Errorf("%s: %w", verb.doing, err)
		}
		if w.WebhookStatus, err = r.WebhookStatus(ctx); err != nil {
			return fmt.Errorf("asking for the webhook after %s: %w", verb.doing, err)
		}
		if w.URL != target {
			return fmt.Errorf("%s: the platform took it, and still has %s", verb.doing, shownURL(w.URL))
		}
	}
	w.Change = verb.did
	return nil
}

// wording names one change.
type wording struct{ would, doing, did string }

func change(had, target string) wording {
	switch {
	case had == target && target == "":
		return wording{"nothing to delete", "", "nothing to delete"}
	case had == target:
		return wording{"none", "setting the webhook again", "none"}
	case target == "":
		return wording{"would delete", "deleting the webhook", "deleted"}
	case had == "":
		return wording{"would set " + target, "setting the webhook", "set"}
	default:
		return wording{"would replace by " + target, "replacing the webhook", "replaced " + had}
	}
}

func shownURL(url string) string {
	if url == "" {
		return "none"
	}
	return url
}
