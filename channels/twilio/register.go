package twilio

import (
	"context"
	"errors"
	"fmt"
	"strings"

	openapi "github.com/twilio/twilio-go/rest/api/v2010"

	"github.com/parley-bot/parley/channels"
)

// Check reads the account.
func (a *Adapter) Check(ctx context.Context) (string, error) {
	api, c := a.service(ctx)
	acc, err := api.FetchAccount(a.cfg.AccountSID)
	if err != nil {
		return "", fmt.Errorf("reading the account: %w", a.failure(c, err))
	}
	name := text(acc.FriendlyName) + " (" + a.cfg.AccountSID + ")"
	if s := text(acc.Status); s != "active" {
		return name, fmt.Errorf("the account is %q, not active", s)
	}
	return name, nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// byHand says what to paste where the API has no way to set the webhook.
func (a *Adapter) byHand() error {
	switch {
	case a.cfg.From == "":
		return fmt.Errorf("the webhook of a messaging service has to be set by hand: in the console, Messaging, Services, "+
			"Integration, choose “Send a webhook” and paste %s", a.webhook)
	case strings.HasPrefix(a.cfg.From, whatsapp):
		return fmt.Errorf("the webhook of a WhatsApp sender has to be set by hand: in the console, Messaging, Senders, "+
			"WhatsApp senders (or the sandbox's settings), paste %s with method POST", a.webhook)
	}
	return nil
}

// number is the configured phone number as the account has it.
func (a *Adapter) number(ctx context.Context) (openapi.ApiV2010IncomingPhoneNumber, error) {
	var none openapi.ApiV2010IncomingPhoneNumber
	if err := a.byHand(); err != nil {
		return none, err
	}
	api, c := a.service(ctx)
	p := new(openapi.ListIncomingPhoneNumberParams)
	p.SetPhoneNumber(a.cfg.From)
	page, err := api.PageIncomingPhoneNumber(p, "", "")
	if err != nil {
		return none, fmt.Errorf("reading the number: %w", a.failure(c, err))
	}
	for _, n := range page.IncomingPhoneNumbers {
		if text(n.PhoneNumber) == a.cfg.From && text(n.Sid) != "" {
			return n, nil
		}
	}
	return none, fmt.Errorf("the account has no number %s", a.cfg.From)
}

// RegisterWebhook sets the address that messages to the number are posted to.
func (a *Adapter) RegisterWebhook(ctx context.Context, address string) error {
	n, err := a.number(ctx)
	if err != nil {
		return err
	}
	if text(n.SmsApplicationSid) != "" {
		return errors.New("the number belongs to a TwiML application, which has the webhook: set it there, or take the application off the number")
	}
	p := new(openapi.UpdateIncomingPhoneNumberParams)
	p.SetSmsUrl(address)
	p.SetSmsMethod("POST")
	api, c := a.service(ctx)
	if _, err := api.UpdateIncomingPhoneNumber(*n.Sid, p); err != nil {
		return fmt.Errorf("setting the webhook of the number: %w", a.failure(c, err))
	}
	return nil
}

// WebhookStatus tells the address that Twilio has.
func (a *Adapter) WebhookStatus(ctx context.Context) (channels.WebhookStatus, error) {
	n, err := a.number(ctx)
	if err != nil {
		return channels.WebhookStatus{}, err
	}
	s := channels.WebhookStatus{URL: text(n.SmsUrl)}
	if text(n.SmsApplicationSid) != "" {
		s.LastError = "the number belongs to a TwiML application, and its own address is ignored"
	}
	return s, nil
}
