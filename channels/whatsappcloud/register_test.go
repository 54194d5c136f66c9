package whatsappcloud_test

import (
	"strings"
	"testing"

	"github.com/parley-bot/parley/channels/whatsappcloud"
	"github.com/parley-bot/parley/internal/secret"
)

func withAccount(c *whatsappcloud.Config) { c.WABAID = "900" }

func TestCheck(t *testing.T) {
	t.Parallel()
	b := newBed(t, withAccount)
	account, err := b.adapter.Check(t.Context())
	if err != nil || account != "La Espiga (+15550002222)" {
		t.Errorf("account %q, %v", account, err)
	}
	b.platform.Unsubscribe()
	if _, err := b.adapter.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing would be delivered") {
		t.Errorf("without a subscription: %v", err)
	}
	wrong := newBed(t, func(c *whatsappcloud.Config) { c.AccessToken = secret.New("expired") })
	if _, err := wrong.adapter.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "system user") {
		t.Errorf("with a wrong token: %v", err)
	}
}

func TestRegisterWebhook(t *testing.T) {
	t.Parallel()
	const address = "https://bot.example.com/webhooks/wa"
	b := newBed(t, withAccount)
	for range 2 {
		if err := b.adapter.RegisterWebhook(t.Context(), address); err != nil {
			t.Fatal(err)
		}
	}
	if b.platform.Override() != address {
		t.Errorf("registered %q", b.platform.Override())
	}
	if s, err := b.adapter.WebhookStatus(t.Context()); err != nil || s.URL != "https://app.example.com/hook" || s.LastError != "" {
		t.Errorf("status %+v, %v", s, err)
	}
	if err := b.adapter.RegisterWebhook(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if s, err := b.adapter.WebhookStatus(t.Context()); err != nil || s.LastError == "" {
		t.Errorf("after it was removed: %+v, %v", s, err)
	}
	byHand := newBed(t)
	err := byHand.adapter.RegisterWebhook(t.Context(), address)
	if err == nil || !strings.Contains(err.Error(), address) || strings.Contains(err.Error(), "verify-me") {
		t.Errorf("without waba_id: %v, want it to say what to paste, and no secret", err)
	}
}

func TestConfig_NamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	good := func() whatsappcloud.Config {
		c := whatsappcloud.Defaults()
		c.PhoneNumberID, c.AccessToken, c.AppSecret = "100", secret.New("t"), secret.New("s")
		return c
	}
	c := good()
	if err := c.Validate(); err != nil {
		t.Fatalf("a good one: %v", err)
	}
	for want, change := range map[string]func(*whatsappcloud.Config){
		"not the number itself": func(c *whatsappcloud.Config) { c.PhoneNumberID = "+1 555 0002222" },
		"digits only":           func(c *whatsappcloud.Config) { c.WABAID = "x" },
		"is empty":              func(c *whatsappcloud.Config) { c.AccessToken = secret.String{} },
		"line break":            func(c *whatsappcloud.Config) { c.AccessToken = secret.New("t\n") },
		"anybody's name":        func(c *whatsappcloud.Config) { c.AppSecret = secret.String{} },
		"such as v23.0":         func(c *whatsappcloud.Config) { c.APIVersion = "23" },
		"name and lang":         func(c *whatsappcloud.Config) { c.Template.Name = "x" },
		"an address such as":    func(c *whatsappcloud.Config) { c.APIURL = "graph.facebook.com" },
	} {
		c := good()
		change(&c)
		err := c.Validate()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
