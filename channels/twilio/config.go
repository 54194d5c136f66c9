package twilio

import (
	"errors"
	"log/slog"
	"net/url"
	"regexp"
	"strings"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/secret"
)

// Config is what the operator sets under channels.NAME, and what the program
// adds to it. Start from Defaults.
type Config struct {
	// AccountSID is the account that owns the sender: AC and 32 digits.
	AccountSID string `yaml:"account_sid" config:"required"`
	// AuthToken is its primary token: it signs the webhook.
	AuthToken secret.String `yaml:"auth_token" config:"required"`
	// From is the sender: +15550002222 for SMS, whatsapp:+15550002222 for
	// WhatsApp, or a short code.
	From string `yaml:"from"`
	// MessagingServiceSID is a service that chooses the sender: MG and 32
	// digits. One of From and this is required.
	MessagingServiceSID string `yaml:"messaging_service_sid"`
	// ContentSID is a quick-reply template for questions on WhatsApp: HX and
	// 32 digits. Without it questions are answered in words.
	ContentSID string `yaml:"content_sid"`
	// APIURL is the REST API's address.
	APIURL string `yaml:"api_url"`

	// PublicURL is server.public_url, which Twilio's signature is over.
	PublicURL string `yaml:"-"`
}

// Defaults is a Config with the defaults.
func Defaults() Config { return Config{APIURL: "https://api.twilio.com"} }

// Deps is what the program gives an adapter.
type Deps struct {
	Log *slog.Logger
	// Name is the key under channels: the webhook is at /webhooks/NAME.
	// Required.
	Name string
}

const alnum = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// Validate tells all that is wrong.
func (c *Config) Validate() error {
	var errs []error
	add := func(bad bool, err error) {
		if bad {
			errs = append(errs, err)
		}
	}
	add(!isSID(c.AccountSID, "AC"), channels.WrongKey("account_sid", "must be an account's SID: AC and 32 digits or letters (an API key, SK…, signs no webhook)"))
	token := c.AuthToken.Reveal()
	add(token == "", channels.WrongKey("auth_token", "is empty: without it anybody could write in anybody's name"))
	add(strings.Trim(token, alnum) != "", channels.WrongKey("auth_token", "may hold letters and digits only: Twilio's client refuses to send anything else (error 21224). Is there a line break or a quote in it?"))
	switch {
	case c.From == "" && c.MessagingServiceSID == "":
		errs = append(errs, channels.WrongKey("from", "is missing (or messaging_service_sid): what the bot writes from"))
	case c.From != "" && !regexp.MustCompile(`^((whatsapp:)?\+[0-9]{5,15}|[0-9]{3,8})$`).MatchString(c.From):
		errs = append(errs, channels.WrongKey("from", "must be a number such as +15550002222, whatsapp:+15550002222, or a short code; an alphanumeric sender can't be answered"))
	}
	add(c.MessagingServiceSID != "" && !isSID(c.MessagingServiceSID, "MG"), channels.WrongKey("messaging_service_sid", "must be a service's SID: MG and 32 digits or letters"))
	add(c.ContentSID != "" && !isSID(c.ContentSID, "HX"), channels.WrongKey("content_sid", "must be a content template's SID: HX and 32 digits or letters"))
	add(!isAddress(c.APIURL), channels.WrongKey("api_url", "must be an address such as https://api.twilio.com"))
	add(!isAddress(c.PublicURL), errors.New("server.public_url is missing or no address: Twilio signs the webhook's address as it knows it, which can't be guessed behind a proxy"))
	return errors.Join(errs...)
}

func isSID(s, kind string) bool {
	return strings.HasPrefix(s, kind) && len(s) > 2 && len(s) <= 64 && strings.Trim(s, alnum) == ""
}

func isAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}
