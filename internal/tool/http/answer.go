package httptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-bot/parley/internal/egress"
	"github.com/parley-bot/parley/internal/tool"
)

// Status is what an answer of that status means (configuration: http.status).
type Status struct {
	// Match is a status such as 404, or a class such as 5xx. The status goes
	// before its class.
	Match string
	// Error is a failed result {"error": Error, "status": …}; "" where
	// Result, JSON, is the result.
	Error  string
	Result json.RawMessage
}

// Mapper makes a result of an answer, {args, body, status, headers}. A nil
// value is none ("ok").
type Mapper interface {
	Result(ctx context.Context, call tool.Call, answer json.RawMessage) (json.RawMessage, error)
}

// maxMapped bounds an answer that is mapped, in bytes: what is left of it is
// bounded again.
const maxMapped = 1 << 20

func checkStatus(list []Status) error {
	var errs []error
	for i, s := range list {
		switch {
		case !regexp.MustCompile(`^[1-5]([0-9][0-9]|xx)$`).MatchString(s.Match):
			errs = append(errs, tool.At("status."+s.Match, fmt.Errorf("status: %q is neither a status such as 404 nor a class such as 5xx", s.Match)))
		case (s.Error == "") == (s.Result == nil):
			errs = append(errs, tool.At("status."+s.Match, fmt.Errorf("status: %s needs a text, which is the error, or {result: …}", s.Match)))
		case slices.ContainsFunc(list[:i], func(o Status) bool { return o.Match == s.Match }):
			errs = append(errs, tool.At("status."+s.Match, fmt.Errorf("status: %s is given twice", s.Match)))
		}
	}
	return errors.Join(errs...)
}

// meant is what the configuration says of a status.
func (r *Runner) meant(status int) (tool.Result, bool) {
	code := strconv.Itoa(status)
	for _, match := range []string{code, code[:1] + "xx"} {
		for _, s := range r.status {
			if s.Match != match {
				continue
			}
			if s.Error != "" {
				return tool.Fail(s.Error, map[string]any{"status": status}), true
			}
			return tool.Result{Value: s.Result}, true
		}
	}
	return tool.Result{}, false
}

// answered makes a result of an answer.
func (r *Runner) answered(ctx context.Context, call tool.Call, resp egress.Response) tool.Result {
	if res, ok := r.meant(resp.Status); ok {
		return res
	}
	if resp.Status < 200 || resp.Status > 299 || !r.maps() {
		return result(resp, int(min(r.max, tool.DefaultOutputCap)))
	}
	value, err := r.mapped(ctx, call, resp)
	if err == nil {
		return tool.Capped(tool.Result{Value: value}, 0)
	}
	r.log.WarnContext(ctx, "answer of http tool not as expected", slog.String("tool", r.name), slog.Any("error", err))
	const message = "The answer isn't what was expected, so it can't be shown."
	if r.effect == tool.Read {
		return tool.Fail("unexpected_answer", map[string]any{"message": message})
	}
	// It is no failure: the server has done it, and must not be asked again.
	return tool.Result{Value: json.RawMessage(`{"executed":true,"message":"It was done. ` + message + `"}`)}
}

func (r *Runner) maps() bool { return r.pointer != "" || r.mapper != nil }

func (r *Runner) mapped(ctx context.Context, call tool.Call, resp egress.Response) (json.RawMessage, error) {
	if resp.Truncated {
		return nil, fmt.Errorf("it is longer than %d bytes", len(resp.Body))
	}
	body := value(resp, maxMapped)
	if r.pointer != "" {
		return find(body, r.pointer)
	}
	if body == nil {
		body = json.RawMessage("null")
	}
	headers := map[string]string{}
	for name := range resp.Header {
		headers[strings.ToLower(name)] = resp.Header.Get(name)
	}
	args := call.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	answer, err := json.Marshal(struct {
		Args    json.RawMessage   `json:"args"`
		Body    json.RawMessage   `json:"body"`
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
	}{args, body, resp.Status, headers})
	if err != nil {
		return nil, fmt.Errorf("describe the answer: %w", err)
	}
	return r.mapper.Result(ctx, call, answer)
}

// checkPointer tells what is wrong with a JSON pointer (RFC 6901).
func checkPointer(p string) error {
	if !strings.HasPrefix(p, "/") || regexp.MustCompile(`~([^01]|$)`).MatchString(p) {
		return fmt.Errorf("result: %q is no JSON pointer such as /data/items", p)
	}
	return nil
}

// find follows a JSON pointer without touching what it finds.
func find(doc json.RawMessage, pointer string) (json.RawMessage, error) {
	at := doc
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		var members map[string]json.RawMessage
		var items []json.RawMessage
		switch {
		case len(at) > 0 && at[0] == '{' && json.Unmarshal(at, &members) == nil:
			at = members[token]
		case len(at) > 0 && at[0] == '[' && json.Unmarshal(at, &items) == nil:
			n, err := strconv.Atoi(token)
			if err != nil || n < 0 || n >= len(items) {
				return nil, fmt.Errorf("there is nothing at %s", pointer)
			}
			at = items[n]
		default:
			at = nil
		}
		if at == nil {
			return nil, fmt.Errorf("there is nothing at %s", pointer)
		}
	}
	return at, nil
}

// usual are the methods whose arguments are the query.
func usual(method string) (body, known bool) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodDelete:
		return false, true
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return true, true
	default:
		return false, false
	}
}
