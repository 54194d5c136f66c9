package discordtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// apiError is a refusal, in Discord's words.
type apiError struct {
	status, code int
	message      string
	retryAfter   float64
	global       bool
}

func form(format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, code: 50035, message: "Invalid Form Body: " + fmt.Sprintf(format, args...)}
}

func unknown(code int, what string) *apiError {
	return &apiError{status: http.StatusNotFound, code: code, message: "Unknown " + what}
}

// fields are those that a call's body may have.
func fields(route string) []string {
	message := []string{"content", "tts", "embeds", "allowed_mentions", "components", "flags", "attachments", "poll", "enforce_nonce"}
	return map[string][]string{
		"POST message":   append(message, "nonce", "message_reference", "sticker_ids"),
		"PATCH message":  message,
		"POST callback":  {"type", "data"},
		"POST followup":  message,
		"PATCH followup": message,
		"PATCH app":      {"interactions_endpoint_url", "flags", "description", "tags", "icon", "install_params"},
		"POST dm":        {"recipient_id"},
		"POST typing":    {},
	}[route]
}

// call is a request with its parts.
type call struct {
	*Server
	method, path string
	parts        []string
	query        func(string) string
	raw          []byte
	body         map[string]any
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if path := strings.TrimRight(r.URL.Path, "/"); path == "/gateway" || path == "/gateway"+resumePath || r.URL.Path == "/" && r.Header.Get("Upgrade") != "" {
		s.gateway(w, r)
		return
	}
	version, path, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/"), "/")
	if !ok || version != "v10" && version != "v9" || !strings.HasPrefix(r.URL.Path, "/api/") {
		s.violatef("%s %s: no such version of the API", r.Method, r.URL.Path)
		http.Error(w, "404: Not Found", http.StatusNotFound)
		return
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, 25<<20))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	c := &call{Server: s, method: r.Method, path: "/" + path, parts: strings.Split(path, "/"), query: r.URL.Query().Get, raw: raw}
	if e := c.admit(r); e != nil {
		s.record(c, e.status, e.code)
		c.write(w, nil, e)
		return
	}
	fault := s.takeFault(c)
	if fault != nil && fault.before(w, r, c) {
		return
	}
	result, e := c.route()
	if e != nil {
		s.record(c, e.status, e.code)
	} else {
		s.record(c, http.StatusOK, 0)
	}
	if fault != nil && fault.after(w, c) {
		return
	}
	c.write(w, result, e)
}

// admit checks what is the same for all calls.
func (c *call) admit(r *http.Request) *apiError {
	if !strings.HasPrefix(r.UserAgent(), "DiscordBot (") {
		c.violatef("%s %s: user agent %q", c.method, c.path, r.UserAgent())
		return &apiError{status: http.StatusForbidden, code: 40333, message: "internal network error"}
	}
	if len(c.raw) > 0 {
		if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind != "application/json" {
			c.violatef("%s %s: content type %q", c.method, c.path, kind)
			return &apiError{status: http.StatusBadRequest, code: 50035, message: "Invalid Content-Type"}
		}
		d := json.NewDecoder(bytes.NewReader(c.raw))
		d.UseNumber()
		if c.raw[0] == '{' && d.Decode(&c.body) != nil || !json.Valid(c.raw) {
			c.violatef("%s %s: the body is no JSON", c.method, c.path)
			return &apiError{status: http.StatusBadRequest, code: 50109, message: "The request body contains invalid JSON."}
		}
	}
	if c.parts[0] == "interactions" || c.parts[0] == "webhooks" {
		return nil // the token is in the path
	}
	c.mu.Lock()
	revoked := c.revoked
	c.mu.Unlock()
	if revoked || r.Header.Get("Authorization") != "Bot "+c.opts.Token {
		return &apiError{status: http.StatusUnauthorized, message: "401: Unauthorized"}
	}
	return nil
}

// route finds the call and makes it.
func (c *call) route() (any, *apiError) {
	p := c.parts
	is := func(method string, pattern ...string) bool {
		return c.method == method && slices.EqualFunc(p, pattern, func(have, want string) bool { return want == "*" || have == want })
	}
	switch {
	case is("GET", "gateway"):
		return map[string]any{"url": c.ws()}, nil
	case is("GET", "gateway", "bot"):
		return c.gatewayBot(), nil
	case is("GET", "users", "@me"):
		return me(), nil
	case is("POST", "users", "@me", "channels"):
		c.known("POST dm")
		id, _ := c.body["recipient_id"].(string)
		if id == "" {
			return nil, form("recipient_id: required")
		}
		return map[string]any{"id": c.DM(User{ID: id}), "type": 1}, nil
	case is("GET", "applications", "@me"):
		return c.app(), nil
	case is("PATCH", "applications", "@me"):
		c.known("PATCH app")
		return c.setEndpoint()
	case is("PUT", "applications", "*", "commands"), is("PUT", "applications", "*", "guilds", "*", "commands"):
		return c.setCommands()
	case is("GET", "channels", "*"):
		return c.getChannel(p[1])
	case is("GET", "channels", "*", "messages"):
		return c.history(p[1])
	case is("POST", "channels", "*", "messages"):
		c.known("POST message")
		return c.create(p[1])
	case is("PATCH", "channels", "*", "messages", "*"):
		c.known("PATCH message")
		return c.edit(p[1], p[3])
	case is("POST", "channels", "*", "typing"):
		return nil, c.sign(p[1])
	case is("POST", "interactions", "*", "*", "callback"):
		c.known("POST callback")
		return nil, c.callback(p[1], p[2])
	case is("POST", "webhooks", "*", "*"):
		c.known("POST followup")
		return c.followup(p[1], p[2])
	case is("PATCH", "webhooks", "*", "*", "messages", "@original"):
		c.known("PATCH followup")
		return c.original(p[1], p[2], false)
	case is("DELETE", "webhooks", "*", "*", "messages", "@original"):
		return c.original(p[1], p[2], true)
	}
	c.violatef("%s %s: there is no such call", c.method, c.path)
	return nil, &apiError{status: http.StatusNotFound, message: "404: Not Found"}
}

// known reports fields that the call doesn't have.
func (c *call) known(route string) {
	for _, k := range slices.Sorted(maps.Keys(c.body)) {
		if !slices.Contains(fields(route), k) {
			c.violatef("%s %s: there is no field %s", c.method, c.path, k)
		}
	}
}

func me() map[string]any {
	return map[string]any{
		"id": BotID, "username": Username, "discriminator": "0", "global_name": nil, "avatar": nil, "bot": true,
		"mfa_enabled": false, "verified": true, "email": nil, "flags": 0, "public_flags": 0,
	}
}

func (s *Server) app() map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	flags := 1 << 19 // message content, for small bots
	if s.opts.NoContent {
		flags = 0
	}
	var endpoint any
	if s.endpoint != "" {
		endpoint = s.endpoint
	}
	return map[string]any{
		"id": AppID, "name": Username, "icon": nil, "description": "", "bot_public": true, "bot_require_code_grant": false, "bot": me(),
		"verify_key": s.PublicKey(), "flags": flags, "interactions_endpoint_url": endpoint,
	}
}

// record notes a call.
func (s *Server) record(c *call, status, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, Call{c.method, c.path, c.body, status, code, s.opts.Now()})
	s.Signal()
}

// write answers, with the headers of a bucket.
func (c *call) write(w http.ResponseWriter, result any, e *apiError) {
	h := w.Header()
	h.Set("Date", c.opts.Now().UTC().Format(http.TimeFormat))
	h.Set("Content-Type", "application/json")
	if len(c.parts) > 1 {
		h.Set("X-Ratelimit-Bucket", c.parts[0]+"-"+c.parts[1])
		h.Set("X-Ratelimit-Limit", "5")
		h.Set("X-Ratelimit-Remaining", "4")
		h.Set("X-Ratelimit-Reset-After", "1.000")
	}
	switch {
	case e != nil && e.status == http.StatusTooManyRequests:
		after := strconv.FormatFloat(e.retryAfter, 'f', 3, 64)
		h.Set("X-Ratelimit-Remaining", "0")
		h.Set("X-Ratelimit-Reset-After", after)
		h.Set("X-Ratelimit-Scope", "user")
		h.Set("Retry-After", strconv.Itoa(int(e.retryAfter+0.999)))
		if e.global {
			h.Set("X-Ratelimit-Global", "true")
			h.Set("X-Ratelimit-Scope", "global")
		}
		w.WriteHeader(e.status)
		_ = json.NewEncoder(w).Encode(map[string]any{"message": e.message, "retry_after": e.retryAfter, "global": e.global})
	case e != nil:
		w.WriteHeader(e.status)
		_ = json.NewEncoder(w).Encode(map[string]any{"message": e.message, "code": e.code})
	case result == nil:
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNoContent)
	default:
		_ = json.NewEncoder(w).Encode(result)
	}
}

// Fault makes calls fail.
type Fault struct {
	// Holding says which: their method and path hold each text. None is any
	// send or edit of a message.
	Holding []string
	// Times is how many; 0 is one.
	Times int
	// Status, Code, Message, RetryAfter and Global are the answer.
	Status, Code int
	Message      string
	RetryAfter   float64
	Global       bool
	// Raw, where it isn't empty, is an answer that isn't the API's.
	Raw string
	// Done lets the call take effect first.
	Done bool
	// Drop closes the connection without an answer.
	Drop bool
	// Hold keeps the call waiting until it is closed or the caller leaves.
	Hold <-chan struct{}
}

// Script queues faults: each is used up by the first calls it is for.
func (s *Server) Script(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Held counts the calls that a fault keeps waiting.
func (s *Server) Held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

func (s *Server) takeFault(c *call) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	said := c.method + " " + c.path
	for i, f := range s.faults {
		send := c.parts[0] == "channels" && strings.Contains(c.path, "/messages") && c.method != http.MethodGet
		if len(f.Holding) == 0 && !send || slices.ContainsFunc(f.Holding, func(t string) bool { return !strings.Contains(said, t) }) {
			continue
		}
		if f.Times > 1 {
			s.faults[i].Times--
		} else {
			s.faults = slices.Delete(s.faults, i, i+1)
		}
		return &f
	}
	return nil
}

// before carries a fault out that comes before the call; it tells whether the
// call is over.
func (f *Fault) before(w http.ResponseWriter, r *http.Request, c *call) bool {
	if f.Hold != nil {
		c.hold(1)
		select {
		case <-f.Hold:
		case <-r.Context().Done():
		case <-c.ctx.Done():
		}
		c.hold(-1)
	}
	if f.Done || f.Status == 0 && f.Raw == "" && !f.Drop {
		return false
	}
	c.record(c, f.Status, f.Code)
	return f.after(w, c)
}

func (s *Server) hold(by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held += by
	s.Signal()
}

// after answers in the fault's way, where it has one.
func (f *Fault) after(w http.ResponseWriter, c *call) bool {
	switch {
	case f.Drop:
		panic(http.ErrAbortHandler)
	case f.Raw != "":
		if f.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter)))
		}
		if f.Status != 0 {
			w.WriteHeader(f.Status)
		}
		_, _ = io.WriteString(w, f.Raw)
	case f.Status != 0:
		c.write(w, nil, &apiError{f.Status, f.Code, f.Message, f.RetryAfter, f.Global})
	default:
		return false
	}
	return true
}

// since is the age of an id.
func (s *Server) since(at time.Time) time.Duration { return s.opts.Now().Sub(at) }
