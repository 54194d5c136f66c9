package whatsappcloud_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/whatsappcloud"
	"github.com/parley-bot/parley/channels/whatsappcloud/whatsappcloudtest"
	"github.com/parley-bot/parley/internal/secret"
)

type object = whatsappcloudtest.Object

const ana = "15550001111"

// bed is an adapter on a platform of its own, with a sink that keeps all.
type bed struct {
	t        *testing.T
	adapter  *whatsappcloud.Adapter
	platform *whatsappcloudtest.Platform
	host     *channeltest.Host
	clock    *clock

	mu       sync.Mutex
	got      []channels.Inbound
	statuses []channels.StatusUpdate
	answer   func(channels.Inbound) error
	report   error
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// configOf is what an operator would write for that platform.
func configOf(p *whatsappcloudtest.Platform) whatsappcloud.Config {
	c := whatsappcloud.Defaults()
	c.PhoneNumberID, c.APIURL = p.PhoneNumberID, p.URL
	c.AccessToken, c.AppSecret, c.VerifyToken = secret.New(p.Token), secret.New(p.AppSecret), secret.New(p.VerifyToken)
	return c
}

func newBed(t *testing.T, change ...func(*whatsappcloud.Config)) *bed {
	t.Helper()
	b := &bed{t: t, clock: &clock{now: time.Unix(1_700_000_000, 0)}, host: channeltest.NewHost()}
	b.platform = whatsappcloudtest.New(whatsappcloudtest.Config{Now: b.clock.Now})
	t.Cleanup(b.platform.Close)
	cfg := configOf(b.platform)
	for _, c := range change {
		c(&cfg)
	}
	a, err := whatsappcloud.New(cfg, whatsappcloud.Deps{Host: b.host, Name: "wa", Now: b.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	b.adapter = a
	b.platform.Serve(a.Webhook(b))
	return b
}

// Accept implements channels.Sink.
func (b *bed) Accept(_ context.Context, in channels.Inbound) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.answer != nil {
		if err := b.answer(in); err != nil {
			return err
		}
	}
	b.got = append(b.got, in)
	return nil
}

// Status implements channels.StatusSink.
func (b *bed) Status(_ context.Context, u channels.StatusUpdate) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.report == nil {
		b.statuses = append(b.statuses, u)
	}
	return b.report
}

func (b *bed) say(id, text string) {
	b.t.Helper()
	w := b.platform.Deliver(b.platform.Batch(b.platform.From(ana, "Ana", whatsappcloudtest.Text(id, text))))
	if w.Code != http.StatusOK {
		b.t.Fatalf("message %s: status %d", id, w.Code)
	}
}

func (b *bed) chat() channels.Chat { return channels.Chat{ID: ana} }

func (b *bed) send(part channels.Part) (channels.Receipt, error) {
	if part.Chat.ID == "" {
		part.Chat = b.chat()
	}
	return b.adapter.Send(b.t.Context(), part)
}

// class is the class of a failure, and its code.
func class(err error) (channels.SendClass, string) {
	if se, ok := errors.AsType[*channels.SendError](err); ok {
		return se.Class, se.Code
	}
	return "", ""
}

func texts(all []channels.Inbound) []string {
	out := []string{}
	for _, in := range all {
		out = append(out, in.Text)
	}
	return out
}
