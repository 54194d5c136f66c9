package httptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-bot/parley/internal/egress"
	"github.com/parley-bot/parley/internal/tool"
)

var (
	_ tool.Runner  = (*Runner)(nil)
	_ tool.Readier = (*Runner)(nil)
)

// Runner runs one HTTP tool. It is safe for use by many goroutines.
type Runner struct {
	guard  *egress.Guard
	name   string
	log    *slog.Logger
	method string
	body   bool // arguments go into a body, not the query
	form   bool
	url    template
	header http.Header // the same for each request
	// headers and template are filled in for each; template nil is a body of
	// the arguments that aren't taken by URL and headers.
	headers  []headerTemplate
	template *bodyTemplate
	taken    []string
	sign     Auth
	secrets  []string // to be masked, beside what is in headers
	bind     tool.Bindings
	effect   tool.Effect
	max      int64
	pointer  string
	mapper   Mapper
	status   []Status
}

// Effect is the tool's effect, with the method's default.
func (r *Runner) Effect() tool.Effect { return r.effect }

// Run makes the request, once. A status outside 2xx, a host that isn't allowed
// and a connection that fails are failed results. One that is lost, or whose
// time runs out, after the request may have left is Unknown unless the tool
// only reads.
func (r *Runner) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	req, fail, err := r.request(call)
	if err != nil {
		return tool.Result{}, fmt.Errorf("http tool %s: %w", r.name, err)
	}
	if fail != nil {
		return *fail, nil
	}
	resp, err := r.guard.Do(ctx, req)
	if err != nil {
		return r.failed(ctx, err), nil
	}
	secrets := append(slices.Clone(r.secrets), req.Header.Get(r.sign.Header))
	mask(&resp, credentials(req.Header, secrets))
	res := r.answered(ctx, call, resp)
	// The page that a redirect led to failed, yet what led there was done.
	if res.Failed && resp.SeeOther && r.effect != tool.Read {
		res.Unknown = true
	}
	return res, nil
}

// Ready builds the request, and looks whether its host may be reached.
func (r *Runner) Ready(ctx context.Context, call tool.Call) *tool.Result {
	req, fail, err := r.request(call)
	switch {
	case err != nil:
		return nil // the operator's: Run tells it
	case fail != nil:
		return fail
	}
	if err := r.guard.Check(req.URL); err != nil {
		res := r.failed(ctx, err)
		return &res
	}
	return nil
}

// request builds the request of a call; fail is why it can't be made.
func (r *Runner) request(call tool.Call) (req egress.Request, fail *tool.Result, err error) {
	args, err := members(call.Args)
	if err != nil {
		return req, nil, err
	}
	vs, missing := bound(r.bind, args, call)
	if missing != "" {
		res := tool.IdentityMissing(missing)
		return req, &res, nil
	}
	rest := slices.DeleteFunc(slices.Clone(vs), func(m member) bool { return slices.Contains(r.taken, m.key) })
	req = egress.Request{Method: r.method, Header: r.header.Clone(), MaxBody: r.max, Once: r.effect != tool.Read}
	for _, h := range r.headers {
		h.fill(req.Header, vs)
	}
	var extra []param
	if r.body {
		r.fillBody(&req, vs, rest)
	} else {
		extra = rest.params()
	}
	var bad []tool.Violation
	req.URL, bad = r.url.fill(vs, extra)
	if bad != nil {
		res := tool.Fail("invalid_arguments", map[string]any{"details": bad, "message": "The request was not made."})
		return req, &res, nil
	}
	setDefault(req.Header, "Accept", "application/json, text/*;q=0.9, */*;q=0.1")
	if r.effect != tool.Read || r.method != http.MethodGet && r.method != http.MethodHead {
		req.Header.Set(idempotencyKey, call.ID)
	}
	return req, nil, nil
}

func (r *Runner) fillBody(req *egress.Request, vs, rest values) {
	body := json.RawMessage(rest.object())
	if r.template != nil {
		var given bool
		if body, given = r.template.fill(vs); !given {
			body = json.RawMessage("null")
		}
	}
	if !r.form {
		req.Body = body
		setDefault(req.Header, "Content-Type", "application/json")
	} else {
		fields, _ := members(body) // an object, by New
		var b strings.Builder
		for _, p := range fields.params() {
			if b.Len() > 0 {
				b.WriteByte('&')
			}
			b.WriteString(url.QueryEscape(p.key) + "=" + url.QueryEscape(p.value))
		}
		req.Body = []byte(b.String())
		setDefault(req.Header, "Content-Type", "application/x-www-form-urlencoded")
	}
	if !r.sign.HMAC.Empty() {
		req.Header.Set(r.sign.Header, r.sign.signature(req.Body))
	}
}

func setDefault(h http.Header, name, value string) {
	if h.Get(name) == "" {
		h.Set(name, value)
	}
}

// failed tells the model that there is no answer, and the operator why: names
// of hosts and addresses are none of the model's business.
func (r *Runner) failed(ctx context.Context, err error) tool.Result {
	class := egress.ClassOf(err)
	r.log.WarnContext(ctx, "http tool failed", slog.String("tool", r.name), slog.String("outcome", string(class)), slog.Any("error", err))
	te, ok := errors.AsType[*egress.Error](err)
	fields := map[string]any{}
	code := "connection_failed"
	res := tool.Result{}
	switch {
	case class == egress.Refused:
		code = "host_not_allowed"
		fields["message"] = "The address of this request is not allowed. It was not reached."
	case ok && te.Timeout() || errors.Is(context.Cause(ctx), tool.ErrTimeout):
		code, res.TimedOut = "timeout", true
		fields["message"] = "The server didn't answer in time."
	case ctx.Err() != nil:
		code = "aborted"
		fields["message"] = "The call was stopped."
	case class == egress.NotSent:
		fields["message"] = "The server can't be reached. The request was not sent."
	default:
		code = "connection_lost"
		fields["message"] = "The connection was lost before the whole answer came."
	}
	if class == egress.Unknown && r.effect != tool.Read {
		res.Unknown = true
		fields["executed"] = "unknown"
	}
	fr := tool.Fail(code, fields)
	fr.TimedOut, fr.Unknown = res.TimedOut, res.Unknown
	return fr
}
