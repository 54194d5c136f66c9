package discord_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/discord"
	"github.com/parley-bot/parley/channels/discord/discordtest"
	"github.com/parley-bot/parley/internal/secret"
)

func TestConfig_WhatIsWrong(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("ab", 32)
	for name, tt := range map[string]struct {
		cfg  discord.Config
		want string // "" is that nothing is
	}{
		"gateway":          {discord.Config{}, ""},
		"interactions":     {discord.Config{Mode: "interactions", PublicKey: key}, ""},
		"mode":             {discord.Config{Mode: "polling"}, `"polling" is not known`},
		"no key":           {discord.Config{Mode: "interactions"}, "is missing: mode interactions needs the Public Key"},
		"short key":        {discord.Config{PublicKey: key[:62]}, "is no public key"},
		"no hex":           {discord.Config{PublicKey: key[:62] + "zz"}, "is no public key"},
		"api_url":          {discord.Config{APIURL: "discord.com"}, "is no address such as https://discord.com/api"},
		"credentials":      {discord.Config{APIURL: "https://a:b@discord.com"}, "is no address"},
		"gateway_url":      {discord.Config{GatewayURL: "https://gateway.discord.gg"}, "is no address such as wss://"},
		"token with Bot":   {discord.Config{Token: secret.New("Bot a.b.c")}, "no “Bot” before it"},
		"token's parts":    {discord.Config{Token: secret.New("client-secret")}, "has three parts"},
		"token of a proxy": {discord.Config{Token: secret.New("client-secret"), APIURL: "http://10.0.0.5:8080"}, ""},
		"token is absent":  {discord.Config{Token: secret.New("")}, "Reset Token"},
	} {
		if !strings.Contains(name, "token") {
			tt.cfg.Token = secret.New(discordtest.Token())
		}
		_, err := discord.New(tt.cfg, discord.Deps{Host: channeltest.NewHost(), Log: slog.New(slog.DiscardHandler), Name: "dc"})
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "client-secret") {
			t.Errorf("%s: the error holds the token", name)
		}
	}
}

func TestDocs_HaveEveryKey(t *testing.T) {
	t.Parallel()
	channeltest.Documented(t, "../../docs/discord.md", discord.Defaults())
}
