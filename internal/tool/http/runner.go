package httptool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"

	"github.com/parley-bot/parley/internal/egress"
	"github.com/parley-bot/parley/internal/tool"
)

var _ tool.Runner = (*Runner)(nil)

// Runner runs one HTTP tool. It is safe for use by many goroutines.
type Runner struct {
	guard  *egress.Guard
	name   string
	log    *slog.Logger
	method string
	body   bool // arguments go into a JSON body
	url    template
	header http.Header
	bind   tool.Bindings
	effect tool.Effect
	max    int64
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
	resp.Body = mask(resp.Body, credentials(r.header))
	res := result(resp, int(r.max))
	// The page that a redirect led to failed, yet what led there was done.
	if res.Failed && resp.SeeOther && r.effect != tool.Read {
		res.Unknown = true
	}
	return res, nil
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
	rest := slices.DeleteFunc(slices.Clone(vs), func(m member) bool { return slices.Contains(r.url.names(), m.key) })
	req = egress.Request{Method: r.method, Header: r.header.Clone(), MaxBody: r.max, Once: r.effect != tool.Read}
	var extra []param
	if r.body {
		req.Body = rest.object()
		setDefault(req.Header, "Content-Type", "application/json")
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
