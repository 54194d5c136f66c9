package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

const (
	// protocol is what sessions begin with; a server may choose an older one.
	// Later ones begin with a request that older servers don't know, and some
	// of those never answer it.
	protocol = "2025-11-25"
	// maxListed bounds the tools of one server.
	maxListed = 2000
	// callIDKey is where a call's id is, for servers that keep from doing
	// twice what was asked once.
	callIDKey = "io.github.parley-bot/call-id"
)

// listed is a server's list of tools: the cards, and what is wrong with others.
type listed struct {
	cards map[string]Card
	wrong map[string]error
}

// session is one session with a server, from its beginning to its end.
type session struct {
	cs   *mcp.ClientSession
	list listed
	// changed has an element when the server said that its list is another
	// one now; suspect when a call was given up.
	changed, suspect chan struct{}
	calls            atomic.Int64 // under way
	done             chan struct{}
	life             <-chan struct{} // closed by cancel
	end              func()          // waits until nothing of it is left
	cancel           context.CancelFunc

	mu  sync.Mutex
	why error // why it was ended from here
}

// fail ends the session.
func (s *session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == nil {
		s.why = err
	}
	s.cancel()
}

// ended is why the session is over.
func (s *session) ended() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why != nil {
		return s.why
	}
	return errEnded
}

var errEnded = errors.New("the server ended the session")

// client is what a server meets: it takes notice of changed lists and of
// nothing else. Roots, sampling and elicitation aren't offered: a server asks
// parley for nothing.
func (s *session) client(log *slog.Logger, onChanged func()) *mcp.Client {
	c := mcp.NewClient(&mcp.Implementation{Name: "parley", Version: "1"}, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			onChanged()
			signal(s.changed)
		},
		LoggingMessageHandler: func(ctx context.Context, _ *mcp.LoggingMessageRequest) { //nolint:staticcheck // as servers of today log
			log.DebugContext(ctx, "mcp server logged something") // what may quote a person
		},
	})
	pace := rate.NewLimiter(messagesPerSecond, messagesAtOnce)
	c.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if !pace.Allow() {
				s.fail(errFlood)
				return nil, errFlood
			}
			return next(ctx, method, req)
		}
	})
	return c
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// connect begins the session within ctx. It doesn't wait for a transport that
// doesn't come back.
func (s *session) connect(ctx context.Context, c *mcp.Client, t mcp.Transport) error {
	type opened struct {
		cs  *mcp.ClientSession
		err error
	}
	ch := make(chan opened, 1)
	go func() {
		cs, err := c.Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
		ch <- opened{cs, err}
	}()
	select {
	case o := <-ch:
		if o.err != nil {
			return fmt.Errorf("initializing: %w", o.err)
		}
		s.cs = o.cs
	case <-ctx.Done():
		s.cancel()
		go func() {
			if o := <-ch; o.cs != nil {
				_ = o.cs.Close()
			}
		}()
		return fmt.Errorf("initializing: the server didn't answer in time: %w", context.Cause(ctx))
	}
	go func() {
		defer close(s.done)
		_ = s.cs.Wait() // why is in ended, or the server's business
	}()
	return nil
}

// relist asks for the server's tools.
func (s *session) relist(ctx context.Context) error {
	l := listed{cards: map[string]Card{}, wrong: map[string]error{}}
	params := &mcp.ListToolsParams{}
	for n := 0; n <= maxListed; {
		res, err := s.cs.ListTools(ctx, params)
		if err != nil {
			return fmt.Errorf("listing tools: %w", err)
		}
		n += max(1, len(res.Tools)) // an empty page counts: cursors can go on for ever
		for _, t := range res.Tools {
			c, err := newCard(t)
			if err == nil {
				err = c.compiles()
			}
			_, twice := l.cards[t.Name]
			switch {
			case err != nil:
				l.wrong[t.Name] = err
			case twice:
				l.wrong[t.Name] = errors.New("the server lists it twice")
			default:
				l.cards[t.Name] = c
			}
		}
		if res.NextCursor == "" {
			s.list = l
			return nil
		}
		params.Cursor = res.NextCursor
	}
	return fmt.Errorf("listing tools: the server has more than %d", maxListed)
}

// call calls a tool and returns when it has answered or ctx has ended,
// whatever the connection is stuck in. The server is told of the end of ctx.
func (s *session) call(ctx context.Context, name, id string, args json.RawMessage) (*mcp.CallToolResult, error) {
	type answer struct {
		res *mcp.CallToolResult
		err error
	}
	ch := make(chan answer, 1)
	s.calls.Add(1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				s.calls.Add(-1)
				ch <- answer{err: fmt.Errorf("the MCP client panicked with a %T: %s", p, firstLines(debug.Stack()))}
			}
		}()
		res, err := s.cs.CallTool(ctx, &mcp.CallToolParams{Meta: mcp.Meta{callIDKey: id}, Name: name, Arguments: args})
		s.calls.Add(-1)
		if err != nil && ctx.Err() != nil {
			signal(s.suspect)
		}
		ch <- answer{res, err}
	}()
	select {
	case a := <-ch:
		return a.res, a.err
	case <-ctx.Done():
	}
	select {
	case a := <-ch: // both at once: an answer is worth more
		return a.res, a.err
	default:
		return nil, context.Cause(ctx)
	}
}

func firstLines(stack []byte) string {
	return strings.Join(strings.SplitN(string(stack), "\n", 12)[:min(11, strings.Count(string(stack), "\n"))], " | ")
}
