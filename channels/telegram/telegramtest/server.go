package telegramtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-bot/parley/channels/platformtest"
)

// Token is the bot's, unless Options say otherwise.
const Token = "4217:AAcanary-Token_of-the-fake-platform"

// Options are the traits of one server; the zero value is the usual bot.
type Options struct {
	// Token is the bot's; the default is Token.
	Token string
	// BotID and Username are the bot's; 4217 and parley_bot.
	BotID    int64
	Username string
	// RatePerChat answers 429 to a second message to a chat within a second.
	RatePerChat bool
	// Now is the clock of dates and rates; nil is the machine's.
	Now func() time.Time
	// Client delivers to webhooks; nil is one of the server's own.
	Client *http.Client
}

// Server is the platform with one bot. Its methods may be called from many
// goroutines.
type Server struct {
	platformtest.Changes

	opts Options
	http *httptest.Server

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu         sync.Mutex
	calls      []Call
	violations []string
	faults     []Fault
	held       int
	revoked    bool

	chats    map[int64]*chat
	messages map[int64][]*Message
	presses  map[string]*pressed
	commands map[string]json.RawMessage

	updates  []pending
	nextID   int64 // of updates
	nextMsg  int64
	nextName int64
	poll     context.CancelCauseFunc // the poll that waits
	polls    int
	hook     hook
}

// New starts a server; Close ends it.
func New(opts Options) *Server {
	if opts.Token == "" {
		opts.Token = Token
	}
	if opts.BotID == 0 {
		opts.BotID = 4217
	}
	if opts.Username == "" {
		opts.Username = "parley_bot"
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Client == nil {
		opts.Client = &http.Client{Transport: &http.Transport{}}
	}
	s := &Server{
		opts: opts, chats: map[int64]*chat{}, messages: map[int64][]*Message{},
		presses: map[string]*pressed{}, commands: map[string]json.RawMessage{}, nextID: 1000, nextMsg: 100,
	}
	s.hook.queues = map[string][]pending{}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// URL is the api_url.
func (s *Server) URL() string { return s.http.URL }

// Close ends the server, polls and deliveries included.
func (s *Server) Close() {
	s.cancel()
	s.http.CloseClientConnections()
	s.http.Close()
	s.work.Wait()
	s.opts.Client.CloseIdleConnections()
}

// Call is one call that was made.
type Call struct {
	Method string
	Params map[string]any
	// Code is 0 where the call succeeded.
	Code        int
	Description string
}

// Int is an integer parameter, 0 where there is none.
func (c Call) Int(name string) int64 {
	n, _ := c.Params[name].(int64)
	return n
}

// Str is a text parameter.
func (c Call) Str(name string) string {
	t, _ := c.Params[name].(string)
	return t
}

// apiError is an answer that isn't ok.
type apiError struct {
	code        int
	description string
	retryAfter  int
	movedTo     int64
}

func bad(format string, args ...any) *apiError {
	return &apiError{code: http.StatusBadRequest, description: "Bad Request: " + fmt.Sprintf(format, args...)}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	token, method, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	if !ok || !strings.HasPrefix(r.URL.Path, "/bot") {
		write(w, nil, &apiError{code: http.StatusNotFound, description: "Not Found"})
		return
	}
	raw, err := body(r)
	if err != nil {
		write(w, nil, bad("can't parse request: %v", err))
		return
	}
	s.mu.Lock()
	refused := s.revoked || token != s.opts.Token
	s.mu.Unlock()
	if refused {
		s.record(Call{Method: method, Code: http.StatusUnauthorized})
		write(w, nil, &apiError{code: http.StatusUnauthorized, description: "Unauthorized"})
		return
	}
	spec, known := methods()[method]
	if !known {
		s.violatef("%s is no method", method)
		write(w, nil, &apiError{code: http.StatusNotFound, description: "Not Found: method not found"})
		return
	}
	params, err := spec.parse(raw)
	if err != nil {
		s.violatef("%s: %v", method, err)
		write(w, nil, bad("%v", err))
		return
	}
	fault := s.takeFault(method)
	if fault != nil && fault.done(w, r, s, method, params) {
		return
	}
	result, fail := s.do(r.Context(), method, params)
	call := Call{Method: method, Params: params}
	if fail != nil {
		call.Code, call.Description = fail.code, fail.description
	}
	s.record(call)
	if fault != nil && fault.after(w) {
		return
	}
	write(w, result, fail)
}

// body reads parameters from wherever the API takes them.
func body(r *http.Request) (map[string]any, error) {
	raw := map[string]any{}
	for k, v := range r.URL.Query() {
		raw[k] = v[0]
	}
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	switch kind {
	case "application/json":
		d := json.NewDecoder(io.LimitReader(r.Body, 1<<20))
		d.UseNumber()
		if err := d.Decode(&raw); err != nil {
			return nil, fmt.Errorf("JSON: %w", err)
		}
	case "multipart/form-data":
		r.Body = io.NopCloser(io.LimitReader(r.Body, 1<<20))
		mr, err := r.MultipartReader()
		if err != nil {
			return nil, fmt.Errorf("form: %w", err)
		}
		for {
			p, err := mr.NextPart()
			if err == io.EOF { //nolint:errorlint // NextPart's contract
				break
			}
			if err != nil {
				return nil, fmt.Errorf("form: %w", err)
			}
			value, err := io.ReadAll(p)
			if err != nil {
				return nil, fmt.Errorf("form: %w", err)
			}
			if _, twice := raw[p.FormName()]; twice {
				return nil, fmt.Errorf("%s is there twice", p.FormName())
			}
			raw[p.FormName()] = string(value)
		}
	case "application/x-www-form-urlencoded":
		if err := r.ParseForm(); err != nil {
			return nil, fmt.Errorf("form: %w", err)
		}
		for k, v := range r.PostForm {
			raw[k] = v[0]
		}
	}
	return raw, nil
}

func write(w http.ResponseWriter, result any, fail *apiError) {
	w.Header().Set("Content-Type", "application/json")
	out := map[string]any{"ok": fail == nil, "result": result}
	if fail != nil {
		out = map[string]any{"ok": false, "error_code": fail.code, "description": fail.description}
		params := map[string]any{}
		if fail.retryAfter > 0 {
			params["retry_after"] = fail.retryAfter
			w.Header().Set("Retry-After", strconv.Itoa(fail.retryAfter))
		}
		if fail.movedTo != 0 {
			params["migrate_to_chat_id"] = fail.movedTo
		}
		if len(params) > 0 {
			out["parameters"] = params
		}
		w.WriteHeader(fail.code)
	}
	_ = json.NewEncoder(w).Encode(out)
}

func (s *Server) record(c Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	s.Signal()
}

func (s *Server) violatef(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// Violations lists what a correct client never does: methods and parameters
// that the API doesn't have, values of a wrong type.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// Calls returns the calls of the methods, of all where none is named.
func (s *Server) Calls(only ...string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.callsOf(only)
}

func (s *Server) callsOf(only []string) []Call {
	var out []Call
	for _, c := range s.calls {
		if len(only) == 0 || slices.Contains(only, c.Method) {
			c.Params = maps.Clone(c.Params)
			out = append(out, c)
		}
	}
	return out
}

// WaitCalls waits for n calls of the method and returns the n-th, from 1.
func (s *Server) WaitCalls(ctx context.Context, method string, n int) (Call, error) {
	var c Call
	err := s.Wait(ctx, func() bool {
		all := s.Calls(method)
		if len(all) < n {
			return false
		}
		c = all[n-1]
		return true
	})
	return c, err
}

// RevokeToken makes every later call fail with 401.
func (s *Server) RevokeToken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
}

// Commands returns the registered commands of a language ("" is the default).
func (s *Server) Commands(lang string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.commands[lang])
}
