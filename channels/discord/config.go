package discord

import (
	"cmp"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/secret"
)

// The modes of receiving.
const (
	ModeGateway      = "gateway"
	ModeInteractions = "interactions"
)

// DefaultAPIURL is Discord's own.
const DefaultAPIURL = "https://discord.com/api"

// apiVersion is the version of the API and of the gateway.
const apiVersion = "10"

// Config is what the operator sets under channels.NAME.
type Config struct {
	// Token is the bot's, from the developer portal. Required.
	Token secret.String `yaml:"token" config:"required"`
	// Mode is gateway, the default, or interactions.
	Mode string `yaml:"mode" config:"oneof=gateway|interactions"`
	// PublicKey is the application's, in hex. Required in interactions mode.
	PublicKey string `yaml:"public_key"`
	// MessageContent is whether the message content intent is asked for; the
	// default is true. Without it people of a server are heard only where
	// they name the bot, in replies that ping it, and by commands.
	MessageContent *bool `yaml:"message_content"`
	// APIURL is the API; the default is DefaultAPIURL. Without a version at
	// its end it gets the one that is spoken here.
	APIURL string `yaml:"api_url"`
	// GatewayURL is where the gateway is; by default the API tells.
	GatewayURL string `yaml:"gateway_url"`
}

// Defaults is the configuration with nothing set.
func Defaults() Config {
	yes := true
	return Config{Mode: ModeGateway, MessageContent: &yes, APIURL: DefaultAPIURL}
}

// Deps is what the program gives an adapter.
type Deps struct {
	Host channels.Host
	// Log has no default.
	Log *slog.Logger
	// Name is the key under channels.
	Name string
	// Transport replaces the adapter's own HTTP transport, in tests.
	Transport http.RoundTripper
}

var (
	tokenForm   = regexp.MustCompile(`^[A-Za-z0-9_.+/=-]{1,256}$`)
	versionForm = regexp.MustCompile(`/v[0-9]+$`)
)

// Validate tells all that is wrong, without any credential in it.
func (c *Config) Validate() error {
	var errs []error
	switch token := c.Token.Reveal(); {
	case token == "":
		errs = append(errs, channels.WrongKey("token", "is empty: set what the developer portal shows under Bot, Reset Token"))
	case !tokenForm.MatchString(token) || c.APIURL == "" && strings.Count(token, ".") != 2:
		// Another API, such as a proxy that keeps the bot's own, may have
		// tokens of its own form.
		errs = append(errs, channels.WrongKey("token", "is no bot token: it has three parts with dots between, and no “Bot” before it"))
	}
	if c.Mode != "" && c.Mode != ModeGateway && c.Mode != ModeInteractions {
		errs = append(errs, channels.WrongKey("mode", "%q is not known: use %s or %s", c.Mode, ModeGateway, ModeInteractions))
	}
	switch key, err := hex.DecodeString(c.PublicKey); {
	case c.PublicKey == "" && c.Mode == ModeInteractions:
		errs = append(errs, channels.WrongKey("public_key", "is missing: mode interactions needs the Public Key that the developer portal shows under General Information"))
	case err != nil || c.PublicKey != "" && len(key) != ed25519.PublicKeySize:
		errs = append(errs, channels.WrongKey("public_key", "is no public key: it has 64 digits and letters from a to f"))
	}
	errs = append(errs, address("api_url", c.APIURL, DefaultAPIURL, "https", "http"),
		address("gateway_url", c.GatewayURL, "wss://gateway.discord.gg", "wss", "ws"))
	return errors.Join(errs...)
}

func address(key, value, such string, schemes ...string) error {
	if value == "" {
		return nil
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != schemes[0] && u.Scheme != schemes[1] || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return channels.WrongKey(key, "is no address such as %s", such)
	}
	return nil
}

// complete takes the default of what isn't set.
func (c *Config) complete() {
	d := Defaults()
	c.Mode, c.MessageContent = cmp.Or(c.Mode, d.Mode), cmp.Or(c.MessageContent, d.MessageContent)
	c.APIURL = strings.TrimRight(cmp.Or(c.APIURL, d.APIURL), "/")
	if u, err := url.Parse(c.APIURL); err == nil && u.Path == "" {
		c.APIURL += "/api"
	}
	if !versionForm.MatchString(c.APIURL) {
		c.APIURL += "/v" + apiVersion
	}
	c.GatewayURL = strings.TrimRight(c.GatewayURL, "/")
}
