package httptool

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/parley-bot/parley/internal/egress"
	"github.com/parley-bot/parley/internal/secret"
	"github.com/parley-bot/parley/internal/tool"
)

// Config is one tool (configuration: tools.NAME.http).
type Config struct {
	// Name is the tool's, for the log.
	Name string
	// Method is GET (default), HEAD, DELETE, POST, PUT or PATCH. The first
	// three put the arguments into the query, the others into a JSON body.
	Method string
	// URL may hold {name} placeholders, each of which takes that argument
	// out of query or body: in a segment of the path, in a value of the
	// query, or in the host, where the result has to be in fetch.allow.
	URL string
	// Headers have literal values, which may be credentials.
	Headers map[string]secret.String
	// Bind puts what the server knows beside the arguments: name →
	// user.id, user.name, user.claims.NAME, chat.key or channel.
	Bind map[string]string
	// Schema is the tool's; nil takes no arguments.
	Schema json.RawMessage
	// Effect is the tool's; "" is [DefaultEffect] of the method.
	Effect tool.Effect
	// MaxBody is how much of an answer is read, in bytes; 0 is
	// [tool.DefaultOutputCap].
	MaxBody int64
	// Log gets what the operator should know of failed calls; nil is none.
	Log *slog.Logger
}

// DefaultEffect is read for GET and HEAD, else unsafe (behaviour G4).
func DefaultEffect(method string) tool.Effect {
	switch strings.ToUpper(method) {
	case "", http.MethodGet, http.MethodHead:
		return tool.Read
	default:
		return tool.Unsafe
	}
}

// Code is what a person's approval rests on beside the tool's definition, for
// [tool.Digest]. Values of headers are no part of it: a new token is the same
// tool.
func (c Config) Code() []string {
	out := []string{"http", strings.ToUpper(cmp.Or(c.Method, http.MethodGet)), c.URL}
	for _, name := range slices.Sorted(maps.Keys(c.Bind)) {
		out = append(out, "bind", name, c.Bind[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		out = append(out, "header", http.CanonicalHeaderKey(name))
	}
	return out
}

// New checks the tool. What is wrong with the configuration is in the one
// error; it quotes neither the whole URL nor the value of a header. A URL
// whose host is constant must be in the guard's list (interface: settled
// detail 2). New does no I/O.
func New(c Config, g *egress.Guard) (*Runner, error) {
	r := &Runner{
		guard: g, name: c.Name, log: c.Log,
		method: strings.ToUpper(cmp.Or(c.Method, http.MethodGet)),
		effect: cmp.Or(c.Effect, DefaultEffect(c.Method)),
		max:    cmp.Or(c.MaxBody, tool.DefaultOutputCap),
		header: http.Header{},
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	var errs []error
	switch r.method {
	case http.MethodGet, http.MethodHead, http.MethodDelete:
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		r.body = true
	default:
		errs = append(errs, fmt.Errorf("method %q is none of GET, HEAD, DELETE, POST, PUT, PATCH", c.Method))
	}
	switch r.effect {
	case tool.Read, tool.Idempotent, tool.Unsafe:
	default:
		errs = append(errs, fmt.Errorf("effect %q is none of read, idempotent, unsafe", c.Effect))
	}
	t, err := parseTemplate(c.URL)
	if err != nil {
		errs = append(errs, fmt.Errorf("url: %w", err))
	} else {
		r.url = t
		errs = append(errs, checkHost(t, g, c), checkNames(t, c))
	}
	r.bind, err = tool.ParseBindings(c.Bind)
	args, _ := tool.ArgumentNames(c.Schema)
	errs = append(errs, err, tool.CheckBindings(r.bind, args), r.setHeader(c.Headers))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r, nil
}

func checkHost(t template, g *egress.Guard, c Config) error {
	if t.constantHost() {
		if err := g.CheckURL(t.sample); err != nil {
			return fmt.Errorf("url: %w", err)
		}
		return nil
	}
	// A model picks the host then, and must not pick who gets a credential.
	if len(c.Headers) > 0 {
		return errors.New("url: a host with a placeholder can't go with headers: they would be sent to any host of fetch.allow")
	}
	return nil
}

// checkNames compares the names in the URL and in bind with the arguments.
func checkNames(t template, c Config) error {
	args, open := tool.ArgumentNames(c.Schema)
	var errs []error
	for _, name := range t.names() {
		_, bound := c.Bind[name]
		if !bound && !open && !slices.Contains(args, name) {
			errs = append(errs, fmt.Errorf("url: the placeholder {%s} is neither an argument in the schema nor bound", name))
		}
	}
	for _, p := range t.query {
		_, bound := c.Bind[p.key]
		if (bound || slices.Contains(args, p.key)) && !slices.Contains(t.names(), p.key) {
			errs = append(errs, fmt.Errorf("url: the query has %q already, and an argument of that name would be a second one", p.key))
		}
	}
	return errors.Join(errs...)
}

func (r *Runner) setHeader(headers map[string]secret.String) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := headers[name].Reveal()
		switch {
		case name == "" || strings.Trim(name, tokenChars) != "":
			errs = append(errs, fmt.Errorf("headers: %q is no name of a header", name))
		case egress.OwnHeader(name):
			errs = append(errs, fmt.Errorf("headers: %s belongs to the connection and can't be set", name))
		case strings.EqualFold(name, idempotencyKey):
			errs = append(errs, fmt.Errorf("headers: %s is the id of the call and can't be set", name))
		case strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }):
			errs = append(errs, fmt.Errorf("headers: the value of %s holds a line break or another control character", name))
		case r.header[http.CanonicalHeaderKey(name)] != nil:
			errs = append(errs, fmt.Errorf("headers: %s is given twice", name))
		default:
			r.header.Set(name, value)
		}
	}
	return errors.Join(errs...)
}

const (
	idempotencyKey = "Idempotency-Key"
	tokenChars     = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" // RFC 9110 5.6.2
)
