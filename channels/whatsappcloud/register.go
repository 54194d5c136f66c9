package whatsappcloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/parley-bot/parley/channels"
)

// Check reads the number's name, and whether the business account's events
// come to this app where its id is known.
func (a *Adapter) Check(ctx context.Context) (string, error) {
	var n struct {
		Number string `json:"display_phone_number"`
		Name   string `json:"verified_name"`
	}
	if err := a.graph.call(ctx, http.MethodGet, "/"+a.cfg.PhoneNumberID+"?fields=display_phone_number,verified_name", nil, &n); err != nil {
		return "", fmt.Errorf("reading the number: %w", err)
	}
	if n.Number == "" {
		return "", errors.New("reading the number: the answer has no display_phone_number; is phone_number_id that of a number?")
	}
	account := n.Name + " (" + n.Number + ")"
	if a.cfg.WABAID == "" {
		return account, nil
	}
	apps, err := a.subscribed(ctx)
	if err != nil {
		return account, err
	}
	if len(apps) == 0 {
		return account, errors.New("no app is subscribed to the business account: nothing would be delivered")
	}
	return account, nil
}

type subscription struct {
	Override string `json:"override_callback_uri"`
}

func (a *Adapter) subscribed(ctx context.Context) ([]subscription, error) {
	var answer struct {
		Data []subscription `json:"data"`
	}
	if err := a.graph.call(ctx, http.MethodGet, "/"+a.cfg.WABAID+"/subscribed_apps", nil, &answer); err != nil {
		return nil, fmt.Errorf("reading the subscriptions of the business account: %w", err)
	}
	return answer.Data, nil
}

// RegisterWebhook subscribes the app to the business account, with callback as
// its own address for it (Meta then makes its handshake, so the daemon must be
// reachable there). An empty address takes the subscription away.
func (a *Adapter) RegisterWebhook(ctx context.Context, callback string) error {
	if a.cfg.WABAID == "" {
		return fmt.Errorf("waba_id isn't configured, so the webhook has to be set by hand: in the app's dashboard, WhatsApp, "+
			"Configuration, paste %s as callback URL and the verify_token of the configuration, and subscribe to the field messages", shown(callback))
	}
	var answer struct {
		Success bool `json:"success"`
	}
	path := "/" + a.cfg.WABAID + "/subscribed_apps"
	method, body := http.MethodDelete, any(nil)
	if callback != "" {
		if a.cfg.VerifyToken.Empty() {
			return errors.New("verify_token isn't configured: Meta asks for it when the address is set")
		}
		method, body = http.MethodPost, map[string]string{"override_callback_uri": callback, "verify_token": a.cfg.VerifyToken.Reveal()}
	}
	if err := a.graph.call(ctx, method, path, body, &answer); err != nil {
		return fmt.Errorf("changing the subscription of the business account: %w", err)
	}
	if !answer.Success {
		return errors.New("changing the subscription of the business account: the platform did not say that it succeeded")
	}
	return nil
}

// shown is an address without what could be a credential in it.
func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return "server.public_url with /webhooks/ and the channel's name behind it"
	}
	return u.Redacted()
}

// WebhookStatus tells the address that Meta has: the override of the business
// account, else that of the number.
func (a *Adapter) WebhookStatus(ctx context.Context) (channels.WebhookStatus, error) {
	var n struct {
		Hooks struct {
			Number      string `json:"phone_number"`
			Account     string `json:"whatsapp_business_account"`
			Application string `json:"application"`
		} `json:"webhook_configuration"`
	}
	if err := a.graph.call(ctx, http.MethodGet, "/"+a.cfg.PhoneNumberID+"?fields=webhook_configuration", nil, &n); err != nil {
		return channels.WebhookStatus{}, fmt.Errorf("reading the webhook: %w", err)
	}
	s := channels.WebhookStatus{URL: n.Hooks.Application}
	if n.Hooks.Account != "" {
		s.URL = n.Hooks.Account
	}
	if n.Hooks.Number != "" {
		s.URL = n.Hooks.Number
	}
	if a.cfg.WABAID == "" {
		return s, nil
	}
	apps, err := a.subscribed(ctx)
	if err != nil {
		return s, err
	}
	if len(apps) == 0 {
		s.LastError = "no app is subscribed to the business account: nothing is delivered"
	}
	return s, nil
}
