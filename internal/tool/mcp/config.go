package mcptool

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/parley-bot/parley/internal/secret"
	"github.com/parley-bot/parley/internal/tool"
)

// Server is one MCP server (configuration: mcp.servers.NAME): a command that
// speaks on its standard input and output, or a URL.
type Server struct {
	Name string
	// Command is the program and its arguments. It gets the few variables
	// that programs need (PATH, HOME, …) and Env, nothing else of parley's own
	// environment. Dir is where it runs; "" is where parley does.
	Command []string
	Env     map[string]secret.String
	Dir     string
	// URL is that of a streamable HTTP endpoint. Headers go with every
	// request to it.
	URL     secret.String
	Headers map[string]secret.String
	// StartTimeout bounds start, initialization and the list of tools; 0 is
	// 30 s.
	StartTimeout time.Duration
	// Allow are the tools that may be offered; the others don't exist.
	Allow []Allowed
}

// Allowed is a remote tool that the operator lets in, with all that the server
// has no say in.
type Allowed struct {
	Name    string
	Title   string // "" is the humanized name
	Labels  map[string]map[string]string
	Confirm bool
	Dedupe  time.Duration
	Timeout *time.Duration
	Effect  tool.Effect // "" is unsafe, whatever the server says
}

const defaultStartTimeout = 30 * time.Second

func (s Server) startTimeout() time.Duration { return cmp.Or(s.StartTimeout, defaultStartTimeout) }

// allowed finds a tool by its remote name.
func (s Server) allowed(name string) (Allowed, bool) {
	i := slices.IndexFunc(s.Allow, func(a Allowed) bool { return a.Name == name })
	if i < 0 {
		return Allowed{}, false
	}
	return s.Allow[i], true
}

// check finds what can't work.
func (s Server) check() error {
	var errs []error
	if (len(s.Command) > 0) == !s.URL.Empty() {
		errs = append(errs, errors.New("needs either a command or a url"))
	}
	if len(s.Command) > 0 && s.Command[0] == "" {
		errs = append(errs, errors.New("command: the program is empty"))
	}
	if !s.URL.Empty() {
		if _, _, err := s.endpoint(); err != nil {
			errs = append(errs, err)
		}
	}
	seen := map[string]bool{}
	for _, a := range s.Allow {
		if a.Name == "" || seen[a.Name] {
			errs = append(errs, fmt.Errorf("allow: %q is empty or given twice", a.Name))
		}
		seen[a.Name] = true
	}
	return errors.Join(errs...)
}

// endpoint is the URL, and its host:port as an allow-list has it. The error
// doesn't quote the URL, which may hold a credential.
func (s Server) endpoint() (u *url.URL, hostport string, err error) {
	u, err = url.Parse(s.URL.Reveal())
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, "", errors.New("url: must begin with https:// or http:// and name a host")
	}
	if u.User != nil {
		return nil, "", errors.New("url: holds credentials; put them in headers")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u, net.JoinHostPort(u.Hostname(), port), nil
}

// identity is what of the server an approval rests on: where a call goes. It
// holds no credential.
func (s Server) identity() []string {
	if s.URL.Empty() {
		return append([]string{"command", s.Dir}, s.Command...)
	}
	u, _, err := s.endpoint()
	if err != nil {
		return []string{"url"}
	}
	return []string{"url", u.Scheme, u.Host, u.Path}
}

// credentials mask the values that no log and no model may see. A setting that isn't named like one stays: a path in the environment is in
// many a result.
func (s Server) credentials() secret.Masks {
	var out []string
	add := func(v string) { out = append(out, v) }
	for _, m := range []map[string]secret.String{s.Env, s.Headers} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if v := m[name].Reveal(); isCredential(name) {
				add(v)
				add(v[strings.LastIndexByte(v, ' ')+1:]) // without its scheme (Bearer)
			}
		}
	}
	if u, _, err := s.endpoint(); !s.URL.Empty() && err == nil {
		add(u.RawQuery)
		for name, values := range u.Query() {
			if isCredential(name) {
				for _, v := range values {
					add(v)
				}
			}
		}
	}
	return secret.NewMasks(secret.Least, out...)
}

func isCredential(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"auth", "cookie", "key", "token", "secret", "password", "signature"}, func(word string) bool {
		return strings.Contains(name, word)
	})
}
