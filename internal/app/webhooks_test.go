package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/config"
)

// registrar is a platform whose webhook can be set.
type registrar struct {
	channels.Adapter

	status channels.WebhookStatus
	ask    error // WebhookStatus fails
	refuse error // RegisterWebhook fails
	deaf   bool  // RegisterWebhook succeeds and does nothing
	calls  []string
}

func (r *registrar) RegisterWebhook(_ context.Context, url string) error {
	r.calls = append(r.calls, "set "+url)
	if r.refuse == nil && !r.deaf {
		r.status.URL = url
	}
	return r.refuse
}

func (r *registrar) WebhookStatus(context.Context) (channels.WebhookStatus, error) {
	return r.status, r.ask
}

// webhookBot is a bot with those channels, a web chat and that public_url.
func webhookBot(t *testing.T, publicURL string, adapters map[string]channels.Adapter) *Bot {
	t.Helper()
	dir := t.TempDir()
	doc := "model: {provider: script, script: model.yaml}\nchannels: {web: {kind: webchat}}\nstore: {url: \"sqlite://" + filepath.Join(dir, "p.db") + "\"}\n"
	if publicURL != "" {
		doc += "server: {public_url: \"" + publicURL + "\"}\n"
	}
	for name, text := range map[string]string{"parley.yaml": doc, "model.yaml": "rules:\n  - say: unused\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(filepath.Join(dir, "parley.yaml"), Kinds())
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Log: slog.New(slog.DiscardHandler), Channels: map[string]func(channelEnv) (channels.Adapter, error){}}
	for name, a := range adapters {
		opts.Channels[name] = Extra(a)
	}
	bot, err := Build(t.Context(), cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bot.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return bot
}

func TestWebhooks_ListsSetsAndRemoves(t *testing.T) {
	t.Parallel()
	const own, other = "https://bot.example.com/webhooks/tg", "https://old.example.com/x"
	broken := channels.WebhookStatus{URL: other, Pending: 3, LastError: "503"}
	tests := []struct {
		name   string
		action WebhookAction
		dry    bool
		had    channels.WebhookStatus
		change string
		has    string
		calls  []string
	}{
		{"list none", WebhooksList, false, channels.WebhookStatus{}, "would set " + own, "", nil},
		{"list another", WebhooksList, false, broken, "would replace by " + own, other, nil},
		{"list ours", WebhooksList, false, channels.WebhookStatus{URL: own}, "none", own, nil},
		{"register dry", WebhooksRegister, true, broken, "would replace by " + own, other, nil},
		{"register", WebhooksRegister, false, channels.WebhookStatus{}, "set", own, []string{"set " + own}},
		{"register over another", WebhooksRegister, false, broken, "replaced " + other, own, []string{"set " + own}},
		{"register again, since the secret may have changed", WebhooksRegister, false, channels.WebhookStatus{URL: own}, "none", own, []string{"set " + own}},
		{"delete dry", WebhooksDelete, true, broken, "would delete", other, nil},
		{"delete", WebhooksDelete, false, broken, "deleted", "", []string{"set "}},
		{"delete nothing", WebhooksDelete, false, channels.WebhookStatus{}, "nothing to delete", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &registrar{status: tt.had}
			// The trailing slash isn't doubled.
			bot := webhookBot(t, "https://bot.example.com/", map[string]channels.Adapter{"tg": r})
			got, err := bot.Webhooks(t.Context(), tt.action, nil, tt.dry)
			if err != nil {
				t.Fatal(err)
			}
			want := []Webhook{{
				Channel: "tg", Kind: "extra", Wanted: own, Change: tt.change,
				WebhookStatus: channels.WebhookStatus{URL: tt.has, Pending: tt.had.Pending, LastError: tt.had.LastError},
			}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.calls, r.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWebhooks_OneFailureHidesNoOther(t *testing.T) {
	t.Parallel()
	down := errors.New("platform is down")
	adapters := map[string]channels.Adapter{
		"a": &registrar{ask: down}, "b": &registrar{refuse: down}, "c": &registrar{deaf: true}, "d": &registrar{},
	}
	got, err := webhookBot(t, "https://bot.example.com", adapters).Webhooks(t.Context(), WebhooksRegister, nil, false)
	if err != nil || len(got) != 4 {
		t.Fatalf("%v, %v", got, err)
	}
	for i, want := range []string{
		"channel a: asking for the webhook: platform is down", "channel b: setting the webhook: platform is down",
		"channel c: setting the webhook: the platform took it, and still has none", "",
	} {
		text := ""
		if got[i].Err != nil {
			text = got[i].Err.Error()
		}
		if text != want {
			t.Errorf("%s: %q, want %q", got[i].Channel, text, want)
		}
	}
	if got[3].Change != "set" {
		t.Errorf("%+v", got[3])
	}
}

func TestWebhooks_WhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, url string
		action    WebhookAction
		names     []string
		want      error
		says      string
	}{
		{"no public_url", "", WebhooksRegister, nil, ErrNoPublicURL, "server.public_url"},
		{"list without one", "", WebhooksList, nil, nil, ""},
		{"delete without one", "", WebhooksDelete, nil, nil, ""},
		{"unknown channel", "https://b.example.com", WebhooksList, []string{"tg", "nope"}, ErrNoWebhook, "channel nope is not configured (there are tg, web)"},
		{"a web chat", "https://b.example.com", WebhooksRegister, []string{"web"}, ErrNoWebhook, "channel web (webchat)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &registrar{status: channels.WebhookStatus{URL: "https://old.example.com"}}
			_, err := webhookBot(t, tt.url, map[string]channels.Adapter{"tg": r}).Webhooks(t.Context(), tt.action, tt.names, false)
			if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want %v with %q", err, tt.want, tt.says)
			}
			if tt.want != nil && len(r.calls) > 0 {
				t.Errorf("the platform was told %q", r.calls)
			}
		})
	}
}

func TestWebhooks_OnlyThoseNamed(t *testing.T) {
	t.Parallel()
	a, b := &registrar{}, &registrar{}
	got, err := webhookBot(t, "https://bot.example.com", map[string]channels.Adapter{"a": a, "b": b}).
		Webhooks(t.Context(), WebhooksRegister, []string{"b"}, false)
	if err != nil || len(got) != 1 || got[0].Channel != "b" || len(a.calls) != 0 || len(b.calls) != 1 {
		t.Errorf("%+v, %v; calls %q and %q", got, err, a.calls, b.calls)
	}
}
