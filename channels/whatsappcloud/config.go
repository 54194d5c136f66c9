package whatsappcloud

import (
	"errors"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/internal/secret"
)

// Config is what the operator sets under channels.NAME. Start from Defaults.
type Config struct {
	// PhoneNumberID is the id of the business number: digits, and not the
	// number itself.
	PhoneNumberID string `yaml:"phone_number_id" config:"required"`
	// AccessToken is that of a system user with whatsapp_business_messaging.
	AccessToken secret.String `yaml:"access_token" config:"required"`
	// AppSecret signs the webhook.
	AppSecret secret.String `yaml:"app_secret" config:"required"`
	// VerifyToken is the word that Meta repeats when the webhook's address is
	// set; without it that handshake is refused.
	VerifyToken secret.String `yaml:"verify_token"`
	// WABAID is the WhatsApp Business Account; with it the webhook can be
	// registered and its subscription be checked.
	WABAID string `yaml:"waba_id"`
	// APIURL is the Graph API's address without version.
	APIURL string `yaml:"api_url"`
	// APIVersion is its version, such as v23.0.
	APIVersion string `yaml:"api_version"`
	// Template is what is sent where 24 hours have passed since the person's
	// last message; without a name such replies fail.
	Template Template `yaml:"template"`
	// MarkRead shows the person that a message was read and that an answer is
	// being written: WhatsApp has no one without the other.
	MarkRead bool `yaml:"mark_read"`
}

// Template is an approved message template.
type Template struct {
	Name string `yaml:"name"`
	// Lang is its language code, such as en_US.
	Lang string `yaml:"lang"`
	// Bare is true where its body has no variable. Otherwise it has one, which
	// becomes the reply on one line.
	Bare bool `yaml:"bare"`
}

// Defaults is a Config with the defaults.
func Defaults() Config {
	return Config{APIURL: "https://graph.facebook.com", APIVersion: "v23.0", MarkRead: true}
}

// Deps is what the program gives an adapter. Host is required.
type Deps struct {
	Host channels.Host
	Log  *slog.Logger
	// Name is the key under channels.
	Name string
	// Now is the clock of the 24-hour window; nil is the machine's.
	Now func() time.Time
}

// Validate tells all that is wrong.
func (c *Config) Validate() error {
	var errs []error
	add := func(bad bool, err error) {
		if bad {
			errs = append(errs, err)
		}
	}
	add(!isDigits(c.PhoneNumberID), channels.WrongKey("phone_number_id", "must be the id of the number, digits only (App dashboard, WhatsApp, API setup), not the number itself"))
	add(c.WABAID != "" && !isDigits(c.WABAID), channels.WrongKey("waba_id", "must be the id of the WhatsApp Business Account, digits only"))
	add(c.AccessToken.Empty(), channels.WrongKey("access_token", "is empty"))
	add(strings.ContainsAny(c.AccessToken.Reveal(), " \r\n\t"), channels.WrongKey("access_token", "has a space or a line break in it"))
	add(c.AppSecret.Empty(), channels.WrongKey("app_secret", "is empty: without it anybody could write in anybody's name"))
	add(!regexp.MustCompile(`^v[0-9]{1,3}\.[0-9]{1,2}$`).MatchString(c.APIVersion), channels.WrongKey("api_version", "must be a version such as v23.0"))
	add((c.Template.Name == "") != (c.Template.Lang == ""), channels.WrongKey("template", "needs both name and lang"))
	u, err := url.Parse(c.APIURL)
	add(err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "",
		channels.WrongKey("api_url", "must be an address such as https://graph.facebook.com"))
	return errors.Join(errs...)
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
