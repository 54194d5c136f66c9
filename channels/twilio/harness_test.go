package twilio_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/twilio"
	"github.com/parley-bot/parley/channels/twilio/twiliotest"
	"github.com/parley-bot/parley/internal/secret"
)

const (
	sms   = "+15550002222"
	wa    = "whatsapp:+15550002222"
	ana   = "+15550001111"
	waAna = "whatsapp:+15550001111"
)

// bed is an adapter on a platform of its own, with a sink that keeps all.
type bed struct {
	t        *testing.T
	adapter  *twilio.Adapter
	platform *twiliotest.Platform

	mu       sync.Mutex
	got      []channels.Inbound
	statuses []channels.StatusUpdate
	answer   error
}

// configOf is what an operator would write for that platform.
func configOf(p *twiliotest.Platform) twilio.Config {
	c := twilio.Defaults()
	c.AccountSID, c.AuthToken, c.From = p.AccountSID, secret.New(p.Token), sms
	c.APIURL, c.PublicURL = p.URL, p.Public
	return c
}

func newBed(t *testing.T, change ...func(*twilio.Config)) *bed {
	t.Helper()
	b := &bed{t: t, platform: twiliotest.New(twiliotest.Config{})}
	t.Cleanup(b.platform.Close)
	cfg := configOf(b.platform)
	for _, c := range change {
		c(&cfg)
	}
	a, err := twilio.New(cfg, twilio.Deps{Name: b.platform.Name})
	if err != nil {
		t.Fatal(err)
	}
	b.adapter = a
	b.platform.Serve(a.Webhook(b))
	return b
}

func onWhatsApp(c *twilio.Config) { c.From = wa }

func withContent(c *twilio.Config) {
	c.From, c.ContentSID = wa, "HX00000000000000000000000000000001"
}

// Accept implements channels.Sink.
func (b *bed) Accept(_ context.Context, in channels.Inbound) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.answer == nil {
		b.got = append(b.got, in)
	}
	return b.answer
}

// Status implements channels.StatusSink.
func (b *bed) Status(_ context.Context, u channels.StatusUpdate) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.answer == nil {
		b.statuses = append(b.statuses, u)
	}
	return b.answer
}

// deliver posts a text, changed, to the adapter's sender.
func (b *bed) deliver(from, to, text string, fields ...string) {
	b.t.Helper()
	f := b.platform.Text("SM1", from, to, text)
	for i := 0; i+1 < len(fields); i += 2 {
		f.Set(fields[i], fields[i+1])
	}
	if w := b.platform.Deliver(f, ""); w.Code != http.StatusOK {
		b.t.Fatalf("status %d", w.Code)
	}
}

// class is the class of a failure, and its code.
func class(err error) (channels.SendClass, string) {
	if se, ok := errors.AsType[*channels.SendError](err); ok {
		return se.Class, se.Code
	}
	return "", ""
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}
