package webchat

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"golang.org/x/text/language"

	"github.com/parley-bot/parley/channels"
)

// Config is what the operator sets under channels.NAME, and what the program
// adds to it.
type Config struct {
	// Origins are the web sites that may embed the chat and call its API
	// from their own scripts: https://host[:port] each, or "*" for all.
	Origins []string `yaml:"origins"`
	// Title heads the page; the default is "Chat".
	Title string `yaml:"title"`
	// Lang is the language of the page (en or es) and of its visitors (BCP
	// 47); empty is what the visitor's browser prefers.
	Lang string `yaml:"lang"`

	// Prefix is where the pages are; the default is /chat/.
	Prefix string `yaml:"-"`
	// MaxText is the longest text in bytes; the default is 16 KiB.
	MaxText int `yaml:"-"`
	// Secure marks the cookie for https alone. Set it where the public URL
	// is https; a request that came by TLS gets it in any case.
	Secure bool `yaml:"-"`
	// MaxStreams is how many live streams one visitor may hold; the default
	// is 8.
	MaxStreams int `yaml:"-"`
	// SessionsPerMinute is how many sessions one address may begin, and how
	// many at once; the default is 30. Loopback gets a hundred times that:
	// it is the operator, or a proxy that isn't in server.trusted_proxies.
	SessionsPerMinute int `yaml:"-"`
	// Heartbeat is the pause after which a stream sends a comment; the
	// default is 15s.
	Heartbeat time.Duration `yaml:"-"`
}

// Deps is what the program gives an adapter.
type Deps struct {
	Host channels.Host
	Log  *slog.Logger
	// Name is the key under channels.
	Name string
}

// Validate tells what is wrong.
func (c *Config) Validate() error {
	whole := *c
	return whole.complete()
}

func (c *Config) complete() error {
	if c.Title == "" {
		c.Title = "Chat"
	}
	if c.Prefix == "" {
		c.Prefix = "/chat/"
	}
	if !strings.HasPrefix(c.Prefix, "/") || !strings.HasSuffix(c.Prefix, "/") || len(c.Prefix) < 2 {
		return fmt.Errorf("prefix: %q must start and end in a slash", c.Prefix)
	}
	if c.MaxText <= 0 {
		c.MaxText = 16 << 10
	}
	if c.MaxStreams <= 0 {
		c.MaxStreams = 8
	}
	if c.SessionsPerMinute <= 0 {
		c.SessionsPerMinute = 30
	}
	if c.Heartbeat <= 0 {
		c.Heartbeat = 15 * time.Second
	}
	if c.Lang != "" {
		tag, err := language.Parse(c.Lang)
		if err != nil {
			return fmt.Errorf("lang: %q is no language tag such as en or es-MX", c.Lang)
		}
		c.Lang = tag.String()
	}
	origins := make([]string, len(c.Origins))
	for i, o := range c.Origins {
		clean, err := cleanOrigin(o)
		if err != nil {
			return fmt.Errorf("origins[%d]: %w", i, err)
		}
		origins[i] = clean
	}
	c.Origins = origins
	return nil
}

// cleanOrigin writes an origin the way browsers do (RFC 6454 §6.2). What it
// returns is safe within a header.
func cleanOrigin(o string) (string, error) {
	if o == "*" {
		return o, nil
	}
	u, err := url.Parse(strings.TrimSuffix(o, "/"))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" ||
		u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || strings.ContainsAny(u.Host, " ;,'\"*") {
		return "", fmt.Errorf(`%q is no origin: want https://host[:port], or "*" for every site`, o)
	}
	host := strings.ToLower(u.Host)
	if u.Scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	} else {
		host = strings.TrimSuffix(host, ":80")
	}
	return u.Scheme + "://" + host, nil
}
