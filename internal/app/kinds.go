package app

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/discord"
	"github.com/parley-bot/parley/channels/telegram"
	"github.com/parley-bot/parley/channels/twilio"
	"github.com/parley-bot/parley/channels/webchat"
	"github.com/parley-bot/parley/channels/whatsappcloud"
	"github.com/parley-bot/parley/internal/config"
)

// channelEnv is what a channel is made with.
type channelEnv struct {
	cfg  *config.Config
	host *host
	log  *slog.Logger
	opts Options
}

// channelKind makes the adapter of one kind of channel.
type channelKind struct {
	kind string
	// make decodes the section first, and does nothing where that fails.
	make func(c config.Channel, env channelEnv) (channels.Adapter, error)
}

// channelKinds is the one table of platforms: a new adapter is its folder and
// a line here.
func channelKinds() []channelKind {
	return []channelKind{
		{"webchat", newWebchat},
		{"console", newConsole},
		{"whatsapp_cloud", newWhatsAppCloud},
		{"twilio", newTwilio},
		{"telegram", newTelegram},
		{"discord", newDiscord},
		{"whatsapp_web", newWhatsAppWeb},
	}
}

func findKind(kind string) (channelKind, bool) {
	for _, k := range channelKinds() {
		if k.kind == kind {
			return k, true
		}
	}
	return channelKind{}, false
}

// Kinds lists what this build has, for the configuration's checks.
func Kinds() config.Options {
	var o config.Options
	for _, k := range channelKinds() {
		o.ChannelKinds = append(o.ChannelKinds, k.kind)
	}
	for _, k := range providerKinds() {
		o.Providers = append(o.Providers, k.kind)
	}
	for _, p := range config.Presets() {
		o.Providers = append(o.Providers, p.Name)
	}
	o.Stores = []string{"sqlite", "postgres"}
	o.Channel = func(cfg *config.Config, c config.Channel) error {
		k, ok := findKind(c.Kind)
		if !ok {
			return nil // reported already
		}
		_, err := k.make(c, channelEnv{cfg: cfg, host: &host{}, log: slog.New(slog.DiscardHandler)})
		return err
	}
	o.ToolKinds = []string{"script", "http", "sql", "mcp"}
	return o
}

func newWebchat(c config.Channel, env channelEnv) (channels.Adapter, error) {
	cfg := webchat.Config{Title: env.cfg.Bot.Name, MaxText: int(env.cfg.Limits.MessageBytes),
		Secure: strings.HasPrefix(env.cfg.Server.PublicURL, "https:")}
	if err := c.Decode(&cfg); err != nil {
		return nil, err
	}
	a, err := webchat.New(cfg, webchat.Deps{Host: env.host, Log: env.log, Name: c.Name})
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", c.Name, err)
	}
	return a, nil
}

func newConsole(c config.Channel, env channelEnv) (channels.Adapter, error) {
	if err := c.Decode(&struct{}{}); err != nil {
		return nil, err
	}
	return makeConsole(c.Name, env)
}

func newWhatsAppCloud(c config.Channel, env channelEnv) (channels.Adapter, error) {
	cfg := whatsappcloud.Defaults()
	if err := c.Decode(&cfg); err != nil {
		return nil, err
	}
	a, err := whatsappcloud.New(cfg, whatsappcloud.Deps{Host: env.host, Log: env.log, Name: c.Name})
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", c.Name, err)
	}
	return a, nil
}

func newDiscord(c config.Channel, env channelEnv) (channels.Adapter, error) {
	var cfg discord.Config
	if err := c.Decode(&cfg); err != nil {
		return nil, err
	}
	a, err := discord.New(cfg, discord.Deps{Host: env.host, Log: env.log, Name: c.Name})
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", c.Name, err)
	}
	return a, nil
}

func newTelegram(c config.Channel, env channelEnv) (channels.Adapter, error) {
	var cfg telegram.Config
	if err := c.Decode(&cfg); err != nil {
		return nil, err
	}
	a, err := telegram.New(cfg, telegram.Deps{Host: env.host, Log: env.log, Name: c.Name, Lang: env.cfg.Bot.Lang})
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", c.Name, err)
	}
	return a, nil
}

func newTwilio(c config.Channel, env channelEnv) (channels.Adapter, error) {
	cfg := twilio.Defaults()
	cfg.PublicURL = env.cfg.Server.PublicURL
	if err := c.Decode(&cfg); err != nil {
		return nil, err
	}
	a, err := twilio.New(cfg, twilio.Deps{Log: env.log, Name: c.Name})
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", c.Name, err)
	}
	return a, nil
}
