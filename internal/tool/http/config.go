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
	// Headers may be credentials, and may hold {name} placeholders, which
	// take their arguments out of query and body too.
	Headers map[string]secret.String
	Auth    Auth
	// Body, where not nil, is sent instead of the arguments: JSON with {name}
	// placeholders in its texts.
	Body json.RawMessage
	// Form sends the body as a form instead of JSON.
	Form bool
	// Bind puts what the server knows beside the arguments: name → one of
	// [tool.BindPaths].
	Bind map[string]string
	// Pointer is where in an answer the result is (RFC 6901), and Map what
	// makes a result of it; the whole answer where both are empty.
	Pointer string
	Map     Mapper
	Status  []Status
	// Schema is the tool's; nil takes no arguments.
	Schema json.RawMessage
	// Effect is the tool's; "" is [DefaultEffect] of the method.
	Effect tool.Effect
	// MaxBody is how much of an answer is read, in bytes; 0 is
	// [tool.DefaultOutputCap], and 1 MiB where the result is a part of it.
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
		for _, p := range tool.LoosePieces(c.Headers[name].Reveal()) {
			if p.Name != "" {
				out = append(out, "with", p.Name)
			}
		}
	}
	if kind, _ := c.Auth.kind(); kind != "" {
		out = append(out, "auth", kind)
	}
	if c.Body != nil {
		// A value from a variable may be a credential: only its hash is kept.
		out = append(out, "body", string(c.Body))
	}
	if c.Form {
		out = append(out, "form")
	}
	if c.Pointer != "" {
		out = append(out, "result", c.Pointer)
	}
	for _, st := range c.Status {
		out = append(out, "status", st.Match, st.Error, string(st.Result))
	}
	return out
}

// New checks the tool. What is wrong with the configuration is in the one
// error; it quotes neither the whole URL nor the value of a header. A URL
// whose host is constant must be in the guard's list (interface: settled
// detail 2). New does no I/O.
func New(c Config, g *egress.Guard) (*Runner, error) {
	r := &Runner{
		guard: g, name: c.Name, log: c.Log, form: c.Form,
		method: strings.ToUpper(cmp.Or(c.Method, http.MethodGet)),
		effect: cmp.Or(c.Effect, DefaultEffect(c.Method)),
		max:    c.MaxBody, pointer: c.Pointer, mapper: c.Map, status: c.Status,
		header: http.Header{},
	}
	if r.max == 0 && r.maps() {
		r.max = maxMapped
	}
	r.max = cmp.Or(r.max, tool.DefaultOutputCap)
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	var errs []error
	var known bool
	if r.body, known = usual(r.method); !known {
		errs = append(errs, tool.At("method", fmt.Errorf("method %q is none of GET, HEAD, DELETE, POST, PUT, PATCH", c.Method)))
	}
	switch r.effect {
	case tool.Read, tool.Idempotent, tool.Unsafe:
	default:
		errs = append(errs, fmt.Errorf("effect %q is none of read, idempotent, unsafe", c.Effect))
	}
	t, err := parseTemplate(c.URL)
	if err != nil {
		errs = append(errs, tool.At("url", fmt.Errorf("url: %w", err)))
	} else {
		r.url = t
		errs = append(errs, tool.At("url", checkHost(t, g, c)), tool.At("url", checkNames(t, c)))
	}
	r.bind, err = tool.ParseBindings(c.Bind)
	args, open := tool.ArgumentNames(c.Schema)
	placeholder := func(name string) bool {
		_, bound := c.Bind[name]
		return bound || open || slices.Contains(args, name)
	}
	errs = append(errs, tool.At("bind", err), tool.At("bind", tool.CheckBindings(r.bind, args)), r.setHeader(c.Headers, placeholder), r.setAuth(c.Auth),
		r.setBody(c, placeholder), checkStatus(c.Status))
	if c.Pointer != "" {
		errs = append(errs, tool.At("result", checkPointer(c.Pointer)))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	r.taken = t.names()
	for _, h := range r.headers {
		for _, p := range h.pieces {
			r.taken = append(r.taken, p.Name)
		}
	}
	return r, nil
}

func (r *Runner) setBody(c Config, known func(string) bool) error {
	if c.Body == nil && !c.Form {
		return nil
	}
	if _, ok := usual(r.method); ok && !r.body {
		err := fmt.Errorf("body, encoding: a %s request has no body", r.method)
		if c.Body == nil {
			return tool.At("encoding", err)
		}
		return tool.At("body", err)
	}
	if c.Body == nil {
		return nil
	}
	t, err := parseBody(c.Body)
	if err != nil {
		return tool.At("body", fmt.Errorf("body: %w", err))
	}
	for _, name := range t.names() {
		if !known(name) {
			return tool.At("body", fmt.Errorf("body: the placeholder {%s} is neither an argument in the schema nor bound", name))
		}
	}
	if c.Form && t.kind != '{' {
		return tool.At("body", errors.New("body: a form is a mapping of names to values"))
	}
	r.template = &t
	return nil
}

func checkHost(t template, g *egress.Guard, c Config) error {
	if t.constantHost() {
		if err := g.CheckURL(t.sample); err != nil {
			return fmt.Errorf("url: %w", err)
		}
		return nil
	}
	// A model picks the host then, and must not pick who gets a credential.
	if len(c.Headers) > 0 || c.Auth != (Auth{}) {
		return errors.New("url: a host with a placeholder can't go with headers or auth: they would be sent to any host of fetch.allow")
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
	if c.Body != nil {
		return errors.Join(errs...) // nothing is added to the query
	}
	for _, p := range t.query {
		_, bound := c.Bind[p.key]
		if (bound || slices.Contains(args, p.key)) && !slices.Contains(t.names(), p.key) {
			errs = append(errs, fmt.Errorf("url: the query has %q already, and an argument of that name would be a second one", p.key))
		}
	}
	return errors.Join(errs...)
}
