package mcptool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-bot/parley/internal/egress"
	"github.com/parley-bot/parley/internal/secret"
	"github.com/parley-bot/parley/internal/tool"
)

var (
	_ tool.Runner  = (*runner)(nil)
	_ tool.Readier = (*runner)(nil)
)

// runner runs one remote tool.
type runner struct {
	server  *server
	name    string // the server's
	pin     string // digest of the card that the model has seen
	offered string // for the log
	effect  tool.Effect
	secrets secret.Masks
}

// Run makes the call, on a session whose card of the tool is the pinned one. A
// server that is away, refuses or says that it failed is a failed result. One
// that is lost, or doesn't answer in time, is Unknown unless the tool only
// reads. A call that wasn't made because the session was over is made on the next
// one.
func (r *runner) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	if args := bytes.TrimSpace(call.Args); len(args) == 0 || args[0] != '{' || !json.Valid(args) {
		return tool.Fail("invalid_arguments", map[string]any{"message": "The arguments must be a JSON object. The call was not made."}), nil
	}
	for last := false; ; last = true {
		sess, fail := r.acquire(ctx)
		if fail != nil {
			return *fail, nil
		}
		callCtx, seen := traced(ctx)
		callCtx, cancel := context.WithCancel(callCtx)
		res, err := sess.call(callCtx, r.name, call.ID, call.Args)
		cancel() // ends what the transport still reads for it
		switch {
		case err == nil:
			return result(res, r.secrets), nil
		case ctx.Err() == nil && !last && over(seen, err):
			// The session is over, and this call wasn't made.
			sess.fail(errors.New("the session is over"))
			r.server.forget(sess)
			continue
		}
		return r.failed(ctx, sess, seen, err), nil
	}
}

// Ready looks whether there is a session whose card of the tool is the pinned
// one. It waits for one that is being opened.
func (r *runner) Ready(ctx context.Context, _ tool.Call) *tool.Result {
	_, fail := r.acquire(ctx)
	return fail
}

// acquire waits for the session, but not for so long that nobody could tell that
// nothing was sent.
func (r *runner) acquire(ctx context.Context) (*session, *tool.Result) {
	wait := ctx
	if end, ok := ctx.Deadline(); ok {
		left := time.Until(end)
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, left-min(left/5, time.Second))
		defer cancel()
	}
	sess, reason, err := r.server.acquire(wait, r.name, r.pin)
	var res tool.Result
	switch {
	case ctx.Err() != nil:
		res = tool.Stopped(ctx, 0)
	case err != nil:
		res = tool.Fail("server_unavailable", map[string]any{"message": "The server of this tool can't be reached now. Nothing was done."})
	case reason != "":
		res = tool.Fail("tool_unavailable", map[string]any{"message": "This tool is not available now: its server has changed it, and nobody has looked at the change yet. Nothing was done."})
	default:
		return sess, nil
	}
	return nil, &res
}

// failed tells the model what is known of the call, and the operator why.
func (r *runner) failed(ctx context.Context, sess *session, seen *trace, err error) tool.Result {
	wire := refusal(err)
	sent, fromGuard := errors.AsType[*egress.Error](err)
	unknown := r.effect != tool.Read
	var res tool.Result
	switch {
	case ctx.Err() != nil:
		res = tool.Stopped(ctx, 0)
	case wire != nil:
		unknown = false
		message := tool.Cut(r.secrets.Text(wire.Message), maxFailed)
		res = tool.Fail("refused", map[string]any{"message": message})
	case fromGuard && sent.Class != egress.Unknown:
		unknown = false
		res = tool.Fail("server_unavailable", map[string]any{"message": "The server of this tool can't be reached now. Nothing was done."})
	case seen.turnedAway(), errors.Is(err, mcp.ErrConnectionClosed):
		unknown = false
		res = tool.Fail("server_unavailable", map[string]any{"message": "The server of this tool turned the call away. Nothing was done."})
	default:
		res = tool.Fail("connection_lost", map[string]any{"message": "The connection to the server of this tool was lost before the answer came."})
	}
	if unknown {
		res.Unknown = true
	}
	r.server.log.WarnContext(ctx, "mcp tool failed", slog.String("tool", r.offered), slog.Bool("outcome_unknown", unknown), slog.String("err", r.server.why(sess, err)))
	return res
}

// why is the log's reason for a failed call: that of the session's end, where
// it has one.
func (s *server) why(sess *session, err error) string {
	if wire := refusal(err); wire != nil {
		return "the server refused: " + codeOf(wire.Code) // its message may quote arguments
	}
	if end := sess.ended(); !errors.Is(end, errEnded) {
		return s.clean(end)
	}
	return s.clean(err)
}

// refusal is the error that the server answered with; nil where the answer is
// another one or none. The SDK has an error of the same type for requests that
// its transport couldn't make.
func refusal(err error) *jsonrpc.Error {
	const byTransport = "rejected by transport"
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Message != byTransport {
		return e
	}
	return nil
}

// over tells that a call wasn't made because its session is over: the server
// doesn't know it any more, or it has just ended. Servers say the former by 404,
// as they should, or by 400.
func over(seen *trace, err error) bool {
	wire := refusal(err)
	about := wire != nil && (wire.Code == jsonrpc.CodeInvalidParams || wire.Code == jsonrpc.CodeMethodNotFound) // the call
	switch seen.status.Load() {
	case http.StatusNotFound, http.StatusBadRequest:
		return !about
	default:
		return errors.Is(err, mcp.ErrConnectionClosed)
	}
}

func codeOf(code int64) string {
	switch code {
	case -32700:
		return "parse error"
	case -32600:
		return "invalid request"
	case -32601:
		return "unknown method"
	case -32602:
		return "invalid parameters"
	case -32603:
		return "internal error"
	default:
		return "an error of its own"
	}
}

// forget makes calls wait for the next session.
func (s *server) forget(sess *session) {
	s.set(func() { s.fresh = s.fresh && s.sess != sess })
}
