package telegram

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/secret"
)

// The modes of receiving.
const (
	ModePolling = "polling"
	ModeWebhook = "webhook"
)

// The values of Pace.
const (
	PaceAuto = "auto"
	PaceOn   = "on"
	PaceOff  = "off"
)

// DefaultAPIURL is Telegram's own server; operators may run one of theirs
// (https://github.com/tdlib/telegram-bot-api).
const DefaultAPIURL = "https://api.telegram.org"

// Config is what the operator sets under channels.NAME.
type Config struct {
	// Token is what @BotFather gave. Required.
	Token secret.String `yaml:"token" config:"required"`
	// Mode is polling, the default, or webhook.
	Mode string `yaml:"mode" config:"oneof=polling|webhook"`
	// APIURL is the Bot API server; the default is DefaultAPIURL.
	APIURL string `yaml:"api_url"`
	// SecretToken is what Telegram sends back with each webhook request: 1
	// to 256 letters, digits, _ and -. Required in webhook mode.
	SecretToken secret.String `yaml:"secret_token"`
	// MaxConnections is how many webhook requests Telegram may make at
	// once, 1 to 100; the default is 40.
	MaxConnections int `yaml:"max_connections"`
	// Pace says whether sends keep within what Telegram advises: on, off,
	// or auto, the default, which is on at DefaultAPIURL only.
	Pace string `yaml:"pace" config:"oneof=auto|on|off"`
}

// Defaults is the configuration with nothing set.
func Defaults() Config {
	return Config{Mode: ModePolling, APIURL: DefaultAPIURL, MaxConnections: 40, Pace: PaceAuto}
}

// Deps is what the program gives an adapter.
type Deps struct {
	Host channels.Host
	// Log has no default.
	Log *slog.Logger
	// Name is the key under channels.
	Name string
	// Lang is the bot's language; its commands are described in it to people
	// whose language has no texts. The default is English.
	Lang string
	// Transport replaces the adapter's own HTTP transport, in tests.
	Transport http.RoundTripper
}

// pollTime is how long one poll waits for an update. The server allows 50 s.
const pollTime = 30 * time.Second

// Validate tells all that is wrong, without any credential in it.
func (c *Config) Validate() error {
	var errs []error
	switch token := c.Token.Reveal(); {
	case token == "":
		errs = append(errs, channels.WrongKey("token", "is empty: set what @BotFather gave you"))
	case len(token) > 256 || !only(token, ":_-"):
		errs = append(errs, channels.WrongKey("token", "is no bot token: it looks like 123456789:AAE…, with letters, digits, _ and - behind the colon"))
	}
	if c.Mode != "" && c.Mode != ModePolling && c.Mode != ModeWebhook {
		errs = append(errs, channels.WrongKey("mode", "%q is not known: use %s or %s", c.Mode, ModePolling, ModeWebhook))
	}
	if c.Pace != "" && c.Pace != PaceAuto && c.Pace != PaceOn && c.Pace != PaceOff {
		errs = append(errs, channels.WrongKey("pace", "%q is not known: use %s, %s or %s", c.Pace, PaceAuto, PaceOn, PaceOff))
	}
	if c.APIURL != "" {
		u, err := url.Parse(c.APIURL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			errs = append(errs, channels.WrongKey("api_url", "is no address such as %s", DefaultAPIURL))
		}
	}
	switch s := c.SecretToken.Reveal(); {
	case s == "" && c.Mode == ModeWebhook:
		errs = append(errs, channels.WrongKey("secret_token", "is missing (or secret_token_file): in webhook mode anybody could write as anybody without it"))
	case s != "" && (len(s) > 256 || !only(s, "_-")):
		errs = append(errs, channels.WrongKey("secret_token", "may have up to 256 letters, digits, _ and -, nothing else"))
	}
	if c.MaxConnections < 0 || c.MaxConnections > 100 {
		errs = append(errs, channels.WrongKey("max_connections", "is %d: use 1 to 100", c.MaxConnections))
	}
	return errors.Join(errs...)
}

// only tells whether s has nothing but ASCII letters, digits and more.
func only(s, more string) bool {
	for _, r := range s {
		alnum := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !alnum && !strings.ContainsRune(more, r) {
			return false
		}
	}
	return true
}

// complete takes the default of what isn't set, and decides what is auto.
func (c *Config) complete() {
	d := Defaults()
	c.Mode, c.Pace, c.MaxConnections = cmp.Or(c.Mode, d.Mode), cmp.Or(c.Pace, d.Pace), cmp.Or(c.MaxConnections, d.MaxConnections)
	c.APIURL = strings.TrimRight(cmp.Or(c.APIURL, d.APIURL), "/")
	if c.Pace == PaceAuto {
		c.Pace = PaceOff
		if c.APIURL == DefaultAPIURL {
			c.Pace = PaceOn
		}
	}
}
